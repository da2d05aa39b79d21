"""Metadata, versions 0 to 8, from what the controller told this broker.

A topic that is missing is made, if both the caller and the broker's settings allow it.
"""

import asyncio
from contextlib import suppress
from typing import Final

from regent.broker.groups.group_config import OFFSETS_TOPIC
from regent.broker.metadata_cache import MetadataCache
from regent.core.topic_rules import misnamed
from regent.model.admin_requests import NewTopic
from regent.model.assignment import Assignment
from regent.model.cluster_requests import Metadata
from regent.model.control_requests import PartitionMetadata
from regent.model.known_cluster import KnownCluster, KnownPartition
from regent.model.leadership import Leadership
from regent.node.services import Services
from regent.node.topic_making import make_topics, offsets_topic
from regent.runtime.apis.k03_metadata import describe
from regent.wire.exchange import Call

CREATION_TIMEOUT_S: Final = 5.0
#: So long a broker that has just started waits to hear of its cluster.
FIRST_WORD_S: Final = 5.0


async def answer(call: Call, services: Services) -> bytes:
    """The frame, made topic by topic."""
    request: Metadata = call.request
    cache = services.host.core.metadata
    # Clients that hear of no controller do not ask again soon: better they wait a moment.
    with suppress(TimeoutError):
        async with asyncio.timeout(FIRST_WORD_S):
            await services.host.knows_cluster.wait()
    if request.topics and request.may_create and services.host.settings.creates_topics:
        missing = [each for each in request.topics if each not in cache.topics]
        wanted = [_new(each, services) for each in missing if misnamed(each) is None]
        if wanted:
            await make_topics(wanted, services.host, CREATION_TIMEOUT_S)
    return await describe(call, known_by(cache, request.topics), services.desk)


def _new(name: str, services: Services) -> NewTopic:
    if name == OFFSETS_TOPIC:
        return offsets_topic(services.host.settings)
    return NewTopic(name)


def known_by(cache: MetadataCache, topics: tuple[str, ...] | None) -> KnownCluster:
    """The cluster with these topics, or with None all, as a broker was told of it."""
    names = cache.topics if topics is None else dict.fromkeys(topics)
    return KnownCluster(
        cache.controller_id,
        dict(sorted(cache.live_brokers.items())),
        frozenset(cache.live_brokers),
        {},
        {
            name: tuple(map(_known, cache.topics[name].values()))
            for name in names
            if name in cache.topics
        },
    )


def _known(told: PartitionMetadata) -> KnownPartition:
    leadership = Leadership(
        leader=told.leader,
        leader_epoch=told.leader_epoch,
        isr=told.isr,
        controller_epoch=told.controller_epoch,
        zk_version=told.zk_version,
    )
    return KnownPartition(
        told.partition, Assignment(told.replicas), leadership, told.offline_replicas
    )
