"""What a Kafka controller's sending threads would have logged."""

from collections.abc import Iterator

from msgspec import Struct

from regent.model.brokers import Broker
from regent.model.control_requests import ControlAnswer, ControlRequest, StopReplica
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.sim.log_lines import values
from regent.sim.log_lines.line import KafkaLogLine, by_controller, in_controller_log


class Attempt(Struct, frozen=True):
    """One time that a request goes to a broker; Kafka gives each attempt its own number."""

    node: BrokerId
    to: Broker
    correlation_id: int
    request: ControlRequest


def connected(attempt: Attempt) -> KafkaLogLine:
    """A connection was made."""
    return in_controller_log(
        "INFO",
        attempt.node,
        f"Controller {attempt.node} connected to {values.address(attempt.to)} for sending state"
        " change requests",
        source="RequestSendThread",
    )


def not_sent(attempt: Attempt) -> KafkaLogLine:
    """No answer came; the request goes again."""
    request = attempt.request
    return in_controller_log(
        "WARN",
        attempt.node,
        f"Controller {attempt.node} epoch {request.controller_epoch} fails to send request"
        f" {values.request_head(request)} to broker {values.address(attempt.to)}."
        " Reconnecting to broker.",
        source="RequestSendThread",
        trace=("java.io.IOException: no answer came before the connection was given up",),
    )


def answered(attempt: Attempt, answer: ControlAnswer) -> Iterator[KafkaLogLine]:
    """An answer came back."""
    request, response = attempt.request, values.response(attempt.request, answer)
    yield by_controller(
        "TRACE",
        attempt.node,
        f"Received response {response} for request {values.api_key(request)} with correlation id"
        f" {attempt.correlation_id} sent to broker {values.address(attempt.to)}",
        epoch=request.controller_epoch,
    )
    if answer.error is not ErrorCode.NONE and not isinstance(request, StopReplica):
        yield by_controller(
            "ERROR",
            attempt.node,
            f"Received error {answer.error.name} in {type(request).__name__} response {response}"
            f" from broker {attempt.to.broker_id}",
        )
