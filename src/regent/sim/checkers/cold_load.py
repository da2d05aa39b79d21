"""What a controller that starts now would find in ZooKeeper, read without one."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from regent.core.asks import TopicRead
from regent.errors import CorruptZnode
from regent.model.brokers import RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.checkers.state_znodes import leadership_at
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import decode_broker
from regent.zookeeper.znodes import decode_topic

K = TypeVar("K")


class ColdLoad(Struct):
    """Everything readable; what cannot be read is left out, as a controller does."""

    brokers: dict[BrokerId, RegisteredBroker] = {}
    topics: dict[str, TopicRead] = {}
    leaderships: dict[TopicPartition, Leadership | None] = {}


def load(world: World) -> ColdLoad:
    """Read all of it."""
    found = ColdLoad()
    for path, (data, _version) in world.zookeeper.server.dump().items():
        above, _, name = path.rpartition("/")
        try:
            if above == paths.BROKER_IDS:
                _load_broker(world, found, BrokerId(int(name)))
            elif above == paths.TOPICS:
                found.topics[name] = decode_topic(path, data)
        except CorruptZnode:
            continue
    for topic, read in found.topics.items():
        for index in read.partitions:
            found.leaderships[TopicPartition(topic, index)] = leadership_at(
                world, paths.partition_state(topic, index)
            )
    return found


def _load_broker(world: World, found: ColdLoad, broker_id: BrokerId) -> None:
    node = world.zookeeper.server.peek(paths.broker(broker_id))
    assert node is not None, "it was just listed"
    broker = decode_broker(broker_id, node.data)
    found.brokers[broker_id] = RegisteredBroker(broker, BrokerEpoch(node.stat.czxid))


def difference(known: Mapping[K, object], right: Mapping[K, object]) -> str | None:
    """The first thing in which two tables differ, in words; None if they are equal."""
    for key in dict.fromkeys((*known, *right)):
        if key not in right:
            return f"{key} is known as {known[key]} and should not be"
        if key not in known:
            return f"{key} is not known and should be {right[key]}"
        if known[key] != right[key]:
            return f"{key} is known as {known[key]} and should be {right[key]}"
    return None
