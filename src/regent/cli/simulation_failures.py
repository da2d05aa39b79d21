"""What `regent simulate` does about runs that failed: keeps their plans, cuts them short, tells."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from regent.cli.printing import stderr
from regent.sim.campaign import CampaignReport, Failure, SeedSummary, run_plan
from regent.sim.plan import Plan, Step, draw_plan, write_plan
from regent.sim.shrink import shrink as cut_short
from regent.sim.trace import describe_step

#: Where the plans of failed runs go.
FAILURES: Final = Path("build/failures")


def reproduced_by_file(report: CampaignReport, path: Path) -> CampaignReport:
    """A run from a file is not reproduced by its seed."""
    command = f"regent simulate --replay {path} --trace"
    return replace(report, failures=[replace(f, reproduce=command) for f in report.failures])


def keep_failures(
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


def print_failures(failures: Sequence[Failure], notes: Sequence[str]) -> None:
    """What failed, how to see it again, and where its plan is."""
    console = stderr()
    for failure in failures:
        console.print(
            f"seed {failure.seed} {failure.verdict}, found by {failure.checker}: {failure.message}",
            style="red",
        )
        console.print(f"  reproduce with: {failure.reproduce}")
    for note in notes:
        console.print(f"  {note}")
