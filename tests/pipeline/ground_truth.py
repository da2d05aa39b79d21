"""What really was: the state of simulated controllers, looked at while they run.

A journal can only be as right as what it is compared with. Here that is the memory of the
controller in office, each time it has handled an event, and ZooKeeper itself when all is at rest.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from regent.core.state import ControllerState, Partition
from regent.journal.record import Record
from regent.model.assignment import Assignment
from regent.model.ids import TopicPartition
from regent.model.leadership import Leadership
from regent.model.states import PartitionState
from regent.sim.campaign import JournalKeeper, journal_directory
from regent.sim.checkers.cold_load import load
from regent.sim.observer import Observer
from regent.sim.plan import draw_plan
from regent.sim.run import Verdict, run
from regent.sim.world import World

if TYPE_CHECKING:
    from regent.sim.process import Process

Name: TypeAlias = tuple[str, int]
Replica: TypeAlias = tuple[str, int, int]
Position: TypeAlias = tuple[int, int]

#: What both a timeline and a controller know of a partition, in this order.
COMPARED = (
    *("leader", "leader_epoch", "isr", "recovering"),
    *("replicas", "adding", "removing"),
)


class Sample(NamedTuple):
    """All that a controller in office knew when it had handled an event."""

    position: Position
    #: State, then `COMPARED`.
    partitions: dict[Name, tuple[Any, ...]]
    replicas: dict[Replica, str]
    #: The broker epoch of each live broker.
    brokers: dict[int, int]


class GroundTruth(Observer):
    """Looks on while a cluster is simulated."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        #: What ZooKeeper holds in the end: `COMPARED` of each partition, and the live brokers.
        self.partitions_at_rest: dict[Name, tuple[Any, ...]] = {}
        self.brokers_at_rest: dict[int, int] = {}
        self._sequences: dict[tuple[int, int], int] = {}

    def recorded(self, process: "Process", record: Record) -> None:
        """Remember how far this life of a node has come."""
        self._sequences[process.broker_id, process.life] = record.seq

    def event_handled(self, process: "Process") -> None:
        """Look, if this node believes to be the controller."""
        state = process.controller.state
        if state.is_active:
            sequence = self._sequences[process.broker_id, process.life]
            self.samples.append(_sample((state.controller_epoch, sequence), state))

    def at_rest(self, world: World) -> None:
        """Read ZooKeeper as a controller would that starts now."""
        found = load(world)
        for topic, read in found.topics.items():
            for index, assignment in read.partitions.items():
                leadership = found.leaderships[TopicPartition(topic, index)]
                self.partitions_at_rest[topic, index] = _compared(leadership, assignment)
        self.brokers_at_rest = {b: each.broker_epoch for b, each in found.brokers.items()}


def simulate(seed: int, root: Path) -> GroundTruth:
    """One run; its journal is then in `root`."""
    truth = GroundTruth()
    keeper = JournalKeeper(journal_directory(root, seed))
    try:
        outcome = run(draw_plan(seed), [keeper, truth])
    finally:
        keeper.close()
    assert outcome.verdict is Verdict.HELD, outcome.message
    return truth


def _sample(position: Position, state: ControllerState) -> Sample:
    return Sample(
        position,
        {
            (partition.topic, partition.index): _known(partition)
            for partition in state.all_partitions()
            if partition.state is not PartitionState.NON_EXISTENT
        },
        {
            (*partition.name, broker_id): str(replica_state)
            for broker_id, held in state.replicas_on.items()
            for partition, replica_state in held.items()
        },
        {broker_id: each.broker_epoch for broker_id, each in state.brokers.items()},
    )


def _known(partition: Partition) -> tuple[Any, ...]:
    return (str(partition.state), *_compared(partition.leadership, partition.assignment))


def _compared(leadership: Leadership | None, assignment: Assignment) -> tuple[Any, ...]:
    """The values of `COMPARED`; what nobody ever led has leader and epoch -1 and an empty ISR."""
    led: tuple[Any, ...] = (-1, -1, (), False)
    if leadership is not None:
        led = (leadership.leader, leadership.leader_epoch, leadership.isr, leadership.recovering)
    return (*led, assignment.replicas, assignment.adding, assignment.removing)


def partitions_wrong(truth: GroundTruth, intervals: Iterable[Any]) -> Iterator[str]:
    """Where the timelines of a cluster differ from what its controllers knew at that point."""
    lives = _by_key(intervals, lambda row: (row.topic, row.partition))
    for sample in truth.samples:
        for name, known in sample.partitions.items():
            row = _as_of(lives.get(name, []), sample.position)
            told = None if row is None else (row.state, *_told(row))
            if told != known:
                yield f"{name} at {sample.position} was {known}, the timeline says {told}"
        for name in lives.keys() - sample.partitions.keys():
            row = _as_of(lives[name], sample.position)
            if row is not None and row.end_ms is None:
                yield f"{name} was gone at {sample.position}, the timeline goes on with {row}"


def replicas_wrong(truth: GroundTruth, intervals: Iterable[Any]) -> Iterator[str]:
    """Where the replica timelines of a cluster differ from what its controllers knew."""
    lives = _by_key(intervals, lambda row: (row.topic, row.partition, row.broker_id))
    for sample in truth.samples:
        for replica, known in sample.replicas.items():
            row = _as_of(lives.get(replica, []), sample.position)
            told = None if row is None else row.state
            if told != known:
                yield f"{replica} at {sample.position} was {known}, the timeline says {told}"
        for replica in lives.keys() - sample.replicas.keys():
            row = _as_of(lives[replica], sample.position)
            if row is not None and row.end_ms is None:
                yield f"{replica} was gone at {sample.position}, the timeline goes on with {row}"


def rest_wrong(truth: GroundTruth, intervals: Iterable[Any]) -> Iterator[str]:
    """Where the ends of the timelines differ from what ZooKeeper holds at rest."""
    told = {(row.topic, row.partition): _told(row) for row in intervals if row.end_ms is None}
    for name in told.keys() | truth.partitions_at_rest.keys():
        held = truth.partitions_at_rest.get(name)
        if told.get(name) != held:
            yield f"ZooKeeper has {name} as {held}, the timeline says {told.get(name)}"


def _told(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, column) for column in COMPARED)


def _by_key(intervals: Iterable[Any], key: Any) -> dict[Any, list[Any]]:
    lives: dict[Any, list[Any]] = {}
    for row in sorted(intervals, key=_start):
        lives.setdefault(key(row), []).append(row)
    return lives


def _start(row: Any) -> Position:
    return row.start_epoch, row.start_sequence


def _as_of(intervals: list[Any], position: Position) -> Any:
    """The last interval that had begun by then."""
    index = bisect_right(intervals, position, key=_start)
    return intervals[index - 1] if index else None
