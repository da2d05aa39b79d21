"""InitProducerId, versions 0 and 1: an id for an idempotent producer. Transactions are refused."""

import logging

from regent.errors import RegentError
from regent.model.error_codes import ErrorCode
from regent.model.producer_ids import InitProducerId, InitProducerIdAnswer
from regent.node.services import Services
from regent.wire.exchange import Call

logger = logging.getLogger(__name__)


async def answer(call: Call, services: Services) -> InitProducerIdAnswer:
    """The id is the producer's for good, in epoch 0."""
    request: InitProducerId = call.request
    if request.transactional_id is not None:
        # Clients take this for final, and say so; other codes make them try for ever.
        return InitProducerIdAnswer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    try:
        return InitProducerIdAnswer(ErrorCode.NONE, await services.producer_ids.next(), 0)
    except RegentError as failure:
        logger.warning("no id for a producer: %s", failure)
        return InitProducerIdAnswer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
