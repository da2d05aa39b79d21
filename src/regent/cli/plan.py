"""`regent plan`: where replicas and leaders should be, and the files that bring them there."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import msgspec
import typer
from msgspec import Struct

from regent.cli.plan_printing import print_made_plan
from regent.cli.printing import stdout
from regent.cli.quantities import read_bytes, read_capacities, read_ids, read_share
from regent.cli.shared_options import taking
from regent.cli.spark import MasterOption, need_spark
from regent.dryrun.reassignment_file import PlannedMove, ReassignmentPlan
from regent.dryrun.snapshot import Snapshot, read_snapshot
from regent.dryrun.wave_rules import WaveFinding
from regent.dryrun.waves import check_waves
from regent.errors import BadInput
from regent.model.admin_requests import ReassignmentTarget
from regent.model.ids import BrokerId

if TYPE_CHECKING:
    from regent.pipeline.plans.problem import Problem
    from regent.pipeline.plans.summary import PlanSummary
    from regent.pipeline.plans.waves import Wave

#: The plan does not reach its goal, or a wave would break something.
EXIT_SHORT: Final = 1

app = typer.Typer(
    name="plan",
    help="Plan moves of replicas and leaders: little data, all racks, checked wave by wave.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class By(StrEnum):
    """What a plan balances."""

    BYTES = "bytes"
    RATE = "rate"
    COUNT = "count"


IdsArgument: TypeAlias = Annotated[list[str], typer.Argument(metavar="BROKER...")]


# fmt: off
class PlanOptions(Struct, frozen=True, kw_only=True):
    """What all goals have in common, as it was typed."""

    snapshot: Annotated[
        Path, typer.Option(metavar="FILE", help="The cluster: a file from `regent snapshot`."),
    ]
    loads: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="What partitions carry, as CSV or Parquet. May be repeated."
        ),
    ] = None
    by: Annotated[
        By | None,
        typer.Option(help="What to balance. Without it: bytes if there are loads, else count."),
    ] = None
    band: Annotated[
        str, typer.Option(metavar="SHARE", help="How far from the mean a broker may be."),
    ] = "2%"
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Brokers that are given nothing."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where plan.json, rollback.json and wave-001.json to the last go."
        ),
    ] = None
    master: MasterOption = "local[*]"
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False


class MovingPlanOptions(PlanOptions, frozen=True, kw_only=True):
    """And of those goals for which data moves."""

    capacity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=BYTES",
            help="How much a broker may hold, such as 3=500GB; or a file of such lines. May be"
            " repeated.",
        ),
    ] = None
    wave_moves: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="At most so many replicas to a broker in a wave."),
    ] = None
    wave_bytes: Annotated[
        str | None, typer.Option(metavar="BYTES", help="At most so much to a broker in a wave."),
    ] = None
# fmt: on


class WaveFigures(Struct, frozen=True):
    """A wave in figures; its moves are in its file."""

    partitions: int
    replicas_to_copy: int
    bytes_to_copy: float | None


class MadePlan(Struct, frozen=True):
    """All that a command has to say."""

    summary: "PlanSummary"
    waves: tuple[WaveFigures, ...]
    #: What the dry run of the waves found broken.
    findings: tuple[WaveFinding, ...]
    #: Files that were written, and how many partitions are in each.
    files: dict[str, int]


@app.command()
@taking(MovingPlanOptions)
def rebalance(options: MovingPlanOptions) -> None:
    """Even out what live brokers hold."""
    _make(options, "rebalance")


@app.command()
@taking(MovingPlanOptions)
def drain(
    options: MovingPlanOptions,
    brokers: IdsArgument,
    *,
    balance: Annotated[
        bool, typer.Option("--balance", help="Even out the other brokers as well.")
    ] = False,
) -> None:
    """Leave nothing on these brokers, and move nothing else."""
    _make(options, "drain", drained=read_ids(brokers, "drain"), and_balance=balance)


@app.command()
@taking(MovingPlanOptions)
def add(options: MovingPlanOptions, brokers: IdsArgument) -> None:
    """Give new brokers their share, and move nothing anywhere else."""
    _make(options, "add", added=read_ids(brokers, "add"))


@app.command()
@taking(PlanOptions)
def leaders(options: PlanOptions) -> None:
    """Share out leadership by the order of replicas alone; no data moves."""
    _make(MovingPlanOptions(**msgspec.structs.asdict(options)), "leaders")


@app.command(name="set-rf")
@taking(MovingPlanOptions)
def set_rf(
    options: MovingPlanOptions, factor: Annotated[int, typer.Argument(min=1, metavar="N")]
) -> None:
    """Give every partition N replicas."""
    _make(options, "set_rf", factor=factor)


@app.command(name="fix-offline")
@taking(MovingPlanOptions)
def fix_offline(options: MovingPlanOptions) -> None:
    """Replace the replicas on dead brokers."""
    _make(options, "fix_offline")


# --- making it --------------------------------------------------------------------------------


def _make(options: MovingPlanOptions, goal: str, **wanted: object) -> None:
    """Read, solve, split, check, write, print. The goal is a function of `plans.goals`."""
    share = read_share(options.band, "--band")
    excluded = read_ids(options.exclude or (), "--exclude")
    most = None if options.wave_bytes is None else read_bytes(options.wave_bytes, "--wave-bytes")
    taken = read_snapshot(options.snapshot)
    _refuse_moving(taken)
    problem = _read_problem(options)
    from regent.pipeline.plans import goals, summary, waves  # noqa: PLC0415

    plan = getattr(goals, goal)(problem, band=share, exclude=excluded, **wanted)
    steps = waves.make_waves(plan, waves.WaveLimits(options.wave_moves, most))
    findings = check_waves(taken, _to_reassignments(steps))
    files: dict[str, int] = {}
    if options.out is not None and steps and not findings:
        written = waves.write_files(options.out, plan, steps)
        files = {str(options.out / name): count for name, count in written.items()}
    figures = tuple(
        WaveFigures(len(wave.moves), wave.replicas_to_copy, wave.bytes_to_copy) for wave in steps
    )
    made = MadePlan(summary.summarize(plan), figures, findings, files)
    if options.as_json:
        print(msgspec.json.format(msgspec.json.encode(made), indent=2).decode())
    else:
        print_made_plan(made, stdout())
    if made.findings or not made.summary.reaches_goal:
        raise typer.Exit(EXIT_SHORT)


def _read_problem(options: MovingPlanOptions) -> "Problem":
    capacities = read_capacities(options.capacity or ())
    by = options.by or (By.BYTES if options.loads else By.COUNT)
    size = options.snapshot.stat().st_size
    need_spark()
    from regent.pipeline.plans.inputs import collect_problem, plan_inputs  # noqa: PLC0415
    from regent.pipeline.plans.problem import Weighing  # noqa: PLC0415
    from regent.pipeline.session import session_for  # noqa: PLC0415
    from regent.pipeline.sources.layouts import read_layout  # noqa: PLC0415
    from regent.pipeline.sources.loads import per_partition, read_loads  # noqa: PLC0415

    with session_for(size, options.master) as spark:
        layout, brokers = read_layout(spark, str(options.snapshot))
        carried = per_partition(read_loads(spark, *options.loads)) if options.loads else None
        return collect_problem(
            plan_inputs(layout, carried), brokers, by=Weighing(by), capacities=capacities
        )


def _refuse_moving(taken: Snapshot) -> None:
    """What is on its way has two lists of replicas, and a plan could only undo one of them."""
    moving = [
        f"{topic.name}-{partition.partition}"
        for topic in taken.topics
        if not topic.deleting
        for partition in topic.partitions
        if partition.adding or partition.removing
    ]
    if moving:
        raise BadInput(
            f"{len(moving)} partitions are being moved already ({', '.join(moving[:3])}); wait"
            " until they have arrived, take a new snapshot, and plan again"
        )


def _to_reassignments(waves: Sequence["Wave"]) -> list[ReassignmentPlan]:
    """Waves as the dry run takes them; an entry is on a line of its own, after the first one."""
    return [
        ReassignmentPlan(
            f"wave-{number:03}.json",
            tuple(
                PlannedMove(
                    line,
                    ReassignmentTarget(
                        move.topic, move.partition, tuple(map(BrokerId, move.replicas))
                    ),
                )
                for line, move in enumerate(wave.moves, start=2)
            ),
        )
        for number, wave in enumerate(waves, start=1)
    ]
