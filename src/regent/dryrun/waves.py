"""Waves of moves, tried one after the other on a copy of the cluster.

A partition must never have fewer replicas in sync than `min.insync.replicas`, or than it had when
the waves began if that was fewer already; it must not lose its leader; it must not have more
replicas that share a rack than it had, or than its number of replicas needs; and its move must end
before the next wave.

Every move is looked at twice, when it has begun and when the newcomers have caught up, in a model
of what a reassignment comes to. The controller's own procedures carry out all of them too, or, as
that costs time for each move and broker, the first of every kind of move and as many more as are
worth waiting for. A kind is all that a procedure could tell apart: who is alive, in sync, first,
and in whose rack, but not what they are called.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from regent.core.state import Partition
from regent.dryrun.difference import min_isr_from
from regent.dryrun.loading import load_snapshot
from regent.dryrun.questions import PartitionsMove, pose
from regent.dryrun.reassignment_file import ReassignmentPlan
from regent.dryrun.run import CopiedCluster
from regent.dryrun.snapshot import Snapshot, SnapshotPartition
from regent.dryrun.wave_rules import (
    ModelledPartition,
    PartitionView,
    Row,
    WaveFinding,
    WaveRules,
    unfinished,
)
from regent.model.ids import BrokerId, TopicPartition

#: How many partitions the controller's own procedures move, beside one of each kind.
TRIED_MAX: Final = 200

#: For each partition, the waves that move it and where to.
Moves = Mapping[TopicPartition, Sequence[tuple[int, Row]]]


def check_waves(
    snapshot: Snapshot, waves: Sequence[ReassignmentPlan], *, tried_max: int = TRIED_MAX
) -> tuple[WaveFinding, ...]:
    """All that the waves would break, by wave; each thing once in a wave."""
    tried = choose_tried(snapshot, waves, tried_max)
    findings = dict.fromkeys(model_waves(snapshot, waves))
    findings.update(dict.fromkeys(try_waves(_only(snapshot, tried), _only_moves(waves, tried))))
    return tuple(sorted(findings, key=lambda finding: finding.wave))


def model_waves(snapshot: Snapshot, waves: Iterable[ReassignmentPlan]) -> Iterator[WaveFinding]:
    """What the model finds in all moves, partition by partition."""
    rules = WaveRules(snapshot)
    moves = _by_partition(waves)
    min_isr = min_isr_from(
        {topic.name: topic.configs for topic in snapshot.topics}, snapshot.broker_defaults
    )
    for name, partition in _partitions(snapshot, moves):
        model = ModelledPartition(partition, rules.live)
        yield from _modelled(name, model, moves[name], rules, min_isr(name.topic))


def try_waves(snapshot: Snapshot, waves: Iterable[ReassignmentPlan]) -> Iterator[WaveFinding]:
    """What the controller's own procedures come to, wave by wave."""
    trial = _Trial(snapshot)
    for number, wave in enumerate(waves, start=1):
        if wave.moves:
            yield from trial.run(number, wave)


def _partitions(
    snapshot: Snapshot, moves: Moves
) -> Iterator[tuple[TopicPartition, SnapshotPartition]]:
    """Those that move, as they are."""
    for topic in snapshot.topics:
        for partition in topic.partitions:
            name = TopicPartition(topic.name, partition.partition)
            if name in moves:
                yield name, partition


def _by_partition(waves: Iterable[ReassignmentPlan]) -> dict[TopicPartition, list[tuple[int, Row]]]:
    moves: dict[TopicPartition, list[tuple[int, Row]]] = {}
    for number, wave in enumerate(waves, start=1):
        for move in wave.moves:
            name = TopicPartition(move.target.topic, move.target.partition)
            moves.setdefault(name, []).append((number, tuple(move.target.replicas or ())))
    return moves


# --- every move, in the model -----------------------------------------------------------------


def _modelled(
    name: TopicPartition,
    model: ModelledPartition,
    moves: Sequence[tuple[int, Row]],
    rules: WaveRules,
    min_isr: int,
) -> Iterator[WaveFinding]:
    began = model.view()
    for number, target in moves:
        for fault in rules.faults(model.view(target), began, min_isr):
            yield WaveFinding(number, str(name), fault)
        missing = model.missing(target)
        if missing:
            # Whatever comes next starts from a move under way: there is no more to say of it.
            yield WaveFinding(number, str(name), unfinished(missing))
            return
        model.move(target)
        for fault in rules.faults(model.view(), began, min_isr):
            yield WaveFinding(number, str(name), fault)


