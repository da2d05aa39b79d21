"""FindCoordinator, versions 0 to 2: who leads the partition in which a group is kept."""

from typing import Final

from regent.broker.groups.group_config import OFFSETS_TOPIC
from regent.broker.groups.offsets_partitions import partition_of
from regent.model.coordinator_requests import (
    CoordinatorType,
    FindCoordinator,
    FindCoordinatorAnswer,
)
from regent.model.error_codes import ErrorCode
from regent.node.peer_link import endpoint_of
from regent.node.services import Services
from regent.node.topic_making import make_topics, offsets_topic
from regent.wire.exchange import Call

CREATION_TIMEOUT_S: Final = 5.0
_NOT_YET: Final = FindCoordinatorAnswer(
    ErrorCode.COORDINATOR_NOT_AVAILABLE, "it is not known yet who coordinates the group"
)


async def answer(call: Call, services: Services) -> FindCoordinatorAnswer:
    """The topic of groups is made when somebody asks for the first time."""
    request: FindCoordinator = call.request
    if request.key_type != CoordinatorType.GROUP:
        # Clients take this for final, and say so; other codes make them try for ever.
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return FindCoordinatorAnswer(error, "transactions are not supported")
    host = services.host
    cache = host.core.metadata
    if OFFSETS_TOPIC not in cache.topics:
        await make_topics([offsets_topic(host.settings)], host, CREATION_TIMEOUT_S)
    partitions = cache.topics.get(OFFSETS_TOPIC)
    if not partitions:
        return _NOT_YET
    told = partitions.get(partition_of(request.key, len(partitions)))
    broker = None if told is None else cache.live_brokers.get(told.leader)
    endpoint = None if broker is None else endpoint_of(broker)
    if broker is None or endpoint is None:
        return _NOT_YET
    return FindCoordinatorAnswer(node_id=broker.broker_id, host=endpoint.host, port=endpoint.port)
