"""The segments of one log in order; the last of them grows."""

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from regent.storage.log_config import LogConfig
from regent.storage.record_batch import BatchHeader
from regent.storage.segment import LOG_SUFFIX, Segment

#: Offsets in an index have 31 bits.
_RELATIVE_OFFSET_MAX: Final = 2**31 - 1


class SegmentList:
    """At least one segment, once the log is loaded."""

    def __init__(self, directory: Path, index_interval_bytes: int) -> None:
        self.directory = directory
        self._index_interval_bytes = index_interval_bytes
        self._segments: list[Segment] = []
        self._bases: list[int] = []

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def first(self) -> Segment:
        """The oldest."""
        return self._segments[0]

    @property
    def active(self) -> Segment:
        """The one that grows."""
        return self._segments[-1]

    @property
    def size_bytes(self) -> int:
        """All records together."""
        return sum(segment.size_bytes for segment in self._segments)

    def add(self, base_offset: int) -> Segment:
        """Open the next segment, or make it."""
        segment = Segment(self.directory, base_offset, self._index_interval_bytes)
        self._segments.append(segment)
        self._bases.append(base_offset)
        return segment

    def add_found(self) -> None:
        """Open every segment that stands in the directory; each ends where the next begins."""
        names = (path.stem for path in self.directory.glob("*" + LOG_SUFFIX))
        for base_offset in sorted(int(name) for name in names if name.isdigit()):
            if self._segments:
                self.active.end_offset = base_offset
            self.add(base_offset)

    def roll(self, base_offset: int) -> Segment:
        """Complete the active segment and begin another.

        Most segments are never read again, so that older ones go out of memory. The one that is
        complete now stays: readers are still on their way through it.
        """
        for segment in self._segments[:-1]:
            segment.unload()
        self.active.save_indexes()
        self.active.forget_recent()
        return self.add(base_offset)

    def is_full_for(
        self, config: LogConfig, run_bytes: int, base_offset: int, header: BatchHeader, age_ms: int
    ) -> bool:
        """Whether a batch has to go into a new segment, if `run_bytes` more come before it."""
        active = self.active
        held_bytes = active.size_bytes + run_bytes
        if base_offset + header.last_offset_delta - active.base_offset > _RELATIVE_OFFSET_MAX:
            return True
        if not held_bytes:
            return False
        if held_bytes + header.batch_bytes > config.segment_bytes:
            return True
        if active.first_timestamp >= 0 and header.max_timestamp >= 0:
            age_ms = header.max_timestamp - active.first_timestamp
        return age_ms > config.segment_ms

    def from_offset(self, offset: int) -> Iterator[Segment]:
        """The segment in which the offset belongs, and those after it."""
        for number in range(max(bisect_right(self._bases, offset) - 1, 0), len(self._segments)):
            yield self._segments[number]

    def with_ends(self, log_end_offset: int) -> Iterator[tuple[Segment, int]]:
        """Each segment with the offset at which the next one begins."""
        return zip(self._segments, [*self._bases[1:], log_end_offset], strict=True)

    def remove_first(self) -> None:
        """Delete the oldest."""
        self._segments.pop(0).remove()
        self._bases.pop(0)

    def remove_last(self) -> None:
        """Delete the newest."""
        self._segments.pop().remove()
        self._bases.pop()

    def close(self) -> None:
        """Let go of all files."""
        for segment in self._segments:
            segment.close()
