"""Taking topics out of ZooKeeper: their znodes, their configs, their markers.

A topic's znodes are looked up and deleted from the leaves up, level by level over all topics. What
somebody adds meanwhile is found by the next look. Configs go only when all topics are gone, and
markers only when all configs are: as long as anything is left, a successor finds the marker.
"""

from collections.abc import Sequence

from regent.core.asks import (
    DeleteTopicMarkers,
    Fence,
    MarkTopicsForDeletion,
    RemoveTopics,
    WriteFailure,
    WriteResult,
)
from regent.errors import SessionLost
from regent.zookeeper import paths
from regent.zookeeper.exchange import RACES_MAX, Exchange, read, read_many, unexpected
from regent.zookeeper.fencing import Op, Sight, write_fenced
from regent.zookeeper.store import Children, Create, Delete, Failed, GetChildren, ZkError


def mark_topics_for_deletion(ask: MarkTopicsForDeletion) -> Exchange[None]:
    """A marker has no content, so it does not matter whose it is."""
    ops = [Create(paths.topic_deletion(topic)) for topic in ask.topics]
    yield from write_fenced(ask.fence, ops, _judge_creation)


def _judge_creation(_op: Op, sight: Sight) -> WriteResult | None:
    return None if sight.found is None else WriteFailure.EXISTS


def delete_topic_markers(ask: DeleteTopicMarkers) -> Exchange[None]:
    """Whether we or somebody else removed them does not matter."""
    yield from _remove(ask.fence, [paths.topic_deletion(topic) for topic in ask.topics])


def remove_topics(ask: RemoveTopics) -> Exchange[None]:
    """The topics with all below them, then their configs, then their markers."""
    yield from _remove(ask.fence, [paths.topic(topic) for topic in ask.topics])
    yield from _remove(ask.fence, [paths.topic_config(topic) for topic in ask.topics])
    yield from _remove(ask.fence, [paths.topic_deletion(topic) for topic in ask.topics])


def _remove(fence: Fence, roots: Sequence[str]) -> Exchange[None]:
    """Delete these with all below them, and look that they are gone."""
    for _ in range(RACES_MAX):
        levels = yield from _levels_from(roots)
        if not levels:
            return
        for level in reversed(levels):
            ops = [Delete(path) for path in level]
            yield from write_fenced(fence, ops, _judge_delete)
    raise SessionLost(f"could not remove {roots[0]} and others {RACES_MAX} times in a row")


def _levels_from(roots: Sequence[str]) -> Exchange[list[list[str]]]:
    """The znodes that are there: those of `roots`, then their children, and so on down."""
    levels: list[list[str]] = []
    looked_at = list(roots)
    while looked_at:
        found = yield from read_many(looked_at)
        present = [(p, data) for p, data in zip(looked_at, found, strict=True) if data is not None]
        if present:
            levels.append([path for path, _ in present])
        looked_at = yield from _children(
            [path for path, data in present if data.stat.child_count > 0]
        )
    return levels


def _children(parents: Sequence[str]) -> Exchange[list[str]]:
    """The paths below these, unwatched: nobody wants to hear of what is about to go."""
    if not parents:
        return []
    children: list[str] = []
    replies = yield from read([GetChildren(path) for path in parents])
    for path, reply in zip(parents, replies, strict=True):
        if isinstance(reply, Children):
            children.extend(f"{path}/{name}" for name in reply.names)
        elif not isinstance(reply, Failed) or reply.error is not ZkError.NO_NODE:
            raise unexpected(reply)
    return children


def _judge_delete(_op: Op, sight: Sight) -> WriteResult | None:
    return WriteFailure.MISSING if sight.found is None else None
