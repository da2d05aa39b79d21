"""What a client sees of a cluster: brokers, topics and partitions, as one broker told it.

Values only, made from an answer to Metadata, wherever that comes from: everything that is computed
from them is then the same. Brokers, topics and partitions are in order.
"""

from collections.abc import Iterator

from msgspec import Struct

from regent.model.cluster_requests import MetadataAnswer, PartitionDescription, TopicDescription
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId, TopicPartition


class BrokerSeen(Struct, frozen=True):
    """A live broker, and where it says that it listens."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None = None


class PartitionSeen(Struct, frozen=True):
    """One partition."""

    topic: str
    partition: int
    #: `NO_LEADER` while nobody leads it.
    leader: BrokerId
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    #: Replicas that are on dead brokers or on failed disks.
    offline: tuple[BrokerId, ...] = ()

    @property
    def name(self) -> TopicPartition:
        """What it is called."""
        return TopicPartition(self.topic, self.partition)

    @property
    def has_leader(self) -> bool:
        """Whether it can be written and read."""
        return self.leader != NO_LEADER


class TopicSeen(Struct, frozen=True):
    """A topic with its partitions, or the error that was told instead."""

    name: str
    partitions: tuple[PartitionSeen, ...] = ()
    is_internal: bool = False
    error: ErrorCode = ErrorCode.NONE


class ClusterSeen(Struct, frozen=True):
    """The answer of one broker, which may lag behind the controller a little."""

    brokers: tuple[BrokerSeen, ...] = ()
    #: None while there is none.
    controller_id: BrokerId | None = None
    topics: tuple[TopicSeen, ...] = ()
    cluster_id: str | None = None

    def partitions(self) -> Iterator[PartitionSeen]:
        """All partitions of all topics."""
        for topic in self.topics:
            yield from topic.partitions

    def broker(self, broker_id: BrokerId | None) -> BrokerSeen | None:
        """A live broker by its id."""
        return next((each for each in self.brokers if each.broker_id == broker_id), None)


def seen_from(answer: MetadataAnswer) -> ClusterSeen:
    """What an answer to Metadata says."""
    brokers = (BrokerSeen(node.node_id, node.host, node.port, node.rack) for node in answer.nodes)
    live = frozenset(node.node_id for node in answer.nodes)
    return ClusterSeen(
        brokers=tuple(sorted(brokers, key=lambda broker: broker.broker_id)),
        controller_id=answer.controller_id if answer.controller_id >= 0 else None,
        topics=tuple(
            _topic_from(topic, live)
            for topic in sorted(answer.topics, key=lambda topic: topic.topic)
        ),
        cluster_id=answer.cluster_id,
    )


def _topic_from(topic: TopicDescription, live: frozenset[BrokerId]) -> TopicSeen:
    ordered = sorted(topic.partitions, key=lambda each: each.partition)
    return TopicSeen(
        name=topic.topic,
        partitions=tuple(_partition_from(topic.topic, each, live) for each in ordered),
        is_internal=topic.is_internal,
        error=topic.error,
    )


def _partition_from(
    topic: str, told: PartitionDescription, live: frozenset[BrokerId]
) -> PartitionSeen:
    """Before version 5 brokers did not say which replicas are offline."""
    return PartitionSeen(
        topic=topic,
        partition=told.partition,
        leader=told.leader,
        replicas=told.replicas,
        isr=told.isr,
        offline=told.offline_replicas or tuple(each for each in told.replicas if each not in live),
    )
