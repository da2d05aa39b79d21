"""One file of a log, named by the offset of its first record, with its two indexes.

A segment grows at its end only, may be cut there, and is deleted as a whole. A write that fails
is undone, so that nothing half-written is ever read. Files are opened and indexes loaded when they
are first needed; index files that are missing or wrong are made again.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from regent.errors import CorruptLog
from regent.storage.offset_index import INDEX_SUFFIX, OffsetIndex, load_offset_index
from regent.storage.record_batch import NO_TIMESTAMP, BatchHeader, Buffer
from regent.storage.segment_scan import Damage, PlacedHeader, checked_headers, headers
from regent.storage.time_index import TIME_INDEX_SUFFIX, TimeIndex, load_time_index

LOG_SUFFIX: Final = ".log"
#: How many of the latest batches are found without the index.
_RECENT_MAX: Final = 1024
_NOT_OPEN: Final = -1


class Segment:
    """The batches from `base_offset` up to and without `end_offset`."""

    def __init__(self, directory: Path, base_offset: int, index_interval_bytes: int) -> None:
        name = f"{base_offset:020d}"
        self.base_offset = base_offset
        self.path = directory / (name + LOG_SUFFIX)
        self.size_bytes = 0
        #: Of a segment that was not loaded yet: not above this.
        self.end_offset = base_offset
        self.first_timestamp = NO_TIMESTAMP
        #: Whether something was written since the last `sync`.
        self.is_dirty = False
        self._index_path = directory / (name + INDEX_SUFFIX)
        self._time_index_path = directory / (name + TIME_INDEX_SUFFIX)
        self._index_interval_bytes = index_interval_bytes
        self._opened = _NOT_OPEN
        self._index = OffsetIndex()
        self._times = TimeIndex()
        self._unindexed_bytes = 0
        #: Whether the indexes were made again, and their files were not.
        self._must_save = False
        #: Found when the indexes were made again. Nothing before or after it is served.
        self._damage: CorruptLog | None = None
        #: Where batches begin, by base offset: readers mostly want the latest.
        self._recent: dict[int, int] = {}
        try:
            self.size_bytes = self.path.stat().st_size
        except FileNotFoundError:
            # Its name says where the log goes on, so it is there from the beginning.
            self._file()
        self._is_loaded = not self.size_bytes

    # --- opening ------------------------------------------------------------------------------

    def recover(self) -> Iterator[BatchHeader | Damage]:
        """Read every byte and make the indexes: the sound batches, then what ended them, if so.

        Whoever runs out of it before its end has a segment of which the rest is not known.
        """
        self._index, self._times = OffsetIndex(), TimeIndex()
        self._recent.clear()
        self._unindexed_bytes = 0
        self.end_offset = self.base_offset
        self._is_loaded = self._must_save = True
        for each in checked_headers(self._file(), self.size_bytes, self.base_offset):
            if isinstance(each, Damage):
                yield each
                return
            position, header = each
            self._note(position, header.base_offset, header)
            yield header

    def load(self) -> None:
        """Take the indexes from their files or, if these do not fit, from the segment itself."""
        if self._damage is not None:
            raise self._damage.with_traceback(None)
        if self._is_loaded:
            return
        self._is_loaded = True
        end_offset = self.end_offset
        try:
            fits = self._load_files()
        except CorruptLog:
            # Else only the first who comes would hear of it.
            fits = False
        if not fits:
            for each in self.recover():
                if isinstance(each, Damage):
                    self._damage = self._corrupt(each)
                    # Else whoever comes later would take the segment to end here.
                    self.end_offset = end_offset
                    raise self._damage

    def save_indexes(self) -> None:
        """Write both index files: the segment is complete, or the log is closed."""
        if self._is_loaded:
            self._index.save(self._index_path)
            self._times.save(self._time_index_path)
            self._must_save = False

    def forget_recent(self) -> None:
        """Others have the latest batches from now on; these are found by the index."""
        self._recent = {}

    def unload(self) -> None:
        """Let go of the indexes, which no longer grow; whoever needs them loads them again."""
        if self._is_loaded and self.size_bytes and self._damage is None:
            if self._must_save:
                self.save_indexes()
            self._index, self._times = OffsetIndex(), TimeIndex()
            self.forget_recent()
            self._is_loaded = False

    # --- writing ------------------------------------------------------------------------------

    def write(self, parts: Sequence[Buffer], batches: Sequence[tuple[int, BatchHeader]]) -> None:
        """Add batches, each with its base offset; all of them or, with an error, none."""
        added_bytes = sum(map(len, parts))
        descriptor = self._file()
        try:
            written_bytes = os.writev(descriptor, parts)
            while written_bytes < added_bytes:
                # A disk that is nearly full takes a part, and says why at the next attempt.
                rest = memoryview(b"".join(parts))[written_bytes:]
                written_bytes += os.write(descriptor, rest)
        except OSError:
            # If this fails too, the torn batch is found when the log is opened next.
            with suppress(OSError):
                self._cut_file(self.size_bytes)
            raise
        position = self.size_bytes
        self.size_bytes += added_bytes
        self.is_dirty = True
        for base_offset, header in batches:
            self._note(position, base_offset, header)
            position += header.batch_bytes

    def cut(self, position: int) -> None:
        """Forget everything from a position on, which begins a batch or is the end."""
        self._cut_file(position)
        self.size_bytes = position
        self.is_dirty = True
        self._recent.clear()
        self._index.cut(position)
        indexed_to = self._index.at_position(position)[1]
        self._unindexed_bytes = position - indexed_to
        self.end_offset = self.base_offset
        for _, header in self._headers(indexed_to):
            self.end_offset = header.next_offset
        if not position:
            self.first_timestamp = NO_TIMESTAMP
        again_from = self.base_offset + self._times.cut(self.end_offset - self.base_offset)
        for _, header in self._headers(self.position_of(again_from)):
            self._times.see(header.max_timestamp, header.base_offset - self.base_offset)

    def sync(self) -> None:
        """Bring what was written onto the disk itself."""
        if self.is_dirty:
            os.fdatasync(self._file())
            self.is_dirty = False

    def close(self) -> None:
        """Let go of the file; reading would open it again."""
        if self._opened != _NOT_OPEN:
            os.close(self._opened)
            self._opened = _NOT_OPEN

    def remove(self) -> None:
        """Delete the files; the log goes first, because indexes without one are swept up."""
        self.close()
        for path in (self.path, self._index_path, self._time_index_path):
            path.unlink(missing_ok=True)

    # --- reading ------------------------------------------------------------------------------

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp; without any, the time of the last write."""
        self.load()
        known = self._times.max_timestamp
        return known if known >= 0 else self.path.stat().st_mtime_ns // 1_000_000

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Whole batches from the one with `offset` on, but none that reaches beyond `end_offset`.

        The first one comes however large it is.
        """
        start = self.position_of(offset)
        stop = self.size_bytes if end_offset >= self.end_offset else self.position_of(end_offset)
        if stop - start > max_bytes:
            stop = self._stop_before(start, start + max_bytes)
        content = os.pread(self._file(), stop - start, start)
        if len(content) != stop - start:
            raise self._corrupt(Damage(start, "the file is shorter than it was"))
        return content

    def position_of(self, offset: int) -> int:
        """Where the first batch begins that reaches beyond `offset`; the end if there is none."""
        recent = self._recent.get(offset)
        if recent is not None:
            return recent
        self.load()
        if offset >= self.end_offset:
            return self.size_bytes
        entry = self._index.at_offset(offset - self.base_offset)
        for position, header in self._headers(self._trusted(entry)):
            if header.next_offset > offset:
                return position
        return self.size_bytes

    def batch_not_before(self, timestamp: int, offset: int) -> tuple[BatchHeader, bytes] | None:
        """The first batch from `offset` on with a record that is not older than `timestamp`."""
        self.load()
        older_to = self.base_offset + self._times.before(timestamp)
        for position, header in self._headers(self.position_of(max(older_to, offset))):
            if header.max_timestamp >= timestamp:
                return header, os.pread(self._file(), header.batch_bytes, position)
        return None

    def headers_from(self, offset: int) -> Iterator[BatchHeader]:
        """The headers of all batches from the one with `offset` on."""
        for _, header in self._headers(self.position_of(offset)):
            yield header

    # --- inside -------------------------------------------------------------------------------

    def _file(self) -> int:
        if self._opened == _NOT_OPEN:
            self._opened = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            os.lseek(self._opened, self.size_bytes, os.SEEK_SET)
        return self._opened

    def _cut_file(self, position: int) -> None:
        os.ftruncate(self._file(), position)
        os.lseek(self._file(), position, os.SEEK_SET)

    def _note(self, position: int, base_offset: int, header: BatchHeader) -> None:
        """Take a batch that is in the file into the indexes."""
        relative_offset = base_offset - self.base_offset
        if self._unindexed_bytes > self._index_interval_bytes:
            self._index.add(relative_offset, position)
            self._times.add()
            self._unindexed_bytes = 0
        self._unindexed_bytes += header.batch_bytes
        self._times.see(header.max_timestamp, relative_offset)
        if not position:
            self.first_timestamp = header.max_timestamp
        self._remember(position, base_offset)
        self.end_offset = base_offset + header.last_offset_delta + 1

    def _remember(self, position: int, base_offset: int) -> None:
        if len(self._recent) >= _RECENT_MAX:
            self._recent.clear()
        self._recent[base_offset] = position

    def _load_files(self) -> bool:
        """Take over the index files and find the end; False if something does not fit."""
        index = load_offset_index(self._index_path, self.size_bytes)
        times = load_time_index(self._time_index_path)
        if index is None or times is None:
            return False
        last_entry = index.at_position(self.size_bytes)
        if not self._fits(last_entry):
            return False
        last: BatchHeader | None = None
        for each in headers(self._file(), last_entry[1], self.size_bytes):
            if isinstance(each, Damage):
                return False
            last = each[1]
        assert last is not None, "an entry stands before the end"
        self._index, self._times = index, times
        self._unindexed_bytes = self.size_bytes - last_entry[1]
        self.end_offset = last.next_offset
        self.first_timestamp = next(self._headers(0))[1].max_timestamp
        # A wrong time would make retention delete too much or too little.
        return last.max_timestamp <= times.max_timestamp and self._has_largest_time()

    def _has_largest_time(self) -> bool:
        times = self._times
        batch = next(self.headers_from(self.base_offset + times.max_relative_offset), None)
        return batch is not None and times.max_timestamp in {batch.max_timestamp, NO_TIMESTAMP}

    def _trusted(self, entry: tuple[int, int]) -> int:
        """The position of an index entry, once it is seen that a batch begins there."""
        if self._fits(entry):
            return entry[1]
        offset = self.base_offset + entry[0]
        self._is_loaded = False
        self._index_path.unlink(missing_ok=True)
        self.load()
        return self._index.at_offset(offset - self.base_offset)[1]

    def _fits(self, entry: tuple[int, int]) -> bool:
        relative_offset, position = entry
        found = next(headers(self._file(), position, self.size_bytes), None)
        if found is None or isinstance(found, Damage):
            return False
        # Kafka's own indexes name the last offset of what was appended there.
        last_possible = self.base_offset + relative_offset
        return self.base_offset <= found[1].base_offset <= last_possible or not position

    def _stop_before(self, start: int, limit: int) -> int:
        """The last end of a batch within the limit, but at least that of the first one."""
        from_position = max(start, self._trusted(self._index.at_position(limit)))
        for position, header in self._headers(from_position):
            if position + header.batch_bytes > limit:
                if position == start:
                    return position + header.batch_bytes
                # Whoever reads on in order will come for this one next.
                self._remember(position, header.base_offset)
                return position
        return self.size_bytes

    def _headers(self, position: int) -> Iterator[PlacedHeader]:
        for each in headers(self._file(), position, self.size_bytes):
            if isinstance(each, Damage):
                raise self._corrupt(each)
            yield each

    def _corrupt(self, damage: Damage) -> CorruptLog:
        return CorruptLog(str(self.path), damage.position, self.end_offset, damage.reason)
