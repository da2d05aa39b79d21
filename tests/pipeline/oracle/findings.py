"""The audit's findings that need no judgement, in plain Python.

Each function is a rule: it goes through a history and says where the rule is broken.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from regent.model import facts
from regent.model.states import PartitionState
from regent.pipeline.settings import Settings
from tests.pipeline.oracle.availability import outages
from tests.pipeline.oracle.history import History, Line
from tests.pipeline.oracle.timelines import Interval, Name, leadership_in

# Kafka 3.9, PartitionStateMachine.scala and ReplicaStateMachine.scala (validPreviousStates),
# written out once more: the audit must agree with Kafka, not with itself.
# fmt: off
KAFKA_PREVIOUS_PARTITION_STATES: Final = {
    "NewPartition":         {"NonExistentPartition"},
    "OnlinePartition":      {"NewPartition", "OnlinePartition", "OfflinePartition"},
    "OfflinePartition":     {"NewPartition", "OnlinePartition", "OfflinePartition"},
    "NonExistentPartition": {"OfflinePartition"},
}
KAFKA_PREVIOUS_REPLICA_STATES: Final = {
    "NewReplica":                {"NonExistentReplica"},
    "OnlineReplica":             {"NewReplica", "OnlineReplica", "OfflineReplica",
                                  "ReplicaDeletionIneligible"},
    "OfflineReplica":            {"NewReplica", "OnlineReplica", "OfflineReplica",
                                  "ReplicaDeletionIneligible"},
    "ReplicaDeletionStarted":    {"OfflineReplica"},
    "ReplicaDeletionSuccessful": {"ReplicaDeletionStarted"},
    "ReplicaDeletionIneligible": {"OfflineReplica", "ReplicaDeletionStarted"},
    "NonExistentReplica":        {"ReplicaDeletionSuccessful"},
}
# fmt: on

#: The facts by which a leadership is written, or learned to have been.
LED = (
    facts.LeaderElected
    | facts.IsrShrunk
    | facts.IsrAltered
    | facts.LeadershipLearned
    | facts.LeaderEpochRaised
)


class Finding(NamedTuple):
    """Where a rule is broken: the part of `violations` that is not prose."""

    rule: str
    cluster: str
    topic: str | None
    partition: int | None
    controller_epoch: int
    sequence: int


Broken = Iterator[tuple[Name | tuple[None, None], Line]]


def illegal_partition_move(history: History) -> Broken:
    """A partition went from one state to another that cannot follow it."""
    for line in history.lines:
        match line.fact:
            case facts.PartitionMoved(topic, partition, before, after):
                if before not in KAFKA_PREVIOUS_PARTITION_STATES[after]:
                    yield (topic, partition), line
            case facts.LeaderElected(topic, partition, before=before):
                if before not in KAFKA_PREVIOUS_PARTITION_STATES[PartitionState.ONLINE]:
                    yield (topic, partition), line
            case _:
                pass


def illegal_replica_move(history: History) -> Broken:
    """A replica went from one state to another that cannot follow it."""
    for line in history.lines:
        fact = line.fact
        if (
            isinstance(fact, facts.ReplicaMoved)
            and fact.replica_before not in KAFKA_PREVIOUS_REPLICA_STATES[fact.replica_after]
        ):
            yield (fact.topic, fact.partition), line


def leader_outside_isr(history: History) -> Broken:
    """Somebody leads who is not in sync with himself."""
    for line in history.lines:
        fact = line.fact
        if isinstance(fact, LED) and fact.leader >= 0 and fact.leader not in fact.isr:
            yield (fact.topic, fact.partition), line


def unclean_election(history: History) -> Broken:
    """Somebody was elected who had not been in sync."""
    for line in history.lines:
        if isinstance(line.fact, facts.LeaderElected) and line.fact.unclean:
            yield (line.fact.topic, line.fact.partition), line


def leader_epoch_went_back(history: History) -> Broken:
    """Under one controller, a partition's leader epoch became smaller."""
    known: dict[tuple[tuple[int, int], Name], int] = {}
    for line in history.lines:
        for name, leader_epoch in leader_epochs_in(line.fact):
            if leader_epoch < known.get((line.reign, name), leader_epoch):
                yield name, line
            known[line.reign, name] = leader_epoch


def leader_epochs_in(fact: facts.Fact) -> Iterator[tuple[Name, int]]:
    """The leader epochs that a fact tells."""
    if isinstance(fact, facts.TopicLoaded):
        for each in fact.partitions:
            yield (fact.topic, each.partition), leadership_in(each)["leader_epoch"]
    elif isinstance(fact, LED):
        yield (fact.topic, fact.partition), fact.leader_epoch


def leader_on_dead_broker(history: History) -> Broken:
    """A broker was elected of which its controller had seen the end, and no new life."""
    dead: dict[tuple[int, int], set[int]] = {}
    for line in history.lines:
        fact, gone = line.fact, dead.setdefault(line.reign, set())
        if isinstance(fact, facts.BrokerDown):
            gone.add(fact.broker_id)
        elif isinstance(fact, facts.BrokerUp):
            gone.discard(fact.broker_id)
        elif isinstance(fact, facts.LeaderElected) and fact.leader in gone:
            yield (fact.topic, fact.partition), line


def isr_outside_assignment(history: History) -> Broken:
    """Somebody is in sync who has no replica, nor had one by the assignment before."""
    assigned: dict[Name, list[set[int]]] = {}
    for line in history.lines:
        fact = line.fact
        if isinstance(fact, facts.TopicLoaded):
            for each in fact.partitions:
                assigned.setdefault((fact.topic, each.partition), []).append(set(each.replicas))
        elif isinstance(fact, facts.AssignmentChanged):
            assigned.setdefault((fact.topic, fact.partition), []).append(set(fact.replicas))
        elif isinstance(fact, LED) and (fact.topic, fact.partition) in assigned:
            allowed = set().union(*assigned[fact.topic, fact.partition][-2:])
            if not set(fact.isr) <= allowed:
                yield (fact.topic, fact.partition), line


def two_controllers_in_one_epoch(history: History) -> Broken:
    """Two controllers acted under the same controller epoch."""
    first: dict[int, tuple[int, int]] = {}
    told: set[tuple[int, int]] = set()
    for line in history.lines:
        rival = first.setdefault(line.record.controller_epoch, line.reign)
        if rival != line.reign and line.reign not in told:
            told.add(line.reign)
            yield (None, None), line


RULES: Final[dict[str, Callable[[History], Broken]]] = {
    rule.__name__: rule
    for rule in (
        illegal_partition_move,
        illegal_replica_move,
        leader_outside_isr,
        unclean_election,
        leader_epoch_went_back,
        leader_on_dead_broker,
        isr_outside_assignment,
        two_controllers_in_one_epoch,
    )
}
TOO_LONG: Final = "leaderless_too_long"


def findings(history: History, intervals: list[Interval], settings: Settings) -> list[Finding]:
    """All findings of these rules, and the times without a leader that were too long."""
    broken = [
        Finding(
            rule, history.cluster, topic, partition, line.record.controller_epoch, line.record.seq
        )
        for rule, look in RULES.items()
        for (topic, partition), line in look(history)
    ]
    too_long = [
        Finding(
            TOO_LONG, row.cluster, row.topic, row.partition, row.start_epoch, row.start_sequence
        )
        for row in outages(intervals, history.until_ms, settings)
        if row.kind == "leaderless" and row.duration_ms > settings.offline_longer_than_ms
    ]
    return broken + too_long
