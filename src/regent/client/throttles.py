"""Which replicas a move copies, and the configs that slow this down: pure.

Kafka's way (KIP-73): topics list the replicas that copying is throttled from and to, and brokers
have a rate for each direction. Who removes a throttle looks at all brokers, since nobody remembers
which ones had one.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from regent.client.config_changes import broker_resource, topic_resource
from regent.client.seen import ClusterSeen
from regent.model.admin_requests import ReassignmentTarget
from regent.model.assignment import Assignment
from regent.model.config_requests import (
    ConfigChange,
    ConfigChanges,
    ConfigDescription,
    ConfigOperation,
    ConfigQuestion,
    ConfigSource,
    ResourceType,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"

#: What a throttle is made of, and where a value of it comes from that was set.
THROTTLE_NAMES: Final[Mapping[int, tuple[str, ...]]] = {
    ResourceType.TOPIC: (LEADER_REPLICAS, FOLLOWER_REPLICAS),
    ResourceType.BROKER: (LEADER_RATE, FOLLOWER_RATE),
}
SET_BY_HAND: Final[Mapping[int, ConfigSource]] = {
    ResourceType.TOPIC: ConfigSource.TOPIC,
    ResourceType.BROKER: ConfigSource.DYNAMIC_BROKER,
}
#: Where nothing can be removed.
NOBODY_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.BROKER_NOT_AVAILABLE)


class Copying(Struct, frozen=True):
    """One partition of which replicas are made: from any of these, to all of those."""

    name: TopicPartition
    sources: tuple[BrokerId, ...]
    destinations: tuple[BrokerId, ...]


def plan_copying(
    targets: Iterable[ReassignmentTarget],
    seen: ClusterSeen,
    moving: Mapping[TopicPartition, Assignment],
) -> list[Copying]:
    """What these moves copy, and what is being moved already; a mere change of order is neither."""
    origins = {partition.name: partition.replicas for partition in seen.partitions()}
    origins |= {name: move.origin for name, move in moving.items()}
    wanted = {name: move.target for name, move in moving.items()}
    wanted |= {TopicPartition(each.topic, each.partition): each.replicas or () for each in targets}
    plans = (
        Copying(name, origins[name], tuple(r for r in target if r not in origins[name]))
        for name, target in sorted(wanted.items())
        if name in origins
    )
    return [each for each in plans if each.destinations]


def to_throttle(
    copying: Sequence[Copying], bytes_per_s: int, live: Container[BrokerId]
) -> list[ConfigChanges]:
    """What has to be set on topics, and on every live broker that gives or takes."""
    sources: dict[str, list[str]] = {}
    destinations: dict[str, list[str]] = {}
    for each in copying:
        topic, partition = each.name
        sources.setdefault(topic, []).extend(f"{partition}:{r}" for r in each.sources)
        destinations.setdefault(topic, []).extend(f"{partition}:{r}" for r in each.destinations)
    involved = {r for each in copying for r in (*each.sources, *each.destinations)}
    brokers = sorted(r for r in involved if r in live)
    rate = str(bytes_per_s)
    return [
        ConfigChanges(
            topic_resource(topic),
            (
                _set(LEADER_REPLICAS, ",".join(sources[topic])),
                _set(FOLLOWER_REPLICAS, ",".join(destinations[topic])),
            ),
        )
        for topic in sources
    ] + [
        ConfigChanges(broker_resource(each), (_set(LEADER_RATE, rate), _set(FOLLOWER_RATE, rate)))
        for each in brokers
    ]


def throttle_questions(topics: Iterable[str], brokers: Iterable[BrokerId]) -> list[ConfigQuestion]:
    """What to ask to know of throttles."""
    resources = [*map(topic_resource, topics), *map(broker_resource, brokers)]
    return [ConfigQuestion(each, THROTTLE_NAMES[each.kind]) for each in resources]


def to_lift(described: Iterable[ConfigDescription]) -> Iterator[ConfigChanges]:
    """What has to be removed of what was found. What may not be seen is removed all the same."""
    for each in described:
        names = THROTTLE_NAMES[each.resource.kind]
        if each.error is ErrorCode.NONE:
            source = SET_BY_HAND[each.resource.kind]
            found = {entry.name for entry in each.entries if entry.source == source}
            names = tuple(name for name in names if name in found)
        elif each.error in NOBODY_THERE:
            names = ()
        if names:
            removals = (ConfigChange(name, ConfigOperation.DELETE) for name in names)
            yield ConfigChanges(each.resource, tuple(removals))


def _set(name: str, value: str) -> ConfigChange:
    return ConfigChange(name, ConfigOperation.SET, value)