# --- some of them, by the controller ----------------------------------------------------------


def choose_tried(
    snapshot: Snapshot, waves: Iterable[ReassignmentPlan], tried_max: int
) -> frozenset[TopicPartition]:
    """The first partition of each kind, and then the first of all."""
    rules = WaveRules(snapshot)
    moves = _by_partition(waves)
    first: dict[Hashable, TopicPartition] = {}
    some: list[TopicPartition] = []
    for name, partition in _partitions(snapshot, moves):
        first.setdefault(_kind(partition, moves[name], rules), name)
        if len(some) < tried_max:
            some.append(name)
    return frozenset((*first.values(), *some))


def _kind(
    partition: SnapshotPartition, moves: Sequence[tuple[int, Row]], rules: WaveRules
) -> Hashable:
    """A partition and its moves, with brokers and racks numbered in the order they come up."""
    leadership = partition.leadership
    lists = [partition.replicas, *(target for _, target in moves)]
    if leadership is not None:
        lists += [leadership.isr, (leadership.leader,)]
    numbers: dict[int, int] = {}
    racks: dict[object, int] = {}
    for broker in (broker for row in lists for broker in row):
        numbers.setdefault(broker, len(numbers))
        racks.setdefault(rules.rack_of.get(broker) or broker, len(racks))
    return (
        tuple(tuple(numbers[broker] for broker in row) for row in lists),
        tuple(broker in rules.live for broker in numbers),
        tuple(racks[rules.rack_of.get(broker) or broker] for broker in numbers),
        leadership is None,
    )


def _only(snapshot: Snapshot, names: frozenset[TopicPartition]) -> Snapshot:
    """The cluster without the other partitions; no move depends on them."""
    topics = (
        replace(
            topic,
            partitions=tuple(
                each
                for each in topic.partitions
                if TopicPartition(topic.name, each.partition) in names
            ),
        )
        for topic in snapshot.topics
    )
    return replace(snapshot, topics=tuple(topic for topic in topics if topic.partitions))


def _only_moves(
    waves: Sequence[ReassignmentPlan], names: frozenset[TopicPartition]
) -> Iterator[ReassignmentPlan]:
    for wave in waves:
        kept = (
            move
            for move in wave.moves
            if TopicPartition(move.target.topic, move.target.partition) in names
        )
        yield ReassignmentPlan(wave.path, tuple(kept))


class _Trial:
    """A copied cluster that goes through the waves."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.rules = WaveRules(snapshot)
        self.memory = load_snapshot(snapshot)
        self.min_isr = min_isr_from(dict(self.memory.configs), self.memory.broker_defaults)
        self.cluster = CopiedCluster(self.memory)
        self.state = self.cluster.controller.state
        self.began: dict[Partition, PartitionView] = {}

    def run(self, number: int, wave: ReassignmentPlan) -> Iterator[WaveFinding]:
        """Carry out a wave, and look at what it touches."""
        names = ((move.target.topic, move.target.partition) for move in wave.moves)
        found = [self.state.partition(*name) for name in names]
        partitions = [partition for partition in found if partition is not None]
        for partition in partitions:
            self.began.setdefault(partition, self._view(partition))
        for index, event in enumerate(pose(PartitionsMove(wave), self.memory, self.state)):
            self.cluster.handle(event)
            if index == 0:
                yield from self._look(number, partitions)
        # The other events are a leader's each, and touch only what it leads: once is enough.
        yield from self._look(number, partitions)
        for partition in partitions:
            if partition in self.state.reassigning:
                ready = [b for b in _isr(partition) if b in self.state.brokers]
                missing = [b for b in partition.assignment.target if b not in ready]
                yield WaveFinding(number, str(partition), unfinished(missing))
        self.cluster.forget_what_was_done()

    def _look(self, number: int, partitions: Sequence[Partition]) -> Iterator[WaveFinding]:
        for partition in partitions:
            faults = self.rules.faults(
                self._view(partition), self.began[partition], self.min_isr(partition.topic)
            )
            for fault in faults:
                yield WaveFinding(number, str(partition), fault)

    def _view(self, partition: Partition) -> PartitionView:
        known = partition.leadership
        return PartitionView(
            sum(broker in self.state.brokers for broker in _isr(partition)),
            known is not None and known.leader in self.state.brokers,
            partition.assignment.target,
        )


def _isr(partition: Partition) -> tuple[BrokerId, ...]:
    return () if partition.leadership is None else partition.leadership.isr
