"""When a topic is at rest: nothing will change by itself any more, given who lives. Pure."""

from collections.abc import Collection, Iterator, Mapping

from regent.model.ids import NO_LEADER
from tests.conformance.trees import PartitionTree, TopicTree


def restless(tree: TopicTree, live: Collection[int]) -> str | None:
    """Why this topic will still change; None: it will not."""
    return next(_reasons(tree, live), None)


def _reasons(tree: TopicTree, live: Collection[int]) -> Iterator[str]:
    if tree.is_being_deleted:
        if not _must_stay(tree, live):
            yield "it is being deleted"
        return
    if tree.partitions and not tree.has_id:
        yield "it has no id yet"
    if tree.config is not None and not tree.partitions:
        yield "its config is there, and nothing else"
    if tree.is_queued_for_election:
        yield "an election is queued"
    if tree.is_planned and not tree.is_moving:
        yield "a plan is queued"
    for index, partition in tree.partitions.items():
        yield from (
            f"partition {index}: {reason}" for reason in _partition_reasons(partition, live)
        )


def _must_stay(tree: TopicTree, live: Collection[int]) -> bool:
    """For a replica that is not there. A move that it waits for waits for no other."""
    return any(
        replica not in live
        for partition in tree.partitions.values()
        for replica in partition.assignment.replicas
    )


def _partition_reasons(partition: PartitionTree, live: Collection[int]) -> Iterator[str]:
    assignment, leadership = partition.assignment, partition.leadership
    living = {replica for replica in assignment.replicas if replica in live}
    if leadership is None:
        if living:
            yield "nobody has been elected yet"
    elif leadership.leader == NO_LEADER:
        if living & set(leadership.isr):
            yield "somebody could lead"
    elif leadership.leader not in live:
        yield "its leader is dead"
    elif set(leadership.isr) != living:
        yield f"{list(leadership.isr)} are in sync and {sorted(living)} live"
    elif assignment.is_reassigning and all(replica in live for replica in assignment.target):
        yield "it is moving"


def leaders(trees: Mapping[str, TopicTree]) -> dict[tuple[str, int], int]:
    """Who leads which partition, of those that somebody leads and that shall stay."""
    return {
        (topic, index): partition.leadership.leader
        for topic, tree in trees.items()
        if not tree.is_being_deleted
        for index, partition in tree.partitions.items()
        if partition.leadership is not None and partition.leadership.leader != NO_LEADER
    }
