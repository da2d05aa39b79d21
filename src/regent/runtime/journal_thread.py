"""The journal's own thread: a decision hands its facts over and goes on.

Encoding and writing cost more than many a decision, and so does the log for people, which is made
from the same records. So they wait until the decision is made, unless that takes long. Records are
numbered by the controller, so one that is dropped because the disk stands still shows as a gap.
"""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from regent.journal.record import FactBatch
from regent.journal.writer import JournalWriter
from regent.runtime.fact_log import log_record

#: Batches that may wait for a disk that does not answer.
WAITING_MAX: Final = 100_000
#: How long the facts of a decision wait until it is made, at most.
HOLD_S: Final = 1.0


class JournalThread:
    """Takes facts, in order, and never makes the caller wait."""

    def __init__(self, writer: JournalWriter) -> None:
        self._writer = writer
        self._waiting: queue.Queue[FactBatch | None] = queue.Queue(WAITING_MAX)
        self._is_free = threading.Event()
        self._is_free.set()
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

    def append(self, batch: FactBatch) -> None:
        """Hand facts over."""
        try:
            self._waiting.put_nowait(batch)
        except queue.Full:
            self._dropped_count += len(batch)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A decision is being made: whatever can wait does not take its processor."""
        self._is_free.clear()
        try:
            yield
        finally:
            self._is_free.set()

    def close(self) -> None:
        """Write all that was handed over, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (batch := self._waiting.get()) is not None:
            if not self._is_free.wait(HOLD_S):
                # It takes long, and what comes after this batch has waited long enough, too.
                self._is_free.set()
            records = list(batch.records())
            self._writer.append(records)
            for record in records:
                log_record(record)
            if self._waiting.empty():
                self._writer.flush()
        self._writer.close()
