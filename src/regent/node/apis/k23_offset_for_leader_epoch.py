"""OffsetForLeaderEpoch, versions 2 to 4: where histories part."""

from regent.model.log_requests import OffsetForLeaderEpochAnswer
from regent.node.services import Services
from regent.wire.exchange import Call


async def answer(call: Call, services: Services) -> OffsetForLeaderEpochAnswer:
    """One answer to each question."""
    return services.host.epoch_query(call.request)
