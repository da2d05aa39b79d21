"""The journal tells only of moves that Kafka's two machines know."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from regent.journal.record import Record
from regent.model.facts import (
    ControllerElected,
    FactBase,
    LeaderElected,
    PartitionMoved,
    PartitionsStarted,
    ReplicaMoved,
    ReplicasStarted,
    TopicForgotten,
    TopicLoaded,
)
from regent.model.ids import BrokerId, ControllerEpoch
from regent.model.states import PartitionState, ReplicaState
from regent.sim.observer import Observer
from regent.sim.process import Process

# Kafka 3.9, PartitionStateMachine.scala:571-586 and ReplicaStateMachine.scala, both times the
# `validPreviousStates`, written out once more on purpose: the journal must agree with Kafka, not
# with the tables that it came from.
VALID_BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "NewPartition": ("NonExistentPartition",),
    "OnlinePartition": ("NewPartition", "OnlinePartition", "OfflinePartition"),
    "OfflinePartition": ("NewPartition", "OnlinePartition", "OfflinePartition"),
    "NonExistentPartition": ("OfflinePartition",),
    "NewReplica": ("NonExistentReplica",),
    "OnlineReplica": ("NewReplica", "OnlineReplica", "OfflineReplica", "ReplicaDeletionIneligible"),
    "OfflineReplica": (
        "NewReplica",
        "OnlineReplica",
        "OfflineReplica",
        "ReplicaDeletionIneligible",
    ),
    "ReplicaDeletionStarted": ("OfflineReplica",),
    "ReplicaDeletionSuccessful": ("ReplicaDeletionStarted",),
    "ReplicaDeletionIneligible": ("OfflineReplica", "ReplicaDeletionStarted"),
    "NonExistentReplica": ("ReplicaDeletionSuccessful",),
}


class _Topic:
    """The states of a topic's partitions and replicas as told so far."""

    def __init__(self) -> None:
        self.partitions: dict[int, PartitionState] = {}
        self.assigned: dict[int, tuple[BrokerId, ...]] = {}
        self.replicas: dict[tuple[int, BrokerId], ReplicaState] = {}


class MovesAreLegal(Observer):
    """Forbids a move that Kafka refuses, and one from a state that was never reached."""

    def __init__(self) -> None:
        #: Each reign is told from its beginning, and may overlap with the one before.
        self._reigns: dict[ControllerEpoch, dict[str, _Topic]] = {}
        self._tellers: Mapping[type[FactBase], Callable[[dict[str, _Topic], Any], None]] = {
            TopicLoaded: self._load,
            TopicForgotten: self._forget,
            ReplicasStarted: self._start_replicas,
            PartitionsStarted: self._start_partitions,
            PartitionMoved: self._move_partition,
            LeaderElected: self._elect,
            ReplicaMoved: self._move_replica,
        }

    def recorded(self, _process: Process, record: Record) -> None:
        """Follow one reign's tale."""
        kind = type(record.fact)
        if kind is ControllerElected:
            self._reigns[record.controller_epoch] = {}
        teller = self._tellers.get(kind)
        if teller is not None:
            teller(self._reigns.setdefault(record.controller_epoch, {}), record.fact)

    def _load(self, topics: dict[str, _Topic], fact: TopicLoaded) -> None:
        topic = topics.setdefault(fact.topic, _Topic())
        for loaded in fact.partitions:
            if loaded.partition in topic.partitions:
                self.fail(f"{fact.topic}-{loaded.partition} was loaded twice")
            topic.partitions[loaded.partition] = PartitionState.NON_EXISTENT
            topic.assigned[loaded.partition] = loaded.replicas

    def _forget(self, topics: dict[str, _Topic], fact: TopicForgotten) -> None:
        if topics.pop(fact.topic, None) is None:
            self.fail(f"{fact.topic} was forgotten and never known")

    def _start_replicas(self, topics: dict[str, _Topic], fact: ReplicasStarted) -> None:
        topic = topics.get(fact.topic, _Topic())
        for index, replicas in topic.assigned.items():
            for broker_id in replicas:
                topic.replicas[index, broker_id] = (
                    ReplicaState.DELETION_INELIGIBLE
                    if broker_id in fact.offline_brokers
                    else ReplicaState.ONLINE
                )

    def _start_partitions(self, topics: dict[str, _Topic], fact: PartitionsStarted) -> None:
        topic = topics.get(fact.topic, _Topic())
        for index in topic.partitions:
            topic.partitions[index] = (
                PartitionState.NEW
                if index in fact.new
                else PartitionState.OFFLINE
                if index in fact.offline
                else PartitionState.ONLINE
            )

    def _move_partition(self, topics: dict[str, _Topic], fact: PartitionMoved) -> None:
        self._reach(topics, fact, fact.after)

    def _elect(self, topics: dict[str, _Topic], fact: LeaderElected) -> None:
        self._reach(topics, fact, PartitionState.ONLINE)

    def _reach(
        self, topics: dict[str, _Topic], fact: PartitionMoved | LeaderElected, after: PartitionState
    ) -> None:
        known = topics.get(fact.topic, _Topic()).partitions.get(fact.partition)
        if known is None:
            self.fail(f"{fact} is about a partition that was never loaded")
            return
        self._judge(f"{fact.topic}-{fact.partition}", known, fact.before, after)
        topics[fact.topic].partitions[fact.partition] = after

    def _move_replica(self, topics: dict[str, _Topic], fact: ReplicaMoved) -> None:
        topic = topics.get(fact.topic, _Topic())
        if fact.partition not in topic.partitions:
            self.fail(f"{fact} is about a partition that was never loaded")
        key = (fact.partition, fact.broker_id)
        known = topic.replicas.get(key, ReplicaState.NON_EXISTENT)
        where = f"{fact.topic}-{fact.partition} on {fact.broker_id}"
        self._judge(where, known, fact.replica_before, fact.replica_after)
        topic.replicas[key] = fact.replica_after

    def _judge(self, where: str, known: str, before: str, after: str) -> None:
        if before != known:
            self.fail(f"{where} moved from {before} to {after} and was {known}")
        if before not in VALID_BEFORE[after]:
            self.fail(f"{where} moved from {before} to {after}")
