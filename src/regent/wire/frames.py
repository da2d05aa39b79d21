"""Frames: four bytes that say how long it is, and then one message.

No sockets here: bytes in, frames out.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from regent.errors import ProtocolError
from regent.wire.limits import DEFAULT_LIMITS, WireLimits

LENGTH_BYTES: Final = 4
_LENGTH: Final = struct.Struct(">i")
_LENGTH_MAX: Final = 2**31 - 1


def to_frame(*parts: bytes | bytearray | memoryview) -> bytes:
    """One message as it goes on the wire."""
    return b"".join((frame_prefix(parts), *parts))


def frame_prefix(parts: Sequence[bytes | bytearray | memoryview]) -> bytes:
    """What stands before a message that is in several parts."""
    length = sum(map(len, parts))
    if length > _LENGTH_MAX:
        raise ProtocolError(f"a message of {length} bytes does not fit into a frame")
    return _LENGTH.pack(length)


def frame_length(prefix: bytes | bytearray, limits: WireLimits = DEFAULT_LIMITS) -> int:
    """How long the message after these four bytes is, if it may be so long."""
    (length,) = _LENGTH.unpack_from(prefix)
    if not 0 <= length <= limits.frame_bytes:
        raise ProtocolError(f"a frame of {length} bytes; {limits.frame_bytes} are allowed")
    return int(length)


class FrameReader:
    """Cuts what arrives on one connection, in whatever pieces, into messages."""

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._arrived = bytearray()

    @property
    def is_between_frames(self) -> bool:
        """Whether a connection that ends now has ended cleanly."""
        return not self._arrived

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The messages that are complete with this piece.

        A length over the limit is refused as soon as it is known, before its message is awaited.
        """
        self._arrived += piece
        while len(self._arrived) >= LENGTH_BYTES:
            end = LENGTH_BYTES + frame_length(self._arrived, self._limits)
            if len(self._arrived) < end:
                return
            message = bytes(memoryview(self._arrived)[LENGTH_BYTES:end])
            del self._arrived[:end]
            yield message
