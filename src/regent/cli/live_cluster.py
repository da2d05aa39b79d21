"""A live cluster read from its ZooKeeper: as a snapshot, and as a status."""

import time
from functools import partial

from regent.cli.zookeeper_options import answer
from regent.client.seen import BrokerSeen, ClusterSeen, PartitionSeen, TopicSeen
from regent.client.status import ClusterStatus, to_status
from regent.dryrun.capture import capture
from regent.dryrun.difference import min_isr_from
from regent.dryrun.loading import to_ids
from regent.dryrun.snapshot import Snapshot, SnapshotBroker, SnapshotTopic
from regent.model.assignment import Assignment
from regent.model.ids import NO_LEADER, BrokerId, TopicPartition
from regent.zookeeper.cluster_id import read_cluster_id
from regent.zookeeper.exchange import Correspondent, run
from regent.zookeeper.hand_over import read_holder


def take_snapshot(
    session: Correspondent, cluster: str | None = None
) -> tuple[Snapshot, tuple[str, ...]]:
    """The cluster as it is now, and what had to be left out; it is called by its id by default."""
    name = cluster or run(session, read_cluster_id())
    return capture(partial(answer, session), at_ms=time.time_ns() // 1_000_000, cluster=name)


def read_live_status(session: Correspondent) -> ClusterStatus:
    """How the cluster is, as its controller would find it."""
    holder = run(session, read_holder())
    snapshot, left_out = take_snapshot(session)
    moving = {
        TopicPartition(topic.name, each.partition): Assignment(
            to_ids(each.replicas), to_ids(each.adding), to_ids(each.removing)
        )
        for topic in snapshot.topics
        for each in topic.partitions
        if each.adding or each.removing
    }
    configs = {topic.name: topic.configs for topic in snapshot.topics}
    min_isr = min_isr_from(configs, snapshot.broker_defaults)
    return to_status(
        _to_seen(snapshot, None if holder is None else holder.node_id),
        moving=moving,
        min_isr={name: min_isr(name) for name in configs},
        controller_epoch=None if holder is None else holder.controller_epoch,
        deleting=[topic.name for topic in snapshot.topics if topic.deleting],
        notes=[f"left out: {each}" for each in left_out],
    )


def _to_seen(snapshot: Snapshot, controller_id: BrokerId | None) -> ClusterSeen:
    return ClusterSeen(
        brokers=tuple(_to_broker(broker) for broker in snapshot.brokers),
        controller_id=controller_id,
        topics=tuple(_to_topic(topic) for topic in snapshot.topics),
        cluster_id=snapshot.cluster,
    )


def _to_broker(broker: SnapshotBroker) -> BrokerSeen:
    """Where it listens first; a broker without an address is alive all the same."""
    host, port = next(((e.host, e.port) for e in broker.endpoints), ("", 0))
    return BrokerSeen(BrokerId(broker.id), host, port, broker.rack)


def _to_topic(topic: SnapshotTopic) -> TopicSeen:
    return TopicSeen(
        topic.name,
        tuple(
            PartitionSeen(
                topic.name,
                each.partition,
                NO_LEADER if each.leadership is None else BrokerId(each.leadership.leader),
                to_ids(each.replicas),
                () if each.leadership is None else to_ids(each.leadership.isr),
            )
            for each in topic.partitions
        ),
    )
