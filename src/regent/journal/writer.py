"""Puts records on disk without ever standing in the way of a decision.

`append` encodes into memory and is the only thing that a decision waits for; `flush` writes, and
the driver calls it when the requests of an event are on their way. Neither raises when the disk
is full or gone: the writer keeps what fits into its buffer, drops what comes after, says so once
in the log and in `trouble`, and tries again at each later `append` or `flush`. When it recovers,
the file goes on where it stopped. A half-written line is finished, not repeated, and what was
dropped shows as a jump in the sequence numbers. A segment that somebody deleted is noticed at the
next write, which goes to a new one, in a new folder if need be; what the old one held is missing.

A process that dies loses what was not flushed and may leave half a line behind, which the reader
skips. Nothing is synced to the platter: the journal tells what happened, it decides nothing.
"""

import logging
import os
import re
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from regent.errors import BadInput
from regent.journal.record import Record, encode, encode_lines
from regent.model.ids import BrokerId

SEGMENT_BYTES: Final = 64 * 1024 * 1024
BUFFER_BYTES_MAX: Final = 16 * 1024 * 1024
#: From here on `append` writes by itself, so that one huge event cannot fill the buffer.
FLUSH_BYTES: Final = 1024 * 1024
#: Encoded in one go: enough that the calls no longer count, little enough to be held twice.
_RECORDS_AT_ONCE: Final = 512

SEGMENT_NAME: Final = re.compile(r"journal-(?P<controller_id>\d+)-(?P<number>\d{8,})\.jsonl")

logger = logging.getLogger(__name__)


class SegmentFile(Protocol):
    """The little of an unbuffered file that the writer needs."""

    def write(self, content: bytes, /) -> int | None:
        """Write some of the content, and say how many bytes that was."""

    def fileno(self) -> int:
        """Its descriptor, to ask whether it still has a name."""

    def close(self) -> None:
        """Let go of the file."""


OpenSegment: TypeAlias = Callable[[Path], SegmentFile]


class JournalSink(Protocol):
    """Where a driver puts its records."""

    def append(self, records: Iterable[Record]) -> None:
        """Take the records, in order, and never raise."""


def open_new(path: Path) -> SegmentFile:
    """A segment is never opened twice for writing: an existing file is an error."""
    return path.open("xb", buffering=0)


def segment_name(controller_id: BrokerId, number: int) -> str:
    """Numbers are padded, so that the order of names is the order of writing."""
    return f"journal-{controller_id}-{number:08d}.jsonl"


class MemoryJournal:
    """A journal that lives as long as a simulation."""

    def __init__(self) -> None:
        #: The lines as they would stand on disk, so that two runs can be compared by bytes.
        self.lines: list[bytes] = []

    def append(self, records: Iterable[Record]) -> None:
        """Keep the records, encoded."""
        self.lines.extend(map(encode, records))


