"""Who coordinates a group, asked of any broker: FindCoordinator."""

from enum import IntEnum
from typing import Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId

NO_COORDINATOR: Final = BrokerId(-1)


class CoordinatorType(IntEnum):
    """What is coordinated; the numbers are Kafka's. Requests may have others."""

    GROUP = 0
    TRANSACTION = 1


class FindCoordinator(Struct, frozen=True):
    """Asks for the broker that coordinates a group or a transactional id."""

    key: str
    #: One of `CoordinatorType`, or whatever a caller sent.
    key_type: int = CoordinatorType.GROUP


class FindCoordinatorAnswer(Struct, frozen=True):
    """The coordinator and where it listens, or why none is known."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    node_id: BrokerId = NO_COORDINATOR
    host: str = ""
    port: int = -1
