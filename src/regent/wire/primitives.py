"""Strings, counts and lists of numbers as bytes, in the plain and in the compact form."""

import struct
from typing import Final

from regent.errors import ProtocolError
from regent.wire.limits import DEFAULT_LIMITS

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_KEPT_LISTS_MAX: Final = 100_000
_ONE_BYTE: Final = tuple(bytes([value]) for value in range(0x80))


class Primitives:
    """The writers of one form, with the lists that it has written before.

    Few lists of replicas are shared by many partitions, so that most need not be written again.
    """

    def __init__(self, *, is_flexible: bool) -> None:
        self._is_flexible = is_flexible
        self._kept_lists: dict[tuple[int, ...], bytes] = {}
        #: What closes every struct: no tagged fields, or nothing at all.
        self.end: Final = b"\0" if is_flexible else b""

    def count(self, count: int) -> bytes:
        """The length of a list."""
        return to_uvarint(count + 1) if self._is_flexible else _INT32.pack(count)

    def string(self, text: str) -> bytes:
        """A string that cannot be null."""
        encoded = text.encode()
        if len(encoded) > DEFAULT_LIMITS.string_bytes:
            raise ProtocolError(f"a string of {len(encoded)} bytes is too long")
        length = to_uvarint(len(encoded) + 1) if self._is_flexible else _INT16.pack(len(encoded))
        return length + encoded

    def nullable_string(self, text: str | None) -> bytes:
        """A string that can be null."""
        if text is None:
            return b"\0" if self._is_flexible else _INT16.pack(-1)
        return self.string(text)

    def int32_list(self, numbers: tuple[int, ...]) -> bytes:
        """A list of 32-bit numbers."""
        encoded = self._kept_lists.get(numbers)
        if encoded is None:
            if len(self._kept_lists) >= _KEPT_LISTS_MAX:
                self._kept_lists.clear()
            encoded = self.count(len(numbers)) + struct.pack(f">{len(numbers)}i", *numbers)
            self._kept_lists[numbers] = encoded
        return encoded


def to_uvarint(value: int) -> bytes:
    """An unsigned number, seven bits in each byte, the lowest first."""
    if value <= 0x7F:
        return _ONE_BYTE[value]
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
