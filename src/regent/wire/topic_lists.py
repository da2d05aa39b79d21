"""Lists by topic, as most messages have them: topics, and in each of them its partitions.

The model has flat tuples instead, in which every entry knows its partition by name.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from regent.model.ids import TopicPartition
from regent.wire.message_tables import Values


def to_topics(
    entries: Iterable[tuple[TopicPartition, Any]],
    topic_field: str = "name",
    partitions_field: str = "partitions",
) -> list[Values]:
    """The entries grouped, topics in order of their first appearance."""
    groups: dict[str, list[Any]] = {}
    for name, content in entries:
        groups.setdefault(name.topic, []).append(content)
    return [{topic_field: topic, partitions_field: group} for topic, group in groups.items()]


def to_index_topics(
    names: Iterable[TopicPartition], topic_field: str, partitions_field: str
) -> list[Values]:
    """Names grouped, where partitions stand as plain numbers."""
    return to_topics(((name, name.partition) for name in names), topic_field, partitions_field)


def from_topics(
    topics: Iterable[Any],
    topic_field: str = "name",
    partitions_field: str = "partitions",
    index_field: str = "partition_index",
) -> Iterator[tuple[TopicPartition, Any]]:
    """Each partition's entry with the partition's name."""
    for topic in topics:
        for entry in getattr(topic, partitions_field):
            yield TopicPartition(getattr(topic, topic_field), getattr(entry, index_field)), entry


def from_index_topics(
    topics: Iterable[Any], topic_field: str, partitions_field: str
) -> tuple[TopicPartition, ...]:
    """The names, where partitions stand as plain numbers."""
    return tuple(
        TopicPartition(getattr(topic, topic_field), partition)
        for topic in topics
        for partition in getattr(topic, partitions_field)
    )
