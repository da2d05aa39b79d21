"""`regent simulate`: clusters under faults, one for each seed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from regent.cli.printing import stderr
from regent.cli.printing import stdout as to_stdout
from regent.cli.seeds import parse_seeds
from regent.cli.simulated_plan import checked
from regent.cli.simulation_failures import keep_failures, print_failures, reproduced_by_file
from regent.cli.simulation_printing import print_json, print_plan, print_report, print_transcript
from regent.errors import BadInput
from regent.sim.campaign import (
    CampaignReport,
    SeedSummary,
    add_up,
    conduct,
    journal_directory,
    run_plan,
    summarise,
    worst,
)
from regent.sim.observer import Observer
from regent.sim.plan import Plan, draw_plan, read_plan
from regent.sim.state_change_log import is_merged, log_place
from regent.sim.trace import Trace


def simulate(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    seeds: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="Many runs: 0..99, or 7, or 0..9,20..29."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="One run; all that was drawn for it is shown."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One run from the plan in a file.")
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Print the transcript; for one run.")
    ] = False,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the journals, in DIR/seed-N for each seed."),
    ] = None,
    state_change_log: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Keep the logs that Kafka brokers would have written, in PATH/seed-N/broker-M; if"
            " PATH ends in .log, all in this one file, for one run.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs at a time; else one per processor."),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Cut a run that fails to a short one that fails.")
    ] = False,
) -> None:
    """Simulate clusters under faults, and check all that must hold.

    A seed stands for a whole run: the same seed is the same run, byte for byte. Exit codes: 0 all
    held, 1 something crashed, 2 something unsafe happened, 3 a cluster never came to rest, 64 the
    command makes no sense.
    """
    chosen = _choose(seeds, seed, replay)
    if trace and len(chosen) != 1:
        raise BadInput("a transcript is of one run; choose it with --seed 7")
    if trace and as_json:
        raise BadInput("--trace and --json both want standard output; choose one")
    _check_place(journal, chosen, "journals", journal_directory)
    if state_change_log is not None and is_merged(state_change_log):
        if len(chosen) != 1:
            raise BadInput(
                f"{state_change_log} is one file, for one run; choose it with --seed 7, or name a"
                " directory"
            )
    else:
        _check_place(state_change_log, chosen, "logs", log_place)
    if isinstance(chosen[0], Plan) or trace:
        plan = chosen[0] if isinstance(chosen[0], Plan) else draw_plan(chosen[0])
        report, summaries = _run_one(
            plan, journal, state_change_log, with_trace=trace, is_quiet=as_json
        )
    else:
        numbers = [each for each in chosen if isinstance(each, int)]
        with _progress(len(numbers)) as advance:
            report, summaries = conduct(
                numbers,
                jobs=jobs,
                journal_root=journal,
                log_root=state_change_log,
                on_progress=advance,
            )
    if replay is not None:
        report = reproduced_by_file(report, replay)
    notes = list(keep_failures(summaries, chosen, is_short=shrink))
    if as_json:
        print_json(report)
    else:
        print_report(report, to_stdout())
    print_failures(report.failures, notes)
    raise typer.Exit(int(worst(summary.verdict for summary in summaries)))


def _choose(seeds: str | None, seed: int | None, replay: Path | None) -> Sequence[int | Plan]:
    """What to run; exactly one way to say it must have been used."""
    if sum(choice is not None for choice in (seeds, seed, replay)) != 1:
        raise BadInput("say what to run, in one way: --seeds 0..99, --seed 7 or --replay FILE")
    if seeds is not None:
        return parse_seeds(seeds)
    if seed is not None:
        return [draw_plan(seed)]
    assert replay is not None, "one of the three was given"
    return [checked(read_plan(replay), replay)]


def _check_place(
    root: Path | None,
    chosen: Sequence[int | Plan],
    what: str,
    place_of: Callable[[Path, int], Path],
) -> None:
    """Better now than after an hour of runs."""
    if root is None:
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe = root / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise BadInput(
            f"cannot keep {what} in {root}: {error.strerror}; choose a directory to write in"
        ) from error
    for each in chosen:
        directory = place_of(root, each.seed if isinstance(each, Plan) else each)
        if directory.exists():
            raise BadInput(f"{directory} is there already; remove it, or choose another directory")


# --- running --------------------------------------------------------------------------------


def _run_one(
    plan: Plan, journal: Path | None, log: Path | None, *, with_trace: bool, is_quiet: bool
) -> tuple[CampaignReport, list[SeedSummary]]:
    if not is_quiet:
        print_plan(plan, to_stdout())
    watching: list[Observer] = []
    transcript = Trace()
    if with_trace:
        watching.append(transcript)
    began_s = time.perf_counter()
    summary = summarise(run_plan(plan, watching, journal_root=journal, log_root=log))
    wall_s = time.perf_counter() - began_s
    if with_trace:
        print_transcript(transcript.lines, to_stdout())
        to_stdout().print()
    return add_up([summary], wall_s), [summary]


@contextmanager
def _progress(total: int) -> Iterator[Callable[[SeedSummary], None]]:
    """A bar on a terminal, and nothing elsewhere."""
    console = stderr()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        task = bars.add_task("simulating", total=total)
        failed = 0

        def advance(summary: SeedSummary) -> None:
            nonlocal failed
            failed += summary.verdict != 0
            words = f"simulating, {failed} did not hold" if failed else "simulating"
            bars.update(task, advance=1, description=words)

        yield advance
