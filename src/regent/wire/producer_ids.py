"""AllocateProducerIds and InitProducerId to and from the model; kio has the messages."""

from datetime import timedelta
from typing import Any

from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.producer_ids import (
    AllocateProducerIds,
    AllocateProducerIdsAnswer,
    InitProducerId,
    InitProducerIdAnswer,
)
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error, to_milliseconds

# --- AllocateProducerIds ------------------------------------------------------------------------


def request_values(request: AllocateProducerIds) -> Values:
    """The content."""
    return {"broker_id": request.broker_id, "broker_epoch": request.broker_epoch}


def request_from(payload: Any) -> AllocateProducerIds:
    """What `request_values` wrote."""
    return AllocateProducerIds(BrokerId(payload.broker_id), BrokerEpoch(payload.broker_epoch))


def answer_values(answer: AllocateProducerIdsAnswer) -> Values:
    """The content."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "producer_id_start": answer.first_id,
        "producer_id_len": answer.count,
    }


def answer_from(payload: Any) -> AllocateProducerIdsAnswer:
    """What `answer_values` wrote."""
    return AllocateProducerIdsAnswer(
        from_kio_error(payload.error_code), payload.producer_id_start, payload.producer_id_len
    )


# --- InitProducerId -----------------------------------------------------------------------------


def init_values(request: InitProducerId) -> Values:
    """The content for all versions."""
    return {
        "transactional_id": request.transactional_id,
        "transaction_timeout": timedelta(milliseconds=request.transaction_timeout_ms),
    }


def init_from(payload: Any) -> InitProducerId:
    """What `init_values` wrote."""
    return InitProducerId(payload.transactional_id, to_milliseconds(payload.transaction_timeout))


def init_answer_values(answer: InitProducerIdAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "producer_id": answer.producer_id,
        "producer_epoch": answer.producer_epoch,
    }


def init_answer_from(payload: Any) -> InitProducerIdAnswer:
    """What `init_answer_values` wrote."""
    return InitProducerIdAnswer(
        from_kio_error(payload.error_code), payload.producer_id, payload.producer_epoch
    )
