"""Small values that stand otherwise on the wire than in the model: topic ids, codes, protocols."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, Protocol, TypeVar
from uuid import UUID

from kio.schema.errors import ErrorCode as KioErrorCode

from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId

NOT_THROTTLED: Final = timedelta(0)
_TOPIC_ID_LENGTH: Final = 22
_NO_TOPIC_ID: Final = bytes(16)

SECURITY_PROTOCOLS: Final[Mapping[str, int]] = {
    "PLAINTEXT": 0,
    "SSL": 1,
    "SASL_PLAINTEXT": 2,
    "SASL_SSL": 3,
}
_SECURITY_NAMES: Final = {number: name for name, number in SECURITY_PROTOCOLS.items()}


class OfTopic(Protocol):
    """Anything that belongs to one topic."""

    @property
    def topic(self) -> str:
        """The topic's name."""


Entry = TypeVar("Entry", bound=OfTopic)


def by_topic(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of each topic, topics in order of their first appearance."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.topic, []).append(entry)
    return groups


def to_uuid(topic_id: str | None) -> UUID | None:
    """A topic id as it goes on the wire; what is not one is none, and goes there as zeros."""
    if topic_id is None or len(topic_id) != _TOPIC_ID_LENGTH:
        return None
    try:
        return UUID(bytes=urlsafe_b64decode(topic_id + "=="))
    except (NotBase64, ValueError):
        return None


def to_id_bytes(topic_id: str | None) -> bytes:
    """The sixteen bytes of a topic id; zeros for none."""
    uuid = to_uuid(topic_id)
    return _NO_TOPIC_ID if uuid is None else uuid.bytes


def from_uuid(uuid: UUID | None) -> str | None:
    """A topic id as it stands in ZooKeeper."""
    return None if uuid is None else urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


def to_kio_error(error: ErrorCode) -> KioErrorCode:
    """The same number in kio's words."""
    return KioErrorCode(error.value)


def from_kio_error(error: KioErrorCode) -> ErrorCode:
    """A code that the model does not know still says that something failed."""
    try:
        return ErrorCode(error.value)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def to_milliseconds(duration: timedelta) -> int:
    """Whole milliseconds, as they stood on the wire."""
    return duration // timedelta(milliseconds=1)


def from_security_number(number: int) -> str:
    """The name of a security protocol."""
    if number not in _SECURITY_NAMES:
        raise ProtocolError(f"there is no security protocol {number}")
    return _SECURITY_NAMES[number]


def broker_ids(numbers: Iterable[int]) -> tuple[BrokerId, ...]:
    """Plain numbers that are known to be broker ids."""
    return tuple(map(BrokerId, numbers))