class JournalWriter:
    """Appends one node's records to numbered segments in a directory.

    A new writer starts a new segment after the highest number that the node has there, so an
    earlier process's files are continued and never touched.
    """

    def __init__(
        self,
        directory: Path,
        controller_id: BrokerId,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        buffer_bytes_max: int = BUFFER_BYTES_MAX,
        open_segment: OpenSegment = open_new,
    ) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot keep a journal in {directory}: {error}") from error
        self._directory = directory
        self._controller_id = controller_id
        self._segment_bytes = segment_bytes
        self._buffer_bytes_max = buffer_bytes_max
        self._open_segment = open_segment
        #: Whole lines, except that the first one lacks what is already in the segment.
        self._buffer: deque[bytes] = deque()
        self._buffered_bytes = 0
        self._segment: SegmentFile | None = None
        #: Of the segment before the next one, which takes another number even if this is deleted.
        self._number = 0
        self._written_bytes = 0
        #: Whether the segment ends inside a line, which must then be finished there.
        self._is_torn = False
        #: Why the last write failed; None while all is well.
        self.trouble: str | None = None
        #: Records that found the buffer full or half a line gone, since the writer was made.
        self.dropped_count = 0

    def append(self, records: Iterable[Record]) -> None:
        """Take the records into the buffer; those that do not fit are counted and dropped."""
        if self.trouble is not None:
            self.flush()
        waiting = iter(records)
        while some := list(islice(waiting, _RECORDS_AT_ONCE)):
            lines = encode_lines(some)
            size_bytes = sum(map(len, lines))
            if self.trouble is None and self._buffered_bytes + size_bytes <= self._flush_bytes:
                self._buffer += lines
                self._buffered_bytes += size_bytes
            else:
                for line in lines:
                    self._keep(line)

    def _keep(self, line: bytes) -> None:
        if self.trouble is None and self._buffered_bytes + len(line) > self._flush_bytes:
            self.flush()
        # The newest are dropped, not the oldest: the file then has one gap per trouble,
        # and everything that led up to it.
        if self._buffer and self._buffered_bytes + len(line) > self._buffer_bytes_max:
            self.dropped_count += 1
            return
        self._buffer.append(line)
        self._buffered_bytes += len(line)

    def flush(self) -> None:
        """Write what is buffered, or note why that is impossible now."""
        try:
            while self._buffer:
                self._write_some()
        except OSError as error:
            if self.trouble is None:
                logger.error(  # noqa: TRY400 - the reason is in the message; a trace adds nothing
                    "the journal in %s cannot be written (%s); records are kept in memory up to "
                    "%d bytes, then dropped",
                    self._directory,
                    error,
                    self._buffer_bytes_max,
                )
            self.trouble = str(error)
            return
        if self.trouble is not None:
            logger.warning(
                "the journal in %s is written again; %d records were dropped so far",
                self._directory,
                self.dropped_count,
            )
            self.trouble = None

    def close(self) -> None:
        """Flush a last time and let go of the segment."""
        self.flush()
        self._close_segment()

    @property
    def _flush_bytes(self) -> int:
        return min(FLUSH_BYTES, self._buffer_bytes_max)

    def _write_some(self) -> None:
        if self._segment is not None and os.fstat(self._segment.fileno()).st_nlink == 0:
            return self._abandon_segment()  # perhaps with all that there was to write
        if self._segment is not None and self._is_full():
            self._close_segment()
        if self._segment is None:
            self._segment = self._begin_segment()
        written_bytes = self._segment.write(b"".join(self._lines_for_segment())) or 0
        if not written_bytes:
            raise OSError("the disk took nothing")
        self._written_bytes += written_bytes
        self._buffered_bytes -= written_bytes
        return self._forget(written_bytes)

    def _is_full(self) -> bool:
        return self._written_bytes >= self._segment_bytes and not self._is_torn

    def _lines_for_segment(self) -> Iterable[bytes]:
        """As many lines as bring the segment to its size, and at least one."""
        end_bytes = self._written_bytes
        for line in self._buffer:
            yield line
            end_bytes += len(line)
            if end_bytes >= self._segment_bytes:
                return

    def _forget(self, written_bytes: int) -> None:
        """Take what is on disk out of the buffer; of a line cut short, the part that is there."""
        if not self._buffered_bytes:
            self._buffer.clear()
            self._is_torn = False
            return
        while self._buffer and len(self._buffer[0]) <= written_bytes:
            written_bytes -= len(self._buffer.popleft())
            self._is_torn = False
        if written_bytes:
            self._buffer[0] = self._buffer[0][written_bytes:]
            self._is_torn = True

    def _begin_segment(self) -> SegmentFile:
        self._directory.mkdir(parents=True, exist_ok=True)
        number = self._next_number()
        name = segment_name(self._controller_id, number)
        segment = self._open_segment(self._directory / name)
        self._number = number
        self._written_bytes = 0
        return segment

    def _next_number(self) -> int:
        on_disk = [
            int(match["number"])
            for path in self._directory.iterdir()
            if (match := SEGMENT_NAME.fullmatch(path.name))
            and int(match["controller_id"]) == self._controller_id
        ]
        return max([self._number, *on_disk]) + 1

    def _abandon_segment(self) -> None:
        """Somebody has deleted it. Of a line that it began, the end makes no sense elsewhere."""
        logger.error(
            "segment %d of the journal in %s has been deleted; what it held is missing, and a new"
            " one is begun",
            self._number,
            self._directory,
        )
        self._close_segment()
        if self._is_torn:
            self._buffered_bytes -= len(self._buffer.popleft())
            self._is_torn = False
            self.dropped_count += 1

    def _close_segment(self) -> None:
        if self._segment is None:
            return
        segment, self._segment = self._segment, None
        # A file that cannot even be closed has been reported by the write before it.
        with suppress(OSError):
            segment.close()
