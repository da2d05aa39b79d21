"""Which batch of a segment first reached a time: how far to go back for a timestamp.

In memory while the segment grows, and in Kafka's `.timeindex` form (twelve bytes an entry: largest
timestamp so far, relative offset of its batch) from the moment it is complete. The last entry is
the largest timestamp of the segment. Like the offset index it can be made again.
"""

import struct
from bisect import bisect_left
from pathlib import Path
from typing import Final

from regent.storage.atomic_file import replace_file
from regent.storage.record_batch import NO_TIMESTAMP

_ENTRY: Final = struct.Struct(">qi")
TIME_INDEX_SUFFIX: Final = ".timeindex"


class TimeIndex:
    """Timestamps that no batch before had reached, with the relative offset of the batch."""

    def __init__(self) -> None:
        self._timestamps: list[int] = []
        self._relative_offsets: list[int] = []
        #: Of all batches, those without an entry included.
        self.max_timestamp = NO_TIMESTAMP
        #: Which batch has it.
        self.max_relative_offset = 0

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
        pairs = zip(self._timestamps, self._relative_offsets, strict=True)
        replace_file(path, b"".join(_ENTRY.pack(*pair) for pair in pairs), sync=False)


def load_time_index(path: Path) -> TimeIndex | None:
    """What the file says, or None if there is none or it makes no sense."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) % _ENTRY.size:
        return None
    index = TimeIndex()
    last_relative_offset = 0
    for timestamp, relative_offset in _ENTRY.iter_unpack(content):
        if timestamp <= index.max_timestamp or relative_offset < last_relative_offset:
            return None
        last_relative_offset = relative_offset
        index.see(timestamp, relative_offset)
        index.add()
    return index
