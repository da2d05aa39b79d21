"""DescribeCluster, versions 0 and 1: who is in the cluster."""

from typing import Final

from regent.model.cluster_requests import (
    NO_CONTROLLER,
    OPERATIONS_UNTOLD,
    DescribeCluster,
    DescribeClusterAnswer,
)
from regent.model.error_codes import ErrorCode
from regent.runtime.cluster_views import CLUSTER_OPERATIONS, addresses, know_cluster
from regent.runtime.desk import Desk
from regent.wire.exchange import Call

BROKERS: Final = 1
KRAFT_CONTROLLERS: Final = 2


async def answer(call: Call, desk: Desk) -> DescribeClusterAnswer:
    """Without topics, and so without looking at any."""
    request: DescribeCluster = call.request
    if request.endpoint_type != BROKERS:
        is_known = request.endpoint_type == KRAFT_CONTROLLERS
        return DescribeClusterAnswer(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            "this cluster has brokers to describe, and no controllers of KRaft",
            endpoint_type=request.endpoint_type,
        )
    known = await know_cluster(desk, ())
    return DescribeClusterAnswer(
        cluster_id=desk.cluster_id or "",
        controller_id=NO_CONTROLLER if known.controller_id is None else known.controller_id,
        nodes=tuple(addresses(known, desk.advertised).values()),
        operations=CLUSTER_OPERATIONS if request.with_operations else OPERATIONS_UNTOLD,
    )
