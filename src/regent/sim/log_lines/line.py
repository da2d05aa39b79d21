"""A line of a Kafka broker's `state-change.log` or `controller.log`."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from regent.model.ids import BrokerId, ControllerEpoch

STATE_CHANGE_LOGGER: Final = "state.change.logger"
_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: How each class of the controller begins its lines, by its name.
PREFIXES: Final = {
    "KafkaController": "[Controller id={}] ",
    "TopicDeletionManager": "[Topic Deletion Manager {}] ",
    "RequestSendThread": "[RequestSendThread controllerId={}] ",
}


class KafkaLogFile(StrEnum):
    """The two files that a controller's story is in."""

    STATE_CHANGE = "state-change.log"
    CONTROLLER = "controller.log"


class KafkaLogLine(Struct, frozen=True):
    """What is written at once: a line, and the trace of an exception if there is one."""

    file: KafkaLogFile
    level: str
    message: str
    logger: str
    trace: tuple[str, ...] = ()

    def at(self, at_ms: int) -> str:
        """The text, ended, with the time in UTC."""
        head = f"[{stamp(at_ms)}] {self.level} {self.message} ({self.logger})"
        return "\n".join((head, *self.trace, ""))


def stamp(at_ms: int) -> str:
    """A time as log4j prints it; a clock that is far behind shows 1969."""
    at = _1970 + timedelta(milliseconds=at_ms)
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"


def by_controller(
    level: str,
    node: BrokerId,
    sentence: str,
    *,
    epoch: ControllerEpoch | None = None,
    trace: tuple[str, ...] = (),
) -> KafkaLogLine:
    """A controller's line in `state-change.log`; a few leave the epoch out."""
    who = f"id={node}" if epoch is None else f"id={node} epoch={epoch}"
    message = f"[Controller {who}] {sentence}"
    return KafkaLogLine(KafkaLogFile.STATE_CHANGE, level, message, STATE_CHANGE_LOGGER, trace)


def by_broker(level: str, node: BrokerId, sentence: str) -> KafkaLogLine:
    """A broker's line in `state-change.log`."""
    message = f"[Broker id={node}] {sentence}"
    return KafkaLogLine(KafkaLogFile.STATE_CHANGE, level, message, STATE_CHANGE_LOGGER)


def in_controller_log(
    level: str,
    node: BrokerId,
    sentence: str,
    *,
    source: str = "KafkaController",
    trace: tuple[str, ...] = (),
) -> KafkaLogLine:
    """A line of `controller.log`, by one of the classes that write there."""
    message = PREFIXES[source].format(node) + sentence
    return KafkaLogLine(
        KafkaLogFile.CONTROLLER, level, message, f"kafka.controller.{source}", trace
    )
