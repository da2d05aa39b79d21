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
_HEAD_BYTES: Final = 16 * 1024
#: At first, for a long message; more than the head holds.
_BODY_BYTES: Final = 1024 * 1024


def to_frame(*parts: bytes | bytearray | memoryview) -> bytes:
    """One message as it goes on the wire."""
    return b"".join((frame_prefix(parts), *parts))


def frame_prefix(parts: Sequence[bytes | bytearray | memoryview]) -> bytes:
    """What stands before a message that is in several parts."""
    length = sum(map(len, parts))
    if length > _LENGTH_MAX:
        raise ProtocolError(f"a message of {length} bytes does not fit into a frame")
    return _LENGTH.pack(length)


def frame_length(
    prefix: bytes | bytearray | memoryview, limits: WireLimits = DEFAULT_LIMITS
) -> int:
    """How long the message after these four bytes is, if it may be so long."""
    (length,) = _LENGTH.unpack_from(prefix)
    if not 0 <= length <= limits.frame_bytes:
        raise ProtocolError(f"a frame of {length} bytes; {limits.frame_bytes} are allowed")
    return int(length)


class FrameReader:
    """Cuts what arrives on one connection, in whatever pieces, into messages.

    Whoever can receive in place asks where to with `buffer`, and says with `filled` how much came:
    of a long message, all but the beginning is then never copied. Others use `feed`.
    """

    def __init__(self, limits: WireLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        #: What comes between two messages: short ones as a whole, and the beginnings of long ones.
        self._head = memoryview(bytearray(_HEAD_BYTES))
        self._head_end = 0
        #: A long message on its way, if there is one: room for it, or for its first part.
        self._body: bytearray | None = None
        self._body_end = 0
        self._body_length = 0

    @property
    def is_between_frames(self) -> bool:
        """Whether a connection that ends now has ended cleanly."""
        return self._body is None and not self._head_end

    def feed(self, piece: bytes) -> Iterator[bytes | bytearray]:
        """The messages that are complete with this piece.

        A length over the limit is refused as soon as it is known, before its message is awaited.
        """
        view = memoryview(piece)
        while view:
            into = self.buffer()
            count = min(len(view), len(into))
            into[:count] = view[:count]
            view = view[count:]
            yield from self.filled(count)

    def buffer(self) -> memoryview:
        """Where the next bytes go; there is always room for one at least."""
        if self._body is None:
            return self._head[self._head_end :]
        return memoryview(self._body)[self._body_end :]

    def filled(self, count: int) -> Iterator[bytes | bytearray]:
        """The messages that are complete with so many more bytes in the buffer.

        A length over the limit is refused as by `feed`.
        """
        if self._body is None:
            self._head_end += count
            yield from self._short_ones()
            return
        self._body_end += count
        if self._body_end == self._body_length:
            body, self._body = self._body, None
            yield body
        elif self._body_end == len(self._body):
            self._give_room(self._body, 2 * self._body_end)

    def _short_ones(self) -> Iterator[bytes]:
        """What is complete in the head; what follows it stays there, or begins a body."""
        position = 0
        while self._head_end - position >= LENGTH_BYTES:
            length = frame_length(self._head[position:], self._limits)
            start = position + LENGTH_BYTES
            if self._head_end < start + length:
                begun = self._head[start : self._head_end]
                self._body_length, self._body_end = length, len(begun)
                self._give_room(begun, _BODY_BYTES)
                self._head_end = 0
                return
            position = start + length
            yield bytes(self._head[start:position])
        rest = bytes(self._head[position : self._head_end])
        self._head[: len(rest)] = rest
        self._head_end = len(rest)

    def _give_room(self, begun: bytearray | memoryview, room_bytes: int) -> None:
        """Room for the whole body, or for so much: what was only announced costs no memory."""
        self._body = bytearray(min(self._body_length, room_bytes))
        self._body[: len(begun)] = begun
