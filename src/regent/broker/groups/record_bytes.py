"""The few primitive types that records of the offsets topic are made of, both ways."""

from regent.errors import ProtocolError


def int16(value: int) -> bytes:
    """Big-endian and signed, as all of Kafka's integers."""
    return value.to_bytes(2, "big", signed=True)


def int32(value: int) -> bytes:
    """Four bytes."""
    return value.to_bytes(4, "big", signed=True)


def int64(value: int) -> bytes:
    """Eight bytes."""
    return value.to_bytes(8, "big", signed=True)


def string(value: str | None) -> bytes:
    """A length of two bytes, -1 for None, and UTF-8."""
    if value is None:
        return int16(-1)
    encoded = value.encode()
    if len(encoded) > 0x7FFF:
        raise ProtocolError(f"a string of {len(encoded)} bytes does not fit into a group record")
    return int16(len(encoded)) + encoded


def blob(value: bytes) -> bytes:
    """A length of four bytes and the bytes."""
    return int32(len(value)) + value


class RecordBytesReader:
    """Reads from front to back; whatever is missing or makes no sense is a `ProtocolError`."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def int16(self) -> int:
        """Two bytes."""
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        """Four bytes."""
        return int.from_bytes(self._take(4), "big", signed=True)

    def int64(self) -> int:
        """Eight bytes."""
        return int.from_bytes(self._take(8), "big", signed=True)

    def string(self) -> str:
        """A string that may not be null."""
        value = self.nullable_string()
        if value is None:
            raise ProtocolError("a string is null that must not be")
        return value

    def nullable_string(self) -> str | None:
        """A string, or None."""
        length = self.int16()
        if length == -1:
            return None
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise ProtocolError(f"a string is not UTF-8: {error.reason}") from error

    def blob(self) -> bytes:
        """Bytes after their length; null counts as none."""
        length = self.int32()
        return b"" if length == -1 else self._take(length)

    def count(self) -> int:
        """The length of an array; more than there are bytes is refused before anybody counts."""
        count = self.int32()
        if not 0 <= count <= len(self._content) - self._position:
            raise ProtocolError(f"an array of {count} entries does not fit into what is left")
        return count

    def _take(self, length: int) -> bytes:
        end = self._position + length
        if length < 0 or end > len(self._content):
            left = len(self._content) - self._position
            raise ProtocolError(f"{length} bytes are wanted at {self._position}, {left} are left")
        taken = self._content[self._position : end]
        self._position = end
        return taken
