"""SaslHandshake to and from the model; kio has the messages."""

from typing import Any

from regent.model.sasl_requests import SaslHandshake, SaslHandshakeAnswer
from regent.wire.message_tables import Values
from regent.wire.values import from_kio_error, to_kio_error


def request_values(request: SaslHandshake) -> Values:
    """The content for all versions."""
    return {"mechanism": request.mechanism}


def request_from(payload: Any) -> SaslHandshake:
    """What `request_values` wrote."""
    return SaslHandshake(payload.mechanism)


def answer_values(answer: SaslHandshakeAnswer) -> Values:
    """The content for all versions."""
    return {"error_code": to_kio_error(answer.error), "mechanisms": answer.mechanisms}


def answer_from(payload: Any) -> SaslHandshakeAnswer:
    """What `answer_values` wrote."""
    return SaslHandshakeAnswer(from_kio_error(payload.error_code), tuple(payload.mechanisms))
