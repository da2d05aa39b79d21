"""Which batch of a segment first reached a time: how far to go back for a timestamp.

In memory while the segment grows, and in Kafka's `.timeindex` form (twelve bytes an entry: largest
timestamp so far, relative offset of its batch) from the moment it is complete. The last entry is
the largest timestamp of the segment. Like the offset index it can be made again.
"""

from array import array
from bisect import bisect_left
from operator import le, lt
from pathlib import Path
from typing import Final

from regent.storage.atomic_file import replace_file
from regent.storage.offset_index import to_big_endian
from regent.storage.record_batch import NO_TIMESTAMP

_TIMESTAMP_BYTES: Final = 8
_OFFSET_BYTES: Final = 4
_ENTRY_BYTES: Final = _TIMESTAMP_BYTES + _OFFSET_BYTES
TIME_INDEX_SUFFIX: Final = ".timeindex"


class TimeIndex:
    """Timestamps that no batch before had reached, with the relative offset of the batch."""

    def __init__(
        self, timestamps: "array[int] | None" = None, relative_offsets: "array[int] | None" = None
    ) -> None:
        self._timestamps = array("q") if timestamps is None else timestamps
        self._relative_offsets = array("i") if relative_offsets is None else relative_offsets
        #: Of all batches, those without an entry included.
        self.max_timestamp = self._timestamps[-1] if self._timestamps else NO_TIMESTAMP
        #: Which batch has it.
        self.max_relative_offset = self._relative_offsets[-1] if self._relative_offsets else 0

    def see(self, timestamp: int, relative_offset: int) -> None:
        """Take a batch into account; batches come in order."""
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_relative_offset = relative_offset

    def add(self) -> None:
        """Make an entry of the largest timestamp so far, if it has none yet."""
        if self.max_timestamp > (self._timestamps[-1] if self._timestamps else NO_TIMESTAMP):
            self._timestamps.append(self.max_timestamp)
            self._relative_offsets.append(self.max_relative_offset)

    def before(self, timestamp: int) -> int:
        """A relative offset before which every batch is older than the timestamp."""
        number = bisect_left(self._timestamps, timestamp) - 1
        return self._relative_offsets[number] if number >= 0 else 0

    def cut(self, relative_offset: int) -> int:
        """Forget entries at or behind the offset; from where on batches must be seen again."""
        kept = bisect_left(self._relative_offsets, relative_offset)
        del self._timestamps[kept:]
        del self._relative_offsets[kept:]
        self.max_timestamp = self._timestamps[-1] if kept else NO_TIMESTAMP
        self.max_relative_offset = self._relative_offsets[-1] if kept else 0
        return self.max_relative_offset

    def save(self, path: Path) -> None:
        """Write the file as a whole."""
        self.add()
        content = bytearray(_ENTRY_BYTES * len(self._timestamps))
        _put_column(content, 0, self._timestamps)
        _put_column(content, _TIMESTAMP_BYTES, self._relative_offsets)
        replace_file(path, bytes(content), sync=False)


def load_time_index(path: Path) -> TimeIndex | None:
    """What the file says, or None if there is none or it makes no sense."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) % _ENTRY_BYTES:
        return None
    timestamps = _column(content, 0, array("q"))
    relative_offsets = _column(content, _TIMESTAMP_BYTES, array("i"))
    if timestamps and (timestamps[0] <= NO_TIMESTAMP or relative_offsets[0] < 0):
        return None
    if not all(map(lt, timestamps, timestamps[1:])):
        return None
    if not all(map(le, relative_offsets, relative_offsets[1:])):
        return None
    return TimeIndex(timestamps, relative_offsets)


def _put_column(content: bytearray, place: int, numbers: "array[int]") -> None:
    """Write a number into each entry: byte by byte for all at once, which is the fast way."""
    column = numbers[:]
    to_big_endian(column)
    raw, size = column.tobytes(), column.itemsize
    for number in range(size):
        content[place + number :: _ENTRY_BYTES] = raw[number::size]


def _column(content: bytes, place: int, numbers: "array[int]") -> "array[int]":
    """Read a number from each entry."""
    size = numbers.itemsize
    raw = bytearray(len(content) // _ENTRY_BYTES * size)
    for number in range(size):
        raw[number::size] = content[place + number :: _ENTRY_BYTES]
    numbers.frombytes(raw)
    to_big_endian(numbers)
    return numbers
