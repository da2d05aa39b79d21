"""Records in, rows for the rules out: what each record says, beside what was known until then.

This is the audit's `leaderships` and the tables of timelines and outages once more, step by step
instead of all at once. The judging itself is left to the audit's own rules.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from regent.journal.record import Record, kind_of
from regent.model import facts
from regent.model.states import PartitionState
from regent.pipeline.live.memory import ClusterMemory, Heard, PartitionMemory, Shelf
from regent.pipeline.live.rows import KnownAssignment, KnownLeadership, Said, Source
from regent.pipeline.live.spells import Watchman, spell_from
from regent.pipeline.schemas import NO_LEADER
from regent.pipeline.settings import Settings

REPEATED: Final = "repeated"

#: Facts that write a leadership or find one.
Led: TypeAlias = (
    facts.LeaderElected
    | facts.IsrShrunk
    | facts.IsrAltered
    | facts.LeadershipLearned
    | facts.LeaderEpochRaised
)
#: What of a fact about a broker or a controller goes into a row.
TOLD: Final = ("topic", "partition", "broker_id", "reason", "path", "bounced")


class HeardLine(Struct, frozen=True):
    """A record and where it stands."""

    record: Record
    source: Source

    @property
    def order(self) -> tuple[int, int, int]:
        """Records are heard by controller epoch, never by the clock."""
        return self.record.controller_epoch, self.record.seq, self.record.controller_id


class Hearing:
    """Takes the records of one batch of one cluster."""

    def __init__(
        self, cluster: str, memory: ClusterMemory, shelf: Shelf, settings: Settings, now_ms: int
    ) -> None:
        self._cluster = cluster
        self._memory = memory
        self._shelf = shelf
        self._watchman = Watchman(cluster, memory, settings, now_ms)

    def hear(self, lines: Iterable[HeardLine]) -> Iterator[Said]:
        """Rows for all that is new in these records."""
        repeated: list[HeardLine] = []
        for line in sorted(lines, key=lambda each: each.order):
            record = line.record
            if record.controller_epoch > 0:
                if self._was_heard(record):
                    repeated.append(line)
                    continue
                yield from self._note_number(line)
            if 0 < record.controller_epoch >= self._memory.controller_epoch:
                self._note_reign(record)
                yield from self._hear_current(line)
            else:
                yield from self._hear_deposed(line)
        if repeated:
            yield self._said(repeated[0], kind=REPEATED, repeated=len(repeated))

    def ring(self) -> Iterator[Said]:
        """Rows for what only time has brought about."""
        yield from self._watchman.ring(self._shelf)

    # --- the controller that says it ------------------------------------------------------------

    def _was_heard(self, record: Record) -> bool:
        last = self._memory.heard.get(record.controller_id)
        return last is not None and (record.controller_epoch, record.seq) <= (
            last.controller_epoch,
            last.sequence,
        )

    def _note_number(self, line: HeardLine) -> Iterator[Said]:
        """Numbers are dense, so one that is left out is a record that was lost."""
        record = line.record
        last = self._memory.heard.get(record.controller_id)
        self._memory.heard[record.controller_id] = Heard(record.controller_epoch, record.seq)
        if last is None or last.controller_epoch != record.controller_epoch:
            return
        if record.seq > last.sequence + 1:
            self._memory.doubtful[record.controller_id] = record.controller_epoch
            yield self._said(line, kind="", previous=last.sequence)

    def _note_reign(self, record: Record) -> None:
        memory = self._memory
        if record.controller_epoch > memory.controller_epoch:
            memory.controller_epoch = record.controller_epoch
            memory.elected_ms = None
            memory.is_started = False
        if isinstance(record.fact, facts.ControllerElected):
            memory.elected_ms = record.at_ms

    def _is_doubtful(self, record: Record) -> bool:
        """Whether records of this reign are lost, so that what is known proves nothing."""
        return self._memory.doubtful.get(record.controller_id) == record.controller_epoch

    # --- the record -----------------------------------------------------------------------------

    def _hear_deposed(self, line: HeardLine) -> Iterator[Said]:
        """It happened, but it changes nothing any more, and proves nothing about what is now."""
        fact = line.record.fact
        if isinstance(fact, Led):
            yield self._said(line, **_moved(fact), **_led(fact, line.record))
        elif isinstance(fact, facts.PartitionMoved | facts.ReplicaMoved):
            yield self._said(line, **_moved(fact))
        elif isinstance(fact, TROUBLES):
            yield self._said(line, **_trouble(fact))

    def _hear_current(self, line: HeardLine) -> Iterator[Said]:
        fact = line.record.fact
        if isinstance(fact, facts.PartitionsStarted | facts.RequestSent):
            yield from self._drop_vanished(line.record)
        hear = HEARD_BY.get(type(fact))
        if hear is not None:
            yield from hear(self, line, fact)

    def _hear_led(self, line: HeardLine, fact: Led) -> Iterator[Said]:
        partition = self._partition(fact.topic, fact.partition)
        yield self._leadership_said(line, partition, {**_moved(fact), **_led(fact, line.record)})
        partition.leader, partition.isr = fact.leader, fact.isr
        if isinstance(fact, facts.LeaderElected):
            partition.state = PartitionState.ONLINE
        yield from self._look(line, fact.topic, fact.partition)

    def _hear_move(self, line: HeardLine, fact: facts.PartitionMoved) -> Iterator[Said]:
        yield self._said(line, **_moved(fact))
        partition = self._partition(fact.topic, fact.partition)
        if PartitionState.NON_EXISTENT in {fact.before, fact.after}:
            partition.leadership = None
        if fact.after is PartitionState.NON_EXISTENT:
            yield from self._forget(fact.topic, fact.partition, line.record.at_ms)
            return
        partition.state = fact.after
        yield from self._look(line, fact.topic, fact.partition)

    def _hear_replica(self, line: HeardLine, fact: facts.ReplicaMoved) -> Iterator[Said]:
        yield self._said(line, **_moved(fact))

    def _hear_assignment(self, line: HeardLine, fact: facts.AssignmentChanged) -> Iterator[Said]:
        """Those of the assignment before may be in the ISR a while longer."""
        partition = self._partition(fact.topic, fact.partition)
        previous, record = partition.assignment, line.record
        is_known = previous is not None and (
            previous.controller_epoch,
            previous.controller_id,
        ) == (record.controller_epoch, record.controller_id)
        either = tuple({*fact.replicas, *previous.replicas}) if is_known and previous else None
        partition.assignment = _assigned(line, fact.replicas, either)
        return iter(())

    def _hear_loaded(self, line: HeardLine, fact: facts.TopicLoaded) -> Iterator[Said]:
        for found in fact.partitions:
            partition = self._partition(fact.topic, found.partition)
            is_another = fact.topic_id is None or fact.topic_id != partition.topic_id
            if is_another or found.leader is None:
                partition.leadership = None
            partition.found_epoch = line.record.controller_epoch
            partition.topic_id = fact.topic_id or partition.topic_id
            partition.assignment = _assigned(line, found.replicas, found.replicas)
            if found.leader is not None:
                yield self._leadership_said(
                    line,
                    partition,
                    {"topic": fact.topic, "partition": found.partition, **_found(found)},
                )
            partition.leader = NO_LEADER if found.leader is None else found.leader
            partition.isr = found.isr or ()
            yield from self._look(line, fact.topic, found.partition)

    def _hear_started(self, line: HeardLine, fact: facts.PartitionsStarted) -> Iterator[Said]:
        named = {
            **dict.fromkeys(fact.offline, PartitionState.OFFLINE),
            **dict.fromkeys(fact.new, PartitionState.NEW),
        }
        for number, partition in sorted(self._shelf.partitions(fact.topic).items()):
            if partition.found_epoch == line.record.controller_epoch:
                partition.state = named.get(number, PartitionState.ONLINE)
                yield from self._look(line, fact.topic, number)

    def _hear_forgotten(self, line: HeardLine, fact: facts.TopicForgotten) -> Iterator[Said]:
        for number in sorted(self._shelf.partitions(fact.topic)):
            yield from self._forget(fact.topic, number, line.record.at_ms)

    def _hear_trouble(self, line: HeardLine, fact: facts.Fact) -> Iterator[Said]:
        yield self._said(line, **_trouble(fact))

    def _hear_log_dir(self, line: HeardLine, fact: facts.LogDirFailed) -> Iterator[Said]:
        """Trouble unless the broker can serve the replica again."""
        yield self._said(line, is_over=fact.loaded, **_trouble(fact))

    # --- what is remembered ---------------------------------------------------------------------

    def _drop_vanished(self, record: Record) -> Iterator[Said]:
        """What a controller has not found by its first word to a broker is gone."""
        if self._memory.is_started:
            return
        self._memory.is_started = True
        if self._memory.elected_ms is None:
            return
        for topic in self._shelf.all():
            for number, partition in sorted(self._shelf.partitions(topic).items()):
                if partition.found_epoch < record.controller_epoch:
                    yield from self._forget(topic, number, self._memory.elected_ms)

    def _partition(self, topic: str, number: int) -> PartitionMemory:
        return self._shelf.partitions(topic).setdefault(number, PartitionMemory())

    def _forget(self, topic: str, number: int, at_ms: int) -> Iterator[Said]:
        partition = self._shelf.partitions(topic).pop(number)
        yield from self._watchman.gone(topic, number, partition, at_ms)

    def _look(self, line: HeardLine, topic: str, number: int) -> Iterator[Said]:
        partition = self._partition(topic, number)
        record = line.record
        began = spell_from(
            line.source, record.controller_epoch, record.at_ms, partition.last_leader
        )
        yield from self._watchman.look(topic, number, partition, began)

    # --- rows -----------------------------------------------------------------------------------

    def _leadership_said(
        self, line: HeardLine, partition: PartitionMemory, columns: Mapping[str, Any]
    ) -> Said:
        """A leadership beside the one before it, which it then is for the next."""
        known: dict[str, Any] = {}
        if not self._is_doubtful(line.record):
            known = {"before": partition.leadership, "assignment": partition.assignment}
        said = self._said(line, **columns, **known)
        partition.leadership = KnownLeadership(
            kind=said.kind,
            controller_id=line.record.controller_id,
            controller_epoch=line.record.controller_epoch,
            sequence=line.record.seq,
            at_ms=line.record.at_ms,
            record=line.source,
            **{name: columns[name] for name in LEADERSHIP},
        )
        return said

    def _said(self, line: HeardLine, *, kind: str | None = None, **columns: Any) -> Said:
        record = line.record
        return Said(
            cluster=self._cluster,
            kind=kind_of(type(record.fact)) if kind is None else kind,
            record=line.source,
            controller_id=record.controller_id,
            controller_epoch=record.controller_epoch,
            sequence=record.seq,
            at_ms=record.at_ms,
            **columns,
        )


# --- facts as columns ---------------------------------------------------------------------------

LEADERSHIP: Final = ("leader", "leader_epoch", "isr", "zk_version", "written_epoch")


def _moved(fact: Led | facts.PartitionMoved | facts.ReplicaMoved) -> dict[str, Any]:
    """The columns of the audit's `moves`."""
    of = {"topic": fact.topic, "partition": fact.partition}
    match fact:
        case facts.PartitionMoved():
            return {**of, "state_before": fact.before, "state_after": fact.after}
        case facts.ReplicaMoved():
            return {
                **of,
                "broker_id": fact.broker_id,
                "state_before": fact.replica_before,
                "state_after": fact.replica_after,
            }
        case facts.LeaderElected():
            return {
                **of,
                "state_before": fact.before,
                "state_after": PartitionState.ONLINE,
                "leader_before": fact.leader_before,
                "unclean": fact.unclean,
            }
        case facts.IsrShrunk() | facts.IsrAltered():
            return {**of, "broker_id": fact.broker_id}
        case _:
            return of


