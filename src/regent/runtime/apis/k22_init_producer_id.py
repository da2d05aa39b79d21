"""InitProducerId, versions 0 and 1: an id for an idempotent producer.

Producers ask any node that they know of. librdkafka fails for good if the first one it is connected
to does not know how, and that may be a controller: it is listed among the brokers.
"""

from regent.model.error_codes import ErrorCode
from regent.model.producer_ids import InitProducerId, InitProducerIdAnswer
from regent.runtime.desk import Desk
from regent.wire.exchange import Call


async def answer(call: Call, desk: Desk) -> InitProducerIdAnswer:
    """The id is the producer's for good, in epoch 0; transactions are for their coordinators."""
    request: InitProducerId = call.request
    if request.transactional_id is not None:
        return InitProducerIdAnswer(ErrorCode.NOT_COORDINATOR)
    return await desk.producer_ids.give()
