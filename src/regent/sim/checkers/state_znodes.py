"""What checkers read of ZooKeeper's partition state znodes, straight from the server."""

from typing import Final

from regent.errors import CorruptZnode
from regent.model.ids import TopicPartition
from regent.model.leadership import Leadership
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.reads import to_leadership
from regent.zookeeper.znodes import decode_config

_ABOVE: Final = f"{paths.TOPICS}/"
_UNCLEAN: Final = "unclean.leader.election.enable"


def partition_at(path: str) -> TopicPartition | None:
    """The partition whose state znode this is; None for any other path."""
    if not path.endswith("/state") or not path.startswith(_ABOVE):
        return None
    topic, _, index, _ = path.removeprefix(_ABOVE).split("/")
    return TopicPartition(topic, int(index))


def leadership_at(world: World, path: str) -> Leadership | None:
    """What a state znode says now; None if it is not there or cannot be read."""
    node = world.zookeeper.server.peek(path)
    read = None if node is None else to_leadership(path, node)
    return read if isinstance(read, Leadership) else None


def allows_unclean(world: World, topic: str) -> bool:
    """Whether the topic's config lets a replica that is not in sync lead."""
    path = paths.topic_config(topic)
    node = world.zookeeper.server.peek(path)
    try:
        return node is not None and decode_config(path, node.data).get(_UNCLEAN) == "true"
    except CorruptZnode:
        return False
