"""What anybody may ask about the cluster, and what is answered: Metadata and DescribeCluster."""

from typing import Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId, LeaderEpoch

#: Stands for the operations that a caller may do where it did not ask for them.
OPERATIONS_UNTOLD: Final = -(2**31)
#: Stands for the controller where there is none.
NO_CONTROLLER: Final = BrokerId(-1)


class NodeAddress(Struct, frozen=True):
    """Where a client reaches one node of the cluster."""

    node_id: BrokerId
    host: str
    port: int
    rack: str | None = None


class PartitionDescription(Struct, frozen=True):
    """One partition as a client sees it."""

    partition: int
    error: ErrorCode = ErrorCode.NONE
    leader: BrokerId = NO_LEADER
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)
    replicas: tuple[BrokerId, ...] = ()
    isr: tuple[BrokerId, ...] = ()
    offline_replicas: tuple[BrokerId, ...] = ()


class TopicDescription(Struct, frozen=True):
    """One topic as a client sees it, or why it sees none."""

    topic: str
    error: ErrorCode = ErrorCode.NONE
    is_internal: bool = False
    partitions: tuple[PartitionDescription, ...] = ()
    #: A bit for each operation; the bits are Kafka's numbers of operations.
    operations: int = OPERATIONS_UNTOLD


class Metadata(Struct, frozen=True):
    """Describe the cluster and these topics, or with None all topics."""

    topics: tuple[str, ...] | None = None
    #: Whether a broker may create topics that are missing.
    may_create: bool = True
    with_cluster_operations: bool = False
    with_topic_operations: bool = False


class MetadataAnswer(Struct, frozen=True):
    """The nodes, who of them is the controller, and the topics asked for."""

    nodes: tuple[NodeAddress, ...] = ()
    cluster_id: str | None = None
    controller_id: BrokerId = NO_CONTROLLER
    topics: tuple[TopicDescription, ...] = ()
    cluster_operations: int = OPERATIONS_UNTOLD


class DescribeCluster(Struct, frozen=True):
    """Describe the cluster without its topics."""

    with_operations: bool = False
    #: 1 for brokers, 2 for the controllers of KRaft.
    endpoint_type: int = 1


class DescribeClusterAnswer(Struct, frozen=True):
    """The nodes, and who of them is the controller."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: BrokerId = NO_CONTROLLER
    nodes: tuple[NodeAddress, ...] = ()
    operations: int = OPERATIONS_UNTOLD
