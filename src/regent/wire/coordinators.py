"""FindCoordinator to and from the model; kio has the messages."""

from typing import Any

from regent.model.coordinator_requests import (
    CoordinatorType,
    FindCoordinator,
    FindCoordinatorAnswer,
)
from regent.model.ids import BrokerId
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error


def request_values(request: FindCoordinator) -> Values:
    """The content for all versions."""
    return {"key": request.key, "key_type": request.key_type}


def request_from(payload: Any) -> FindCoordinator:
    """Version 0 was about groups only."""
    return FindCoordinator(payload.key, getattr(payload, "key_type", CoordinatorType.GROUP))


def answer_values(answer: FindCoordinatorAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "error_message": answer.message,
        "node_id": answer.node_id,
        "host": answer.host,
        "port": answer.port,
    }


def answer_from(payload: Any) -> FindCoordinatorAnswer:
    """Messages came with version 1."""
    return FindCoordinatorAnswer(
        error=from_kio_error(payload.error_code),
        message=getattr(payload, "error_message", None),
        node_id=BrokerId(payload.node_id),
        host=payload.host,
        port=payload.port,
    )
