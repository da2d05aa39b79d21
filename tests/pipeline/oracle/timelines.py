"""Partition timelines in plain Python: after each record, look who has changed."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from regent.model import facts
from regent.model.states import PartitionState
from tests.pipeline.oracle.history import History, Line, duration_ms, found_in_office

Name: TypeAlias = tuple[str, int]
Brokers: TypeAlias = tuple[int, ...]


class Known(NamedTuple):
    """What is known of a partition; None is what nobody has said yet."""

    state: str | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    isr: Brokers | None = None
    replicas: Brokers | None = None
    adding: Brokers | None = None
    removing: Brokers | None = None
    recovering: bool | None = None


class Interval(NamedTuple):
    """A row of `timelines`."""

    cluster: str
    topic: str
    partition: int
    start_epoch: int
    start_sequence: int
    start_ms: int
    end_ms: int | None
    state: str | None
    leader: int | None
    leader_epoch: int | None
    isr: Brokers | None
    replicas: Brokers | None
    adding: Brokers | None
    removing: Brokers | None
    recovering: bool | None
    unclean: bool
    kind: str
    cause: str
    controller_id: int
    file: str
    line: None = None

    @property
    def name(self) -> Name:
        """Which partition it is about."""
        return self.topic, self.partition

    def lasted_ms(self, until_ms: int) -> int:
        """How long; one that has no end lasted as long as anybody looked."""
        return duration_ms(self.start_ms, until_ms if self.end_ms is None else self.end_ms)


def timelines(history: History) -> list[Interval]:
    """Every interval in which nothing about a partition changed."""
    rows: list[Interval] = []
    lasting: dict[Name, Interval] = {}
    for line, known in told(history):
        for name in {*lasting, *known}:
            before, now = lasting.get(name), known.get(name)
            if now is not None and now.state == PartitionState.NON_EXISTENT:
                now = None
            if before is not None and now == known_in(before):
                continue
            if before is not None:
                rows.append(lasting.pop(name)._replace(end_ms=line.record.at_ms))
            if now is not None:
                lasting[name] = begin(history.cluster, name, line, now)
    return rows + list(lasting.values())


def known_in(interval: Interval) -> Known:
    """What was known of the partition while the interval lasted."""
    return Known(*(getattr(interval, field) for field in Known._fields))


def begin(cluster: str, name: Name, line: Line, known: Known) -> Interval:
    """An interval that has no end yet."""
    record = line.record
    return Interval(
        cluster,
        *name,
        start_epoch=record.controller_epoch,
        start_sequence=record.seq,
        start_ms=record.at_ms,
        end_ms=None,
        **known._asdict(),
        unclean=isinstance(line.fact, facts.LeaderElected) and line.fact.unclean,
        kind=str(type(line.fact).__struct_config__.tag),
        cause=record.cause,
        controller_id=record.controller_id,
        file=line.file,
    )


def told(history: History) -> Iterator[tuple[Line, dict[Name, Known]]]:
    """Each line, with all that is known of the partitions once it is written."""
    found = found_in_office(history)
    known: dict[Name, Known] = {}
    for line in history.lines:
        if isinstance(line.fact, facts.ControllerElected) and line.reign in found:
            names = {
                (load.fact.topic, each.partition)
                for load in found[line.reign]
                if isinstance(load.fact, facts.TopicLoaded)
                for each in load.fact.partitions
            }
            known = {name: what for name, what in known.items() if name in names}
        elif isinstance(line.fact, facts.TopicForgotten):
            known = {name: what for name, what in known.items() if name[0] != line.fact.topic}
        for name, said in sayings(line.fact, known):
            known[name] = known.get(name, Known())._replace(**said)
        yield line, known


def sayings(fact: facts.Fact, known: dict[Name, Known]) -> Iterator[tuple[Name, dict[str, Any]]]:
    """Of which partitions a fact says what."""
    match fact:
        case facts.TopicLoaded():
            for each in fact.partitions:
                yield (fact.topic, each.partition), assignment_in(each) | leadership_in(each)
        case facts.PartitionsStarted():
            for name in known:
                if name[0] == fact.topic:
                    yield name, {"state": started_as(fact, name[1])}
        case facts.PartitionMoved():
            yield (fact.topic, fact.partition), {"state": fact.after}
        case facts.AssignmentChanged():
            yield (fact.topic, fact.partition), assignment_in(fact)
        case facts.LeaderElected():
            said = {"state": PartitionState.ONLINE} | leadership_in(fact)
            yield (fact.topic, fact.partition), said
        case (
            facts.IsrShrunk()
            | facts.IsrAltered()
            | facts.LeadershipLearned()
            | facts.LeaderEpochRaised()
        ):
            yield (fact.topic, fact.partition), leadership_in(fact)
        case _:
            return


def started_as(fact: facts.PartitionsStarted, partition: int) -> PartitionState:
    """The state in which the partition machine starts a partition."""
    if partition in fact.new:
        return PartitionState.NEW
    return PartitionState.OFFLINE if partition in fact.offline else PartitionState.ONLINE


def assignment_in(said: Any) -> dict[str, Any]:
    """The part of a fact that says where the replicas are."""
    return {"replicas": said.replicas, "adding": said.adding, "removing": said.removing}


def leadership_in(said: Any) -> dict[str, Any]:
    """The part of a fact that says who leads; a load may have found that nobody ever did."""
    if said.leader is None:
        return {"leader": -1, "leader_epoch": -1, "isr": (), "recovering": False}
    return {
        field: getattr(said, field) for field in ("leader", "leader_epoch", "isr", "recovering")
    }
