"""Metadata, versions 0 to 8: who is in the cluster, and who leads what.

Topics that are missing are not created, whatever the request allows: that is for brokers.
"""

import asyncio
from typing import Final

from regent.model.cluster_requests import (
    NO_CONTROLLER,
    OPERATIONS_UNTOLD,
    Metadata,
    MetadataAnswer,
)
from regent.model.known_cluster import KnownCluster
from regent.runtime.cluster_views import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    TopicDescriber,
    addresses,
    know_cluster,
)
from regent.runtime.desk import Desk
from regent.wire.exchange import Call
from regent.wire.frames import to_frame
from regent.wire.headers import encode_response_header
from regent.wire.metadata_encoder import MetadataEncoder

#: After so many partitions others get their turn: two or three milliseconds.
TURN_PARTITIONS: Final = 500


async def answer(call: Call, desk: Desk) -> bytes:
    """The frame, made topic by topic."""
    request: Metadata = call.request
    return await describe(call, await know_cluster(desk, request.topics), desk)


async def describe(call: Call, known: KnownCluster, desk: Desk) -> bytes:
    """The frame that tells a client of a cluster, whoever knows it."""
    request: Metadata = call.request
    api_version = call.header.api_version
    nodes = addresses(known, desk.advertised)
    cluster = MetadataAnswer(
        tuple(nodes.values()),
        desk.cluster_id,
        NO_CONTROLLER if known.controller_id is None else known.controller_id,
        cluster_operations=_told(CLUSTER_OPERATIONS, asked=request.with_cluster_operations),
    )
    describer = TopicDescriber(known, nodes, api_version)
    encoder = MetadataEncoder(api_version)
    operations = _told(TOPIC_OPERATIONS, asked=request.with_topic_operations)
    names = tuple(known.topics if request.topics is None else dict.fromkeys(request.topics))
    parts = [encode_response_header(call.header), encoder.head(cluster, len(names))]
    turn = 0
    for name in names:
        topic = describer.describe(name, operations)
        parts.append(encoder.topic(topic))
        turn += len(topic.partitions)
        if turn >= TURN_PARTITIONS:
            await asyncio.sleep(0)
            turn = 0
    return to_frame(*parts, encoder.tail(cluster))


def _told(operations: int, *, asked: bool) -> int:
    return operations if asked else OPERATIONS_UNTOLD
