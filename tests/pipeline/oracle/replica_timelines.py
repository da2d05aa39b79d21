"""Replica timelines in plain Python."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from regent.model import facts
from regent.model.states import ReplicaState
from tests.pipeline.oracle.history import History, Line, found_in_office
from tests.pipeline.oracle.timelines import told

Replica: TypeAlias = tuple[str, int, int]


class ReplicaInterval(NamedTuple):
    """A row of `replica_timelines`."""

    cluster: str
    topic: str
    partition: int
    broker_id: int
    start_epoch: int
    start_sequence: int
    start_ms: int
    end_ms: int | None
    state: str
    cause: str
    file: str
    line: None = None


def replica_timelines(history: History) -> list[ReplicaInterval]:
    """Every interval in which a replica was in one state."""
    rows: list[ReplicaInterval] = []
    lasting: dict[Replica, ReplicaInterval] = {}
    for line, states in told_of_replicas(history):
        for replica in {*lasting, *states}:
            before, now = lasting.get(replica), states.get(replica)
            if before is not None and before.state == now:
                continue
            if before is not None:
                rows.append(lasting.pop(replica)._replace(end_ms=line.record.at_ms))
            if now is not None:
                lasting[replica] = begin(history.cluster, replica, line, now)
    return rows + list(lasting.values())


def begin(cluster: str, replica: Replica, line: Line, state: str) -> ReplicaInterval:
    """An interval that has no end yet."""
    record = line.record
    return ReplicaInterval(
        cluster,
        *replica,
        record.controller_epoch,
        record.seq,
        record.at_ms,
        None,
        state,
        record.cause,
        line.file,
    )


def told_of_replicas(history: History) -> Iterator[tuple[Line, dict[Replica, str]]]:
    """Each line, with the states of all replicas once it is written; the others do not exist."""
    found = found_in_office(history)
    states: dict[Replica, str] = {}
    for line, known in told(history):
        match line.fact:
            case facts.ControllerElected() if line.reign in found:
                there = set(replicas_in(found[line.reign]))
                states = {replica: state for replica, state in states.items() if replica in there}
            case facts.TopicForgotten(topic=topic):
                states = {
                    replica: state for replica, state in states.items() if replica[0] != topic
                }
            case facts.ReplicasStarted(topic=topic, offline_brokers=offline):
                for name, what in known.items():
                    for broker_id in what.replicas or () if name[0] == topic else ():
                        states[*name, broker_id] = (
                            ReplicaState.DELETION_INELIGIBLE
                            if broker_id in offline
                            else ReplicaState.ONLINE
                        )
            case facts.ReplicaMoved() as fact:
                replica = (fact.topic, fact.partition, int(fact.broker_id))
                states[replica] = fact.replica_after
                if fact.replica_after is ReplicaState.NON_EXISTENT:
                    del states[replica]
            case _:
                pass
        yield line, states


def replicas_in(loads: list[Line]) -> Iterator[Replica]:
    """The replicas that a controller found."""
    for line in loads:
        assert isinstance(line.fact, facts.TopicLoaded)
        for each in line.fact.partitions:
            for broker_id in each.replicas:
                yield line.fact.topic, each.partition, broker_id
