"""What a controller tells a broker, and what the broker answers.

These are the contents of Kafka's LeaderAndIsr, UpdateMetadata and StopReplica as values; bytes
are the business of `wire`. A request is addressed to one life of a broker (`broker_epoch`).
"""

from typing import TypeAlias

from msgspec import Struct

from regent.model.assignment import Assignment
from regent.model.brokers import Broker
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership


class LeaderAndIsrPartition(Struct, frozen=True, gc=False):
    """One partition's leadership, for a broker that holds a replica of it."""

    topic: str
    partition: int
    leadership: Leadership
    assignment: Assignment
    #: The replica is not expected to exist on that broker's disks yet.
    is_new: bool


class LeaderAndIsr(Struct, frozen=True):
    """Lead these, follow those."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[LeaderAndIsrPartition, ...]
    #: The brokers that lead any of the partitions above, as far as they are alive.
    live_leaders: tuple[BrokerId, ...] = ()
    #: Ids of the topics above, for those that have one.
    topic_ids: tuple[tuple[str, str], ...] = ()


class PartitionMetadata(Struct, frozen=True, gc=False):
    """One partition as clients may see it. Leader -2 means that it is being deleted."""

    topic: str
    partition: int
    controller_epoch: ControllerEpoch
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zk_version: ZkVersion
    replicas: tuple[BrokerId, ...]
    offline_replicas: tuple[BrokerId, ...] = ()


class UpdateMetadata(Struct, frozen=True):
    """The complete list of live brokers, and the partitions that changed."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[PartitionMetadata, ...]
    live_brokers: tuple[Broker, ...]
    topic_ids: tuple[tuple[str, str], ...] = ()


class StopReplicaPartition(Struct, frozen=True, gc=False):
    """One replica to stop, and perhaps to delete."""

    topic: str
    partition: int
    leader_epoch: LeaderEpoch
    delete: bool


class StopReplica(Struct, frozen=True):
    """Stop serving these; delete the data where it says so."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[StopReplicaPartition, ...]


class ControlAnswer(Struct, frozen=True):
    """A broker's answer to any of the three: one code for all, then one for each partition."""

    error: ErrorCode = ErrorCode.NONE
    partition_errors: tuple[tuple[TopicPartition, ErrorCode], ...] = ()


ControlRequest: TypeAlias = LeaderAndIsr | UpdateMetadata | StopReplica
