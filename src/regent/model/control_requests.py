"""What a controller tells a broker, and what the broker answers.

These are the contents of Kafka's LeaderAndIsr, UpdateMetadata and StopReplica as values; bytes
are the business of `wire`. A request is addressed to one life of a broker (`broker_epoch`).
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, overload

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


class BrokerEntries(Sequence[LeaderAndIsrPartition]):
    """One broker's entries: those in certain places among all entries of a batch.

    They compare and print as the tuple that they stand for. At a failover all brokers together are
    told of every partition three times over; so an entry is made once, and whoever writes requests
    as bytes can write it once, too.
    """

    __slots__ = ("batch", "places")

    def __init__(self, batch: tuple[LeaderAndIsrPartition, ...], places: Sequence[int]) -> None:
        self.batch: Final = batch
        self.places: Final = places

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[LeaderAndIsrPartition]:
        return map(self.batch.__getitem__, self.places)

    @overload
    def __getitem__(self, index: int) -> LeaderAndIsrPartition: ...
    @overload
    def __getitem__(self, index: slice) -> "BrokerEntries": ...
    def __getitem__(self, index: int | slice) -> "LeaderAndIsrPartition | BrokerEntries":
        if isinstance(index, slice):
            return BrokerEntries(self.batch, self.places[index])
        return self.batch[self.places[index]]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class LeaderAndIsr(Struct, frozen=True):
    """Lead these, follow those."""

    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: tuple[LeaderAndIsrPartition, ...] | BrokerEntries
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
