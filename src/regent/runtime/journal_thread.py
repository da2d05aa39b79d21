"""The journal's own thread: a decision hands its records over and goes on.

Encoding and writing cost more than many a decision, and so does the log for people, which is made
from the same records. Records are numbered by the controller, so
one that is dropped because the disk stands still shows as a gap.
"""

import queue
import threading
from collections.abc import Sequence
from typing import Final

from regent.journal.record import Record
from regent.journal.writer import JournalWriter
from regent.runtime.fact_log import log_record

#: Batches that may wait for a disk that does not answer.
WAITING_MAX: Final = 100_000


class JournalThread:
    """Takes records, in order, and never makes the caller wait."""

    def __init__(self, writer: JournalWriter) -> None:
        self._writer = writer
        self._waiting: queue.Queue[Sequence[Record] | None] = queue.Queue(WAITING_MAX)
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._dropped_count = 0
        self._thread.start()

    @property
    def dropped_count(self) -> int:
        """Records that never reached the disk."""
        return self._dropped_count + self._writer.dropped_count

    @property
    def trouble(self) -> str | None:
        """Why the journal cannot be written at the moment."""
        return self._writer.trouble

    def append(self, records: Sequence[Record]) -> None:
        """Hand records over."""
        try:
            self._waiting.put_nowait(records)
        except queue.Full:
            self._dropped_count += len(records)

    def close(self) -> None:
        """Write all that was handed over, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (records := self._waiting.get()) is not None:
            self._writer.append(records)
            for record in records:
                log_record(record)
            if self._waiting.empty():
                self._writer.flush()
        self._writer.close()