def _led(fact: Led, record: Record) -> dict[str, Any]:
    by = fact if isinstance(fact, facts.LeadershipLearned) else record
    return {
        "leader": fact.leader,
        "leader_epoch": fact.leader_epoch,
        "isr": fact.isr,
        "zk_version": fact.zk_version,
        "written_epoch": by.controller_epoch,
    }


def _found(found: facts.LoadedPartition) -> dict[str, Any]:
    return {
        "leader": found.leader,
        "leader_epoch": found.leader_epoch,
        "isr": found.isr or (),
        "zk_version": found.zk_version,
        "written_epoch": found.controller_epoch,
    }


def _assigned(
    line: HeardLine, replicas: tuple[int, ...], either: tuple[int, ...] | None
) -> KnownAssignment:
    record = line.record
    return KnownAssignment(
        record.controller_id, record.controller_epoch, line.source, replicas, either
    )


def _trouble(fact: facts.Fact) -> dict[str, Any]:
    fields = {field.name for field in msgspec.structs.fields(fact)}
    return {name: getattr(fact, name) for name in TOLD if name in fields}


#: Facts about brokers and controllers that a rule looks at by themselves.
TROUBLES: Final = (
    facts.ControllerElected,
    facts.EventFailed,
    facts.ZnodeIsolated,
    facts.BrokerDown,
)

#: What is done with each kind of fact; the others change nothing here.
HEARD_BY: Final[Mapping[type, Callable[[Hearing, HeardLine, Any], Iterator[Said]]]] = {
    **dict.fromkeys(
        (
            facts.LeaderElected,
            facts.IsrShrunk,
            facts.IsrAltered,
            facts.LeadershipLearned,
            facts.LeaderEpochRaised,
        ),
        Hearing._hear_led,  # noqa: SLF001 - the table belongs to the class
    ),
    **dict.fromkeys(TROUBLES, Hearing._hear_trouble),  # noqa: SLF001
    facts.LogDirFailed: Hearing._hear_log_dir,  # noqa: SLF001
    facts.PartitionMoved: Hearing._hear_move,  # noqa: SLF001
    facts.ReplicaMoved: Hearing._hear_replica,  # noqa: SLF001
    facts.AssignmentChanged: Hearing._hear_assignment,  # noqa: SLF001
    facts.TopicLoaded: Hearing._hear_loaded,  # noqa: SLF001
    facts.PartitionsStarted: Hearing._hear_started,  # noqa: SLF001
    facts.TopicForgotten: Hearing._hear_forgotten,  # noqa: SLF001
}
