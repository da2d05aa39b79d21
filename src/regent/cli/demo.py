"""`regent demo`: a cluster of three loses its controller and a broker, told as it happens.

Nothing here is left to chance but the order in which nodes win elections, and the seed decides
that. Every checker of the simulator watches; a demo in which something did not hold fails.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Annotated, Final

import typer
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from regent.broker.broker_config import IsrMode
from regent.cli.pipeline import run as run_pipeline
from regent.cli.pipeline_report import report
from regent.cli.printing import STYLES, VERSION, stdout
from regent.core.state import ControllerState
from regent.errors import BadInput
from regent.journal.reader import read
from regent.journal.replay import ReplayedState, replay
from regent.sim.campaign import SeedSummary, journal_directory, run_plan, summarise
from regent.sim.character import Character, TopicPlan
from regent.sim.network import ZOOKEEPER
from regent.sim.observer import Acked, Observer
from regent.sim.plan import Plan, Step
from regent.sim.settled import leadership_of
from regent.sim.trace import HEADER, Line, Trace
from regent.sim.world import World

SEED: Final = 27
WIDTH: Final = 98
#: The machinery behind the story; `regent simulate --seed 7 --trace` shows it.
LEFT_OUT: Final = ("replica", "refused")


class Chapter(Struct, frozen=True):
    """A part of the story: from when it is told, and what is about to happen."""

    at_ms: int
    title: str
    text: str
    steps: tuple[Step, ...] = ()


STORY: Final = (
    Chapter(
        0,
        "Three brokers start",
        "Each of them can be the controller. The first to create /controller in ZooKeeper is, and"
        " raises the controller epoch, which fences all who were in office before.",
    ),
    Chapter(
        1_000,
        "Two topics are created",
        "The controller hears of them by a watch, elects a leader for each partition, writes it to"
        " ZooKeeper, and only then tells the brokers. A client begins to append, acks=all.",
        (Step(1_000, "create_topic", topic="orders"), Step(1_500, "create_topic", topic="clicks")),
    ),
    Chapter(
        6_000,
        "The controller is killed",
        "Within two seconds its session expires. Another node takes office, learns everything from"
        " ZooKeeper, and elects leaders for what the dead broker led.",
        (Step(6_000, "crash_controller", ms=5_000),),
    ),
    Chapter(
        11_000,
        "It comes back, as a broker among others",
        "It follows the new leaders, and as soon as it has caught up they have it in sync again.",
    ),
    Chapter(
        14_000,
        "Broker 3 is killed",
        "Its registration goes when its session expires. The controller moves its leaderships to"
        " replicas in sync. Five seconds later it is back, and catches up.",
        (Step(14_000, "crash", (3,), 5_000),),
    ),
    Chapter(
        21_900,
        "Broker 1 restarts faster than news travels",
        "ZooKeeper's news is slow for a moment: when the controller hears that the broker went, it"
        " is registered again. Only the broker epoch tells the two lives apart, and what was meant"
        " for the first must not reach the second.",
        (
            Step(21_900, "slow_link", (ZOOKEEPER, 2), 50),
            Step(21_900, "slow_link", (ZOOKEEPER, 3), 50),
            Step(22_000, "bounce", (1,), 5),
            Step(22_500, "slow_link", (ZOOKEEPER, 2), 0),
            Step(22_500, "slow_link", (ZOOKEEPER, 3), 0),
        ),
    ),
    Chapter(
        26_000,
        "An operator deletes /controller",
        "The node in office is well and must go all the same. Whoever is next begins a new epoch."
        " The leaders of partitions stay where they are.",
        (Step(26_000, "depose"),),
    ),
    Chapter(
        29_000,
        "The client stops, and the cluster comes to rest",
        "Everybody must be up, in sync, and of one mind.",
    ),
)

PLAN: Final = Plan(
    SEED,
    Character(
        broker_count=3,
        latency_us=500,
        session_timeout_ms=2_000,
        replica_lag_ms=1_500,
        min_isr=2,
        isr_mode=IsrMode.BY_REQUEST,
        append_interval_ms=20,
        safety_ms=29_000,
        faults=(),
        fault_interval_ms=0,
        break_per_mille=0,
        lose_answer_per_mille=0,
        late_per_mille=0,
        stall_per_mille=0,
        topics=(
            TopicPlan("orders", 1_000, ((1, 2, 3), (2, 3, 1), (3, 1, 2))),
            TopicPlan("clicks", 1_500, ((2, 1), (3, 2))),
        ),
    ),
    tuple(step for chapter in STORY for step in chapter.steps),
)


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the journal here, and have Spark make tables and a report of it.",
        ),
    ] = None,
) -> None:
    """Watch a small cluster lose its controller and a broker, and lose nothing else."""
    if out is not None and out.exists() and any(out.iterdir()):
        raise BadInput(f"{out} is not empty; remove it, or give --out another directory")
    console = stdout()
    console.print(f"regent {VERSION}: three simulated brokers, the real controller")
    began_s = time.perf_counter()
    transcript, ending = Trace(), Ending()
    with TemporaryDirectory() as scratch:
        journals = Path(scratch) if out is None else out / "journal"
        outcome = run_plan(PLAN, [transcript, ending], journal_root=journals)
        if ending.controller is not None:
            records = read([journal_directory(journals, SEED)])
            ending.compare(replay(records))
    _tell(transcript.lines, console)
    summary = summarise(outcome)
    _sum_up(summary, ending, time.perf_counter() - began_s, console)
    if summary.verdict or ending.lost or ending.differences:
        raise typer.Exit(int(summary.verdict) or 2)
    if out is not None:
        _report(out, console)


def _report(out: Path, console: Console) -> None:
    """What the pipeline makes of the journal, by the very commands that a person would type."""
    journal, tables, page = out / "journal" / "demo", out / "tables", out / "report.html"
    journal_directory(out / "journal", SEED).rename(journal)
    console.print()
    console.print(_rule("What the journal tells"), style="bold")
    console.print(f"$ regent pipeline run --journal {journal} --out {tables} --min-isr 2\n")
    run_pipeline(out=tables, journal=[str(journal)], min_isr=2)
    console.print(f"\n$ regent pipeline report --tables {tables} --html {page}\n")
    report(tables=tables, html=page)


# --- telling --------------------------------------------------------------------------------


def _tell(lines: Sequence[Line], console: Console) -> None:
    """The transcript, with a heading where a chapter begins."""
    chapters = list(STORY)
    for line in lines:
        while chapters and line.at_us >= chapters[0].at_ms * 1_000:
            _print_heading(chapters.pop(0), console)
        if line.kind not in LEFT_OUT and not line.what.startswith("UpdateMetadata"):
            console.print(Text(str(line), style=STYLES[line.kind]))


def _print_heading(chapter: Chapter, console: Console) -> None:
    console.print()
    console.print(_rule(chapter.title), style="bold")
    for line in wrap(chapter.text, WIDTH):
        console.print(line, style="italic")
    console.print()
    if chapter.at_ms == 0:
        console.print(HEADER, style="bold")


def _rule(title: str) -> str:
    return f"── {title} ".ljust(WIDTH, "─")


def _sum_up(summary: SeedSummary, ending: "Ending", wall_s: float, console: Console) -> None:
    counts = summary.counts
    console.print()
    console.print(_rule("The end"), style="bold")
    rows = (
        ("records acknowledged", f"{counts.get('records_acked', 0):,}"),
        ("of these lost", str(ending.lost)),
        ("leader elections", str(counts.get("elections", 0))),
        ("controllers in office", str(counts.get("failovers", 0))),
        ("simulated time", f"{summary.simulated_ms / 1000:.1f} s, in {wall_s:.1f} s"),
        ("journal, replayed", _judge_replay(ending)),
    )
    for name, value in rows:
        console.print(f"  {name:<22}  {value}")
    if summary.verdict:
        console.print(f"  {summary.checker}: {summary.message}", style="bold red")
    else:
        console.print("  everything held", style="bold green")


def _judge_replay(ending: "Ending") -> str:
    if ending.controller is None:
        return "not compared: the cluster did not come to rest"
    if ending.differences:
        return "differs from the live controller: " + "; ".join(ending.differences[:3])
    return "gives exactly the state of the live controller"


# --- judging --------------------------------------------------------------------------------


class Ending(Observer):
    """What is left in the end: of the records, and of what the controller knows."""

    def __init__(self) -> None:
        self._acked: list[Acked] = []
        self.lost = 0
        self.controller: ControllerState | None = None
        self.differences: list[str] = []

    def record_acked(self, world: World, acked: Acked) -> None:  # noqa: ARG002
        """Remember what must not be lost."""
        self._acked.append(acked)

    def at_rest(self, world: World) -> None:
        """Look for every acknowledged record where its leader should have it."""
        (active,) = world.active_controllers()
        self.controller = active.controller.state
        self.lost = sum(not _is_kept(world, acked) for acked in self._acked)

    def compare(self, replayed: ReplayedState) -> None:
        """Hold what the journal says against what the controller knows."""
        assert self.controller is not None, "the run came to rest"
        self.differences = list(differences(self.controller, replayed))


def _is_kept(world: World, acked: Acked) -> bool:
    leadership = leadership_of(world, acked.name)
    if leadership is None:
        return False
    entries = world.disks[leadership.leader].open(acked.name).read(acked.offset, 1)
    return bool(entries) and entries[0].value == acked.value


def differences(live: ControllerState, replayed: ReplayedState) -> Iterator[str]:
    """Where a state rebuilt from a journal is not the state that the controller has."""
    lives = {broker_id: known.broker_epoch for broker_id, known in live.brokers.items()}
    if replayed.brokers != lives:
        yield f"brokers {replayed.brokers}, not {lives}"
    if (replayed.controller_id, replayed.controller_epoch) != (
        live.controller_id,
        live.controller_epoch,
    ):
        yield f"controller {replayed.controller_id} in epoch {replayed.controller_epoch}"
    known = {partition.name: partition for partition in live.all_partitions()}
    rebuilt = dict(replayed.partitions())
    if sorted(rebuilt) != sorted(known):
        yield f"partitions {sorted(rebuilt)}, not {sorted(known)}"
    for name in filter(rebuilt.__contains__, known):
        partition, other = known[name], rebuilt[name]
        if (other.state, other.leadership) != (partition.state, partition.leadership):
            yield f"{name} is {other.state.value} with {other.leadership}"
        for broker_id in partition.assignment.replicas:
            state = live.replica_state(partition, broker_id)
            if other.replicas.get(broker_id) != state:
                yield f"the replica of {name} on {broker_id} is not {state.value}"
