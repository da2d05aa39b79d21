"""Fields in the plain form, read by hand: what Produce and Fetch are made of, beside numbers.

The rules are those of `strict_reader`: a length is held against the limits and against the bytes
that are left before anything is set aside for it.
"""

import struct
from collections.abc import Iterable
from typing import Final, Protocol, TypeAlias, TypeVar

from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.wire.limits import WireLimits
from regent.wire.strict_reader import Content, end_of

#: A piece of a message on its way out.
Part: TypeAlias = bytes | bytearray | memoryview

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_NULL: Final = -1
_ERRORS: Final = {error.value: error for error in ErrorCode}


class OfPartition(Protocol):
    """Anything that belongs to one partition."""

    @property
    def name(self) -> TopicPartition:
        """The partition's name."""


NamedEntry = TypeVar("NamedEntry", bound=OfPartition)


def group_by_topic(entries: Iterable[NamedEntry]) -> dict[str, list[NamedEntry]]:
    """The entries of each topic, topics in order of their first appearance."""
    groups: dict[str, list[NamedEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.name[0], []).append(entry)
    return groups


def read_string(content: Content, offset: int, limits: WireLimits) -> tuple[str, int]:
    """A string that cannot be null."""
    text, offset = read_nullable_string(content, offset, limits)
    if text is None:
        raise ProtocolError("a string has the length -1")
    return text, offset


def read_nullable_string(
    content: Content, offset: int, limits: WireLimits
) -> tuple[str | None, int]:
    """A string that can be null."""
    (length,) = _INT16.unpack_from(content, offset)
    offset += 2
    if length < 0:
        if length == _NULL:
            return None, offset
        raise ProtocolError(f"a string has the length {length}")
    if length > limits.string_bytes:
        raise ProtocolError(f"a string has {length} bytes; {limits.string_bytes} are allowed")
    end = end_of(content, offset, length)
    return content[offset:end].decode(), end


def read_count(
    content: Content, offset: int, limits: WireLimits, item_bytes: int
) -> tuple[int, int]:
    """How many items a list has, each of at least so many bytes."""
    (count,) = _INT32.unpack_from(content, offset)
    offset += 4
    if count < 0:
        raise ProtocolError(f"a list has {count} items")
    if count > limits.list_items:
        raise ProtocolError(f"a list has {count} items; {limits.list_items} are allowed")
    if count * item_bytes > len(content) - offset:
        raise ProtocolError(f"a list of {count} items has {len(content) - offset} bytes")
    return count, offset


def read_records(content: Content, offset: int, size: int) -> tuple[memoryview | None, int]:
    """The records of which so many bytes are announced, as a view: nothing is copied."""
    if size < 0:
        if size == _NULL:
            return None, offset
        raise ProtocolError(f"records have the length {size}")
    end = end_of(content, offset, size)
    return memoryview(content)[offset:end], end


def to_error(number: int) -> ErrorCode:
    """A code that the model does not know still says that something failed."""
    return _ERRORS.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)
