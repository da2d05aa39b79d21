"""The cluster as anybody finds it in ZooKeeper, without watches.

For nodes that are not the controller and are asked about the cluster all the same. What cannot be
read is left out: whoever is in office says it aloud.
"""

from collections.abc import Sequence

from regent.core.asks import Malformed, TopicRead
from regent.errors import CorruptZnode
from regent.model.brokers import Broker
from regent.model.cluster_requests import NodeAddress
from regent.model.ids import BrokerId
from regent.model.known_cluster import KnownCluster, KnownPartition
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import decode_broker
from regent.zookeeper.controller_znodes import read_controllers, unwatched_children
from regent.zookeeper.exchange import Exchange, data_or_none, read_many, read_one
from regent.zookeeper.reads import to_leadership
from regent.zookeeper.store import GetData
from regent.zookeeper.znodes import decode_controller, decode_topic


def read_cluster(topics: Sequence[str] | None) -> Exchange[KnownCluster]:
    """The brokers, the controllers, and these topics, or with None all."""
    controller_id = yield from _read_holder()
    brokers = yield from _read_brokers()
    controllers = yield from read_controllers()
    known_topics = yield from _read_topics(topics)
    return KnownCluster(
        controller_id,
        brokers,
        frozenset(brokers),
        {
            node_id: address
            for node_id, address in controllers.items()
            if isinstance(address, NodeAddress)
        },
        known_topics,
    )


def _read_holder() -> Exchange[BrokerId | None]:
    found = data_or_none((yield from read_one(GetData(paths.CONTROLLER))))
    if found is None:
        return None
    try:
        return decode_controller(found.data).broker_id
    except CorruptZnode:
        return None


def _read_brokers() -> Exchange[dict[BrokerId, Broker]]:
    names = yield from unwatched_children(paths.BROKER_IDS)
    broker_ids = sorted(BrokerId(int(name)) for name in names if name.isdecimal())
    found = yield from read_many([paths.broker(broker_id) for broker_id in broker_ids])
    brokers: dict[BrokerId, Broker] = {}
    for broker_id, registration in zip(broker_ids, found, strict=True):
        if registration is None:
            continue
        try:
            brokers[broker_id] = decode_broker(broker_id, registration.data)
        except CorruptZnode:
            continue
    return brokers


def _read_topics(
    wanted: Sequence[str] | None,
) -> Exchange[dict[str, tuple[KnownPartition, ...]]]:
    """Only names that are listed become paths: those asked for may be anything."""
    if wanted is not None and not wanted:
        return {}
    listed = dict.fromkeys((yield from unwatched_children(paths.TOPICS)))
    deleting = dict.fromkeys((yield from unwatched_children(paths.TOPIC_DELETIONS)))
    chosen = listed if wanted is None else dict.fromkeys(name for name in wanted if name in listed)
    names = [name for name in chosen if name not in deleting]
    found = yield from read_many([paths.topic(name) for name in names])
    reads: dict[str, TopicRead] = {}
    for name, znode in zip(names, found, strict=True):
        if znode is None:
            continue
        try:
            reads[name] = decode_topic(paths.topic(name), znode.data)
        except CorruptZnode:
            continue
    return (yield from _with_leaderships(reads))


def _with_leaderships(
    reads: dict[str, TopicRead],
) -> Exchange[dict[str, tuple[KnownPartition, ...]]]:
    partitions = [
        (topic, index, assignment)
        for topic, read in reads.items()
        for index, assignment in read.partitions.items()
    ]
    state_paths = [paths.partition_state(topic, index) for topic, index, _ in partitions]
    states = yield from read_many(state_paths)
    known: dict[str, list[KnownPartition]] = {topic: [] for topic in reads}
    for (topic, index, assignment), path, state in zip(
        partitions, state_paths, states, strict=True
    ):
        leadership = None if state is None else to_leadership(path, state)
        if isinstance(leadership, Malformed):
            leadership = None
        known[topic].append(KnownPartition(index, assignment, leadership))
    return {topic: tuple(each) for topic, each in known.items()}
