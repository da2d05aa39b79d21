"""InitProducerId, versions 0 and 1: an id for an idempotent producer. Transactions are refused."""

from regent.model.error_codes import ErrorCode
from regent.model.producer_ids import InitProducerId, InitProducerIdAnswer
from regent.node.services import Services
from regent.wire.exchange import Call


async def answer(call: Call, services: Services) -> InitProducerIdAnswer:
    """The id is the producer's for good, in epoch 0."""
    request: InitProducerId = call.request
    if request.transactional_id is not None:
        # Clients take this for final, and say so; other codes make them try for ever.
        return InitProducerIdAnswer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return await services.producer_ids.give()
