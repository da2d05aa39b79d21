"""AllocateProducerIds, version 0: a thousand ids for a broker's producers."""

import logging

from regent.core.state import ControllerState
from regent.errors import RegentError
from regent.model.error_codes import ErrorCode
from regent.model.producer_ids import AllocateProducerIds, AllocateProducerIdsAnswer
from regent.runtime.desk import Desk
from regent.wire.exchange import Call
from regent.zookeeper.producer_ids import BLOCK_SIZE, take_producer_ids

logger = logging.getLogger(__name__)


async def answer(call: Call, desk: Desk) -> AllocateProducerIdsAnswer:
    """Only for a broker that is registered, in the life that asks."""
    request: AllocateProducerIds = call.request
    error = await desk.look(lambda state: _refusal(state, request))
    if error is not ErrorCode.NONE:
        return AllocateProducerIdsAnswer(error)
    try:
        block = await desk.run(take_producer_ids(request.broker_id))
    except RegentError as failure:
        logger.warning("no producer ids for broker %d: %s", request.broker_id, failure)
        return AllocateProducerIdsAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
    return AllocateProducerIdsAnswer(ErrorCode.NONE, block.first_id, BLOCK_SIZE)


def _refusal(state: ControllerState, request: AllocateProducerIds) -> ErrorCode:
    if not state.is_active:
        return ErrorCode.NOT_CONTROLLER
    registered = state.broker_epoch(request.broker_id)
    if registered is None:
        return ErrorCode.BROKER_ID_NOT_REGISTERED
    return ErrorCode.NONE if registered == request.broker_epoch else ErrorCode.STALE_BROKER_EPOCH
