"""Whatever is done to a log in whatever order, it holds what a plain list would hold."""

import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from regent.model.ids import LeaderEpoch
from regent.storage.log_loading import LastKnown
from regent.storage.records import batches_in
from tests.storage.batches import add, batch_of, open_log, sent, values_from

CONFIG: Final[dict[str, Any]] = {
    "segment_bytes": 500,
    "index_interval_bytes": 150,
    "retention_bytes": 1_000,
}
NOW_MS = 1_000


class LogAndList(RuleBasedStateMachine):
    """The list has the batches: base offset, values, size."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="regent-log-"))
        self.log = open_log(self.path, now_ms=NOW_MS, **CONFIG)
        self.batches: list[tuple[int, tuple[bytes, ...]]] = []
        self.start = self.end = 0
        self.epoch = 0
        self.counter = 0

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.log.abandon()
        shutil.rmtree(self.path)

    def values(self, count: int, size: int) -> tuple[bytes, ...]:
        """Values that occur once."""
        self.counter += 1
        return tuple(b"%d.%d" % (self.counter, number) + b"." * size for number in range(count))

    @rule(count=st.integers(1, 4), size=st.integers(0, 90))
    def append(self, count: int, size: int) -> None:
        """As a leader."""
        values = self.values(count, size)
        first = add(
            self.log,
            batch_of(*values, timestamp=NOW_MS),
            leader_epoch=LeaderEpoch(self.epoch),
        )
        assert first == self.end
        self.batches.append((first, values))
        self.end += count

    @rule(counts=st.lists(st.integers(1, 3), min_size=1, max_size=6), gap=st.integers(0, 2))
    def replicate(self, counts: list[int], gap: int) -> None:
        """As a follower, perhaps of a compacted log."""
        content = b""
        for count in counts:
            values = self.values(count, 40)
            base = self.end + gap
            content += sent(batch_of(*values, timestamp=NOW_MS), base, self.epoch)
            self.batches.append((base, values))
            self.end = base + count
        assert self.log.append_entries(content) is None

    @rule()
    def lead(self) -> None:
        """Become leader."""
        self.epoch += 1
        self.log.begin_epoch(LeaderEpoch(self.epoch))

    @rule(back=st.integers(0, 12))
    def truncate(self, back: int) -> None:
        """Cut near the end, perhaps within a batch."""
        offset = max(self.end - back, 0)
        if not any(base <= offset < base + len(values) for base, values in self.batches):
            return
        self.log.truncate_to(offset)
        self.batches = [(b, values) for b, values in self.batches if b + len(values) <= offset]
        kept_end = max((base + len(values) for base, values in self.batches), default=0)
        self.end = self.log.end_offset
        assert kept_end <= self.end <= offset
        self.start = min(self.start, self.end)
        # An epoch may have lost its beginning; the next leader has a higher one.
        self.lead()

    @rule(offset=st.integers(0, 60))
    def delete(self, offset: int) -> None:
        """Delete records from the beginning."""
        if self.start <= offset <= self.end:
            assert self.log.delete_records(offset, self.end) == offset
            self.start = offset

    @rule()
    def retain(self) -> None:
        """Delete segments by size."""
        self.log.apply_retention(self.end)
        if self.log.start_offset != self.start:
            assert self.start < self.log.start_offset <= self.end
            assert self.log.size_bytes >= CONFIG["retention_bytes"]
            self.start = self.log.start_offset

    @rule(cleanly=st.booleans())
    def reopen(self, *, cleanly: bool) -> None:
        """Start again, after a clean end or after a crash."""
        known = LastKnown(
            start_offset=self.log.start_offset,
            recovery_point=self.log.recovery_point,
            was_closed_cleanly=cleanly,
        )
        epochs = self.log._epochs.entries
        if cleanly:
            self.log.close()
        else:
            self.log.abandon()
        self.log = open_log(self.path, known=known, now_ms=NOW_MS, **CONFIG)
        assert self.log._epochs.entries == epochs

    @rule()
    def flush(self) -> None:
        """Sync."""
        self.log.flush()

    @rule(offset=st.integers(0, 60), max_bytes=st.integers(0, 600), bound=st.integers(0, 60))
    def read(self, offset: int, max_bytes: int, bound: int) -> None:
        """Read some, from anywhere to anywhere."""
        content = self.log.read(offset, max_bytes, bound)
        if not self.start <= offset <= self.end:
            assert content is None
            return
        assert content is not None
        bound = min(bound, self.end)
        wanted = [b for b, v in self.batches if b + len(v) > offset and b + len(v) <= bound]
        found = [batch.header.base_offset for batch in batches_in(content)]
        assert found == wanted[: len(found)]
        assert bool(found) == bool(wanted)
        assert len(found) <= 1 or len(content) <= max_bytes

    @invariant()
    def the_log_holds_what_the_list_holds(self) -> None:
        """After every step."""
        assert (self.log.start_offset, self.log.end_offset) == (self.start, self.end)
        assert values_from(self.log) == self.readable()

    def readable(self) -> list[tuple[int, bytes]]:
        """What clients could see."""
        return [
            (base + number, value)
            for base, values in self.batches
            for number, value in enumerate(values)
            if base + number >= self.start
        ]


TestLogAndList = LogAndList.TestCase
TestLogAndList.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
