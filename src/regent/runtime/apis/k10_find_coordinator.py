"""FindCoordinator, versions 0 to 2: which broker coordinates a group or a transactional id.

Never this node. But clients ask any node that they know of, and a controller is listed among them.
"""

from collections.abc import Mapping
from typing import Final

from regent.broker.groups.group_config import OFFSETS_TOPIC
from regent.broker.groups.offsets_partitions import partition_of
from regent.model.coordinator_requests import (
    CoordinatorType,
    FindCoordinator,
    FindCoordinatorAnswer,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId
from regent.model.known_cluster import KnownCluster
from regent.runtime.cluster_views import addresses, know_cluster
from regent.runtime.desk import Desk
from regent.wire.exchange import Call

TOPICS: Final[Mapping[int, str]] = {
    CoordinatorType.GROUP: OFFSETS_TOPIC,
    CoordinatorType.TRANSACTION: "__transaction_state",
}
#: Clients ask again then, and somebody else: brokers make the topic where it is missing.
_NOT_YET: Final = FindCoordinatorAnswer(
    ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody coordinates it yet; brokers see to it when asked"
)


async def answer(call: Call, desk: Desk) -> FindCoordinatorAnswer:
    """The leader of the partition in which it is kept."""
    request: FindCoordinator = call.request
    topic = TOPICS.get(request.key_type)
    if topic is None:
        return FindCoordinatorAnswer(
            ErrorCode.INVALID_REQUEST, f"nothing is coordinated under type {request.key_type}"
        )
    known = await know_cluster(desk, (topic,))
    node = addresses(known, desk.advertised).get(_leader(known, topic, request.key))
    if node is None:
        return _NOT_YET
    return FindCoordinatorAnswer(node_id=node.node_id, host=node.host, port=node.port)


def _leader(known: KnownCluster, topic: str, key: str) -> BrokerId:
    partitions = known.topics.get(topic, ())
    wanted = partition_of(key, len(partitions)) if partitions else None
    for each in partitions:
        if each.partition == wanted and each.leadership is not None:
            return each.leadership.leader
    return NO_LEADER
