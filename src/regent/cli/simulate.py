"""`regent simulate`: clusters under faults, one for each seed."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec.structs import replace
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from regent.cli.printing import stderr
from regent.cli.printing import stdout as to_stdout
from regent.cli.seeds import parse_seeds
from regent.cli.simulation_printing import print_json, print_plan, print_report, print_transcript
from regent.errors import BadInput
from regent.sim.campaign import (
    CampaignReport,
    Failure,
    SeedSummary,
    add_up,
    conduct,
    journal_directory,
    run_plan,
    summarise,
    worst,
)
from regent.sim.network import ZOOKEEPER
from regent.sim.observer import Observer
from regent.sim.plan import Plan, Step, draw_plan, read_plan, write_plan
from regent.sim.shrink import shrink as cut_short
from regent.sim.state_change_log import is_merged, log_place
from regent.sim.steps import STEPS
from regent.sim.trace import Trace, describe_step

#: Where the plans of failed runs go.
FAILURES: Final = Path("build/failures")
#: How many brokers a step must name; one of two may be 0, which is ZooKeeper.
BROKERS_NEEDED: Final = {
    "crash": 1,
    "bounce": 1,
    "lose_disk": 1,
    "fail_disk": 1,
    "pause": 1,
    "stall_replication": 1,
    "skew_clock": 1,
    "expire_session": 1,
    "cut_from_zookeeper": 1,
    "move_endpoint": 1,
    "shut_down": 1,
    "cut_two_way": 2,
    "cut_one_way": 2,
    "slow_link": 2,
}


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
        report = _reproduced_by_file(report, replay)
    notes = list(_keep_failures(summaries, chosen, is_short=shrink))
    if as_json:
        print_json(report)
    else:
        print_report(report, to_stdout())
    _print_failures(report.failures, notes)
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
    return [_checked(read_plan(replay), replay)]


def _checked(plan: Plan, path: Path) -> Plan:
    """A plan may have been written by hand: refuse what cannot be carried out."""
    topics = {topic.name for topic in plan.character.topics}
    last = plan.character.broker_count
    for step in plan.steps:
        where = f"{path}: step {step.kind} at {step.at_ms} ms"
        if step.kind not in STEPS:
            raise BadInput(f"{where}: there is no such step; there are {', '.join(STEPS)}")
        needed = BROKERS_NEEDED.get(step.kind, len(step.brokers))
        if len(step.brokers) < needed:
            raise BadInput(f"{where} names {len(step.brokers)} brokers; name {needed}")
        first = ZOOKEEPER if needed == 2 else 1
        strangers = [each for each in step.brokers if not first <= each <= last]
        if strangers:
            raise BadInput(f"{where} is for broker {strangers[0]}; brokers are 1 to {last}")
        if step.kind == "create_topic" and step.topic not in topics:
            raise BadInput(f"{where}: {step.topic!r} is not in `topics`; add it there")
    return plan


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


# --- failures -------------------------------------------------------------------------------


def _reproduced_by_file(report: CampaignReport, path: Path) -> CampaignReport:
    command = f"regent simulate --replay {path} --trace"
    return replace(report, failures=[replace(f, reproduce=command) for f in report.failures])


def _keep_failures(
    summaries: Sequence[SeedSummary], chosen: Sequence[int | Plan], *, is_short: bool
) -> Iterator[str]:
    """Write down the plan of each failure; of each kind of failure, cut the first one short."""
    given = {each.seed: each for each in chosen if isinstance(each, Plan)}
    shortened: set[tuple[int, str]] = set()
    for summary in summaries:
        if summary.verdict == 0:
            continue
        plan = given.get(summary.seed) or draw_plan(summary.seed)
        yield _write_failure(plan, FAILURES / f"seed-{plan.seed}.json")
        kind = (int(summary.verdict), summary.checker)
        if is_short and kind not in shortened:
            shortened.add(kind)
            yield _cut_short(plan, summary)


def _write_failure(plan: Plan, path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_plan(plan, path)
    except OSError as error:
        return f"the plan of seed {plan.seed} could not be kept in {path}: {error.strerror}"
    return f"the plan of seed {plan.seed} is in {path}"


def _cut_short(plan: Plan, summary: SeedSummary) -> str:
    stderr().print(f"cutting seed {plan.seed} short, this takes a while")

    def still_fails(candidate: Plan) -> bool:
        outcome = run_plan(candidate)
        return (outcome.verdict, outcome.checker) == (summary.verdict, summary.checker)

    short = cut_short(plan, still_fails)
    path = FAILURES / f"seed-{plan.seed}-short.json"
    note = _write_failure(short, path)
    steps = "".join(f"\n    {_tell(step)}" for step in short.steps)
    return (
        f"cut from {len(plan.steps)} steps to {len(short.steps)}, {note}; watch it with\n"
        f"    regent simulate --replay {path} --trace{steps}"
    )


def _tell(step: Step) -> str:
    node = str(step.brokers[0]) if step.brokers else "·"
    return f"{step.at_ms / 1000:9.3f}  {node:>4}  {describe_step(step)}"


def _print_failures(failures: Sequence[Failure], notes: Sequence[str]) -> None:
    console = stderr()
    for failure in failures:
        console.print(
            f"seed {failure.seed} {failure.verdict}, found by {failure.checker}: {failure.message}",
            style="red",
        )
        console.print(f"  reproduce with: {failure.reproduce}")
    for note in notes:
        console.print(f"  {note}")
