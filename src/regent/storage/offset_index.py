"""Where in a segment an offset roughly stands: one entry for every few kilobytes.

In memory while the segment grows, and in Kafka's `.index` form (eight bytes an entry: relative
offset, position) from the moment it is complete. The file is a convenience: one that is missing
or wrong is made again from the segment.
"""

import sys
from array import array
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Final

from regent.storage.atomic_file import replace_file

_ENTRY_BYTES: Final = 8
INDEX_SUFFIX: Final = ".index"


class OffsetIndex:
    """Offsets relative to the segment's base, each with the position of the batch that has it."""

    def __init__(
        self, relative_offsets: "array[int] | None" = None, positions: "array[int] | None" = None
    ) -> None:
        self._relative_offsets = array("i") if relative_offsets is None else relative_offsets
        self._positions = array("i") if positions is None else positions

    def add(self, relative_offset: int, position: int) -> None:
        """Note where a batch begins; batches come in order."""
        self._relative_offsets.append(relative_offset)
        self._positions.append(position)

    def at_offset(self, relative_offset: int) -> tuple[int, int]:
        """The last entry that is not above the offset; the start of the segment if none is."""
        return self._entry(bisect_right(self._relative_offsets, relative_offset) - 1)

    def at_position(self, position: int) -> tuple[int, int]:
        """The last entry that is not behind the position; the start of the segment if none is."""
        return self._entry(bisect_right(self._positions, position) - 1)

    def cut(self, position: int) -> None:
        """Forget batches that begin at or behind the position."""
        kept = bisect_right(self._positions, position - 1)
        del self._relative_offsets[kept:]
        del self._positions[kept:]

    def save(self, path: Path) -> None:
        """Write the file as a whole."""
        entries = array("i", bytes(_ENTRY_BYTES * len(self._positions)))
        entries[0::2] = self._relative_offsets
        entries[1::2] = self._positions
        to_big_endian(entries)
        replace_file(path, entries.tobytes(), sync=False)

    def _entry(self, number: int) -> tuple[int, int]:
        # The very start needs no entry, and an entry for it does no harm.
        return (self._relative_offsets[number], self._positions[number]) if number >= 0 else (0, 0)


def load_offset_index(path: Path, segment_bytes: int) -> OffsetIndex | None:
    """What the file says, or None if there is none or it makes no sense for such a segment."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) % _ENTRY_BYTES:
        return None
    entries = array("i", content)
    to_big_endian(entries)
    relative_offsets, positions = entries[0::2], entries[1::2]
    if not (_grows(relative_offsets) and _grows(positions)):
        return None
    if positions and not 0 <= positions[0] <= positions[-1] < segment_bytes:
        return None
    return OffsetIndex(relative_offsets, positions)


def to_big_endian(numbers: "array[int]") -> None:
    """From this machine's order of bytes to the files', or back."""
    if sys.byteorder == "little":
        numbers.byteswap()


def _grows(numbers: "array[int]") -> bool:
    return all(before < after for before, after in pairwise(numbers))
