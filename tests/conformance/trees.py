"""What ZooKeeper has of a topic, as far as a controller decides it."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from regent.model.assignment import Assignment
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.controller_znodes import unwatched_children
from regent.zookeeper.exchange import Exchange, read_many
from regent.zookeeper.znodes import decode_config, decode_leadership, decode_topic


class PartitionTree(Struct, frozen=True):
    """A partition's entry in its topic's znode, and its state if there is one."""

    assignment: Assignment
    leadership: Leadership | None


class TopicTree(Struct, frozen=True):
    """All znodes of one topic; one that is gone has none of them."""

    partitions: dict[int, PartitionTree] = {}
    config: dict[str, str] | None = None
    has_id: bool = False
    is_being_deleted: bool = False
    #: Where the two znodes that old tools leave name it.
    is_planned: bool = False
    is_queued_for_election: bool = False

    @property
    def is_moving(self) -> bool:
        """Whether a reassignment of any partition is under way."""
        return any(each.assignment.is_reassigning for each in self.partitions.values())


def read_trees(topics: Sequence[str]) -> Exchange[dict[str, TopicTree]]:
    """These topics, whether or not there are such ones."""
    deleted = yield from unwatched_children(paths.TOPIC_DELETIONS)
    plan, election = yield from read_many((paths.REASSIGNMENT, paths.ELECTION))
    planned = _named(None if plan is None else plan.data)
    queued = _named(None if election is None else election.data)
    found = yield from read_many([paths.topic(topic) for topic in topics])
    configs = yield from read_many([paths.topic_config(topic) for topic in topics])
    trees: dict[str, TopicTree] = {}
    for topic, znode, config in zip(topics, found, configs, strict=True):
        partitions: dict[int, PartitionTree] = {}
        has_id = False
        if znode is not None:
            record = decode_topic(paths.topic(topic), znode.data)
            has_id = record.topic_id is not None
            partitions = yield from _read_partitions(topic, record.partitions)
        trees[topic] = TopicTree(
            partitions,
            None if config is None else decode_config(paths.topic_config(topic), config.data),
            has_id,
            topic in deleted,
            topic in planned,
            topic in queued,
        )
    return trees


def _read_partitions(
    topic: str, assignments: dict[int, Assignment]
) -> Exchange[dict[int, PartitionTree]]:
    state_paths = [paths.partition_state(topic, index) for index in assignments]
    states = yield from read_many(state_paths)
    partitions: dict[int, PartitionTree] = {}
    for (index, assignment), path, state in zip(
        assignments.items(), state_paths, states, strict=True
    ):
        leadership = (
            None if state is None else decode_leadership(path, state.data, state.stat.version)
        )
        partitions[index] = PartitionTree(assignment, leadership)
    return partitions


def _named(raw: bytes | None) -> frozenset[str]:
    """The topics that the partitions of such a znode belong to."""
    record: Any = {} if raw is None else msgspec.json.decode(raw)
    return frozenset(entry["topic"] for entry in record.get("partitions", ()))
