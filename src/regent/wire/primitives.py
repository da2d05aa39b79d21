"""Strings, counts and lists of numbers as bytes, in the plain and in the compact form."""

import struct
from collections.abc import Callable
from typing import Final

from regent.errors import ProtocolError
from regent.wire.limits import DEFAULT_LIMITS

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_KEPT_LISTS_MAX: Final = 100_000
_ONE_BYTE: Final = tuple(bytes([value]) for value in range(0x80))


class Int32Lists(dict[tuple[int, ...], bytes]):
    """Lists of 32-bit numbers by their numbers; one that is not there yet is written.

    Few lists of replicas are shared by many partitions, so that most need not be written again.
    """

    def __init__(self, to_count: Callable[[int], bytes]) -> None:
        super().__init__()
        self._to_count = to_count

    def __missing__(self, numbers: tuple[int, ...]) -> bytes:
        if len(self) >= _KEPT_LISTS_MAX:
            self.clear()
        encoded = self._to_count(len(numbers)) + struct.pack(f">{len(numbers)}i", *numbers)
        self[numbers] = encoded
        return encoded


class Primitives:
    """The writers of one form, with the lists that it has written before."""

    def __init__(self, *, is_flexible: bool) -> None:
        self._is_flexible = is_flexible
        self.int32_lists: Final = Int32Lists(self.count)
        #: What closes every struct: no tagged fields, or nothing at all.
        self.end: Final = b"\0" if is_flexible else b""

    def count(self, count: int) -> bytes:
        """The length of a list."""
        if not self._is_flexible:
            return _INT32.pack(count)
        return _ONE_BYTE[count + 1] if count < len(_ONE_BYTE) - 1 else to_uvarint(count + 1)

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
        return self.int32_lists[numbers]


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
