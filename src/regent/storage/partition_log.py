"""A replica's log on disk: what a leader is sent goes in, what followers and clients ask comes out.

It has the operations of the log that the pure half of a broker works with, under the same names,
for batches in place of values. `admit` decides whether a batch may be stored and changes nothing;
`append` stores it with one write. All this is for one thread, and every call may wait for the disk.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import LeaderEpoch, TopicPartition
from regent.storage.atomic_file import sync_directory
from regent.storage.clock import Clock, wall_clock
from regent.storage.leader_epochs import EndOfEpoch
from regent.storage.log_config import LogConfig
from regent.storage.log_dir import LogDir
from regent.storage.log_loading import LastKnown, load_log, restore_producers
from regent.storage.producer_snapshots import remove_snapshot, snapshot_offsets, write_snapshot
from regent.storage.producers import StoredBatch
from regent.storage.record_batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    Buffer,
    CheckedBatch,
    RecordsRefused,
    check_produced,
    split_batches,
    stamped,
)
from regent.storage.records import records_in
from regent.storage.retention import LogBounds, count_expired
from regent.storage.segment import Segment


def do_nothing() -> None:
    """For logs without checkpoints."""


class OffsetAtTime(Struct, frozen=True, gc=False):
    """The first record that is not older than a time."""

    offset: int
    timestamp: int


class PartitionLog:
    """The records of one replica, from `start_offset` up to and without `end_offset`."""

    def __init__(  # noqa: PLR0913 - what a log knows from the start, each by name
        self,
        log_dir: LogDir,
        name: TopicPartition,
        config: LogConfig,
        *,
        known: LastKnown,
        clock: Clock = wall_clock,
        lower_checkpoints: Callable[[], None] = do_nothing,
    ) -> None:
        self.name = name
        self.log_dir = log_dir
        #: May be exchanged at any time.
        self.config = config
        self.directory = log_dir.path / str(name)
        self._clock = clock
        self._lower_checkpoints = lower_checkpoints
        with log_dir:
            loaded = load_log(self.directory, config, known, clock)
        self._segments = loaded.segments
        self._epochs = loaded.epochs
        self._producers = loaded.producers
        self._start_offset = loaded.start_offset
        self._end_offset = loaded.end_offset
        #: Below this everything is on the disk itself.
        self.recovery_point = loaded.recovery_point
        #: Set from a cut until the producers are known again, which damage can prevent.
        self._must_restore = False
        self._unflushed_count = 0
        self._last_flush_ms = self._segment_since_ms = clock()
        self._has_new_files = True

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""
        return self._start_offset

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""
        return self._end_offset

    @property
    def size_bytes(self) -> int:
        """The bytes of all batches, those before the start offset included."""
        return self._segments.size_bytes

    # --- leader epochs ------------------------------------------------------------------------

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The last leader epoch that began in this log, with or without records."""
        return self._epochs.latest

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> int:
        """Note that a leader starts at the present end, which is returned."""
        with self.log_dir:
            return self._epochs.begin(leader_epoch, self._end_offset)

    def end_offset_for(self, leader_epoch: LeaderEpoch) -> EndOfEpoch:
        """The largest epoch here that is not above the asked one, and where the next began."""
        return self._epochs.end_offset_for(leader_epoch, self._end_offset)

    def epoch_at(self, offset: int) -> LeaderEpoch:
        """Under which leader the record at `offset` was taken, -1 if that is not known."""
        return self._epochs.epoch_at(offset)

    # --- writing ------------------------------------------------------------------------------

    def admit(self, content: Buffer) -> CheckedBatch | StoredBatch | RecordsRefused:
        """What to do with a producer's batch: append it, answer with an older one, or refuse."""
        checked = check_produced(content, self.config.batch_bytes_max)
        if isinstance(checked, RecordsRefused):
            return checked
        header = checked.header
        if header.batch_bytes > self.config.segment_bytes:
            reason = f"the batch has {header.batch_bytes} bytes and does not fit into a segment"
            return RecordsRefused(ErrorCode.RECORD_LIST_TOO_LARGE, reason)
        if header.producer_id == NO_PRODUCER_ID:
            return checked
        return self._producers.known(header) or self._producers.refusal(header) or checked

    def knows_producer(self, producer_id: int) -> bool:
        """Whether it can be told what comes next from that producer."""
        return producer_id in self._producers.states

    def append(self, leader_epoch: LeaderEpoch, batches: Iterable[CheckedBatch]) -> int:
        """Store admitted batches as the leader; the offset of the first record is returned."""
        first_offset = self._end_offset
        with self.log_dir:
            for batch in batches:
                self._append(leader_epoch, batch)
            self._flush_if_many()
        return first_offset

    def append_entries(self, content: Buffer) -> RecordsRefused | None:
        """Store what the leader sent, as a follower: as it is, and all of it or nothing."""
        headers: list[BatchHeader] = []
        expected_offset = self._end_offset
        for each in split_batches(content):
            if isinstance(each, RecordsRefused):
                return each
            header = each.header
            if header.base_offset < expected_offset and not self._can_begin_with(headers, header):
                reason = f"offset {header.base_offset} was sent, and {expected_offset} is next"
                return RecordsRefused(ErrorCode.INVALID_RECORD, reason)
            headers.append(header)
            expected_offset = header.next_offset
        with self.log_dir:
            self._append_replicated(memoryview(content), headers)
            self._flush_if_many()
        return None

    def truncate_to(self, offset: int) -> None:
        """Forget every record and every epoch that began at or above `offset`.

        A batch with records on both sides goes as a whole: the leader will send it again.
        """
        with self.log_dir:
            if offset < self._segments.first.base_offset:
                self._start_again(offset)
                return
            if offset < self._end_offset:
                self._cut(offset)
            if self._must_restore:
                restore_producers(self._segments, self._producers, self._end_offset)
                self._must_restore = False
            self._epochs.forget_from(min(offset, self._end_offset))

    def truncate_fully(self, start_offset: int) -> None:
        """Forget everything and go on at `start_offset`, as a follower that fell too far behind."""
        with self.log_dir:
            self._start_again(start_offset)

    # --- reading ------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, end_offset: int | None = None) -> bytes | None:
        """Whole batches from the one with `offset` on, at least one if one ends by `end_offset`.

        None if the offset is out of range. The first batch may begin before the offset.
        """
        if not self._start_offset <= offset <= self._end_offset:
            return None
        end_offset = self._end_offset if end_offset is None else min(end_offset, self._end_offset)
        if offset >= end_offset:
            return b""
        with self.log_dir:
            for segment in self._segments.from_offset(offset):
                content = segment.read(offset, max_bytes, end_offset)
                if content:
                    return content
        return b""

    def offset_for_timestamp(self, timestamp: int) -> OffsetAtTime | None:
        """The first record that is not older; of a compressed batch, the first one of the batch."""
        with self.log_dir:
            for segment in self._segments.from_offset(self._start_offset):
                if segment.max_timestamp >= timestamp:
                    found = segment.batch_not_before(timestamp, self._start_offset)
                    if found is not None:
                        return self._first_not_before(timestamp, CheckedBatch(*found))
        return None

    # --- what goes ----------------------------------------------------------------------------

    def delete_records(self, offset: int, high_watermark: int) -> int | None:
        """Let the log begin at `offset` (-1: all that is committed); its start, None if refused."""
        offset = high_watermark if offset == -1 else offset
        if not 0 <= offset <= min(high_watermark, self._end_offset):
            return None
        self._begin_at(offset)
        return self._start_offset

    def apply_retention(self, high_watermark: int) -> int:
        """Delete the oldest segments that are too old or too much; how many that were.

        Nothing beyond the high watermark goes: followers still need it.
        """
        self._producers.expire(self.config.producer_expiration_ms)
        with self.log_dir:
            bounds = LogBounds(self._start_offset, self._end_offset, high_watermark)
            count = count_expired(self._segments, self.config, bounds, self._clock())
            if count == len(self._segments):
                self._roll(self._end_offset)
            for _ in range(count):
                remove_snapshot(self.directory, self._segments.first.base_offset)
                self._segments.remove_first()
            if count:
                self._begin_at(self._segments.first.base_offset)
        return count

    # --- the disk -----------------------------------------------------------------------------

    def flush(self) -> None:
        """Bring everything onto the disk itself."""
        with self.log_dir:
            self._flush(self._segments)
            self.recovery_point = self._end_offset
            self._unflushed_count = 0
            self._last_flush_ms = self._clock()

    def flush_rolled(self) -> None:
        """Sync the segments that no longer grow, so that a crash costs only the last one."""
        with self.log_dir:
            active = self._segments.active
            if self.recovery_point < active.base_offset:
                self._flush([segment for segment in self._segments if segment is not active])
                self.recovery_point = active.base_offset

    def flush_if_due(self) -> None:
        """Sync if that was promised after some time, and the time has come."""
        if self._unflushed_count and self._clock() - self._last_flush_ms >= self.config.flush_ms:
            self.flush()

    def close(self) -> None:
        """Sync, leave everything as the next start wants it, and let go of the files."""
        try:
            self.flush()
            with self.log_dir:
                self._segments.active.save_indexes()
                self._write_snapshot(self._end_offset)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the files as they are."""
        self._segments.close()

    # --- inside -------------------------------------------------------------------------------

    def _append(self, leader_epoch: LeaderEpoch, batch: CheckedBatch) -> None:
        header, base_offset = batch.header, self._end_offset
        if self._must_roll(0, base_offset, header):
            self._roll(base_offset)
        placed = (base_offset, header)
        self._segments.active.write(stamped(batch, base_offset, leader_epoch), (placed,))
        self._took(leader_epoch, base_offset, header)

    def _append_replicated(self, view: memoryview, headers: Sequence[BatchHeader]) -> None:
        """Write as many batches at a time as the segment takes."""
        if headers and headers[0].base_offset < self._end_offset:
            start_offset = self._start_offset
            self._start_again(headers[0].base_offset)
            self._start_offset = start_offset
        run: list[tuple[int, BatchHeader]] = []
        run_start = position = 0
        for header in headers:
            if self._must_roll(position - run_start, header.base_offset, header):
                self._write_run(view[run_start:position], run)
                self._roll(header.base_offset)
                run, run_start = [], position
            run.append((header.base_offset, header))
            position += header.batch_bytes
        self._write_run(view[run_start:position], run)

    def _write_run(self, view: memoryview, run: Sequence[tuple[int, BatchHeader]]) -> None:
        if run:
            self._segments.active.write((view,), run)
            for base_offset, header in run:
                self._took(LeaderEpoch(header.leader_epoch), base_offset, header)

    def _took(self, leader_epoch: LeaderEpoch, base_offset: int, header: BatchHeader) -> None:
        """A batch is in the file: everything else follows from it."""
        if leader_epoch != self._epochs.latest:
            self._epochs.begin(leader_epoch, base_offset)
        if header.producer_id != NO_PRODUCER_ID:
            self._producers.note(header, base_offset)
        self._end_offset = base_offset + header.last_offset_delta + 1
        self._unflushed_count += header.record_count

    def _can_begin_with(self, before: Sequence[BatchHeader], header: BatchHeader) -> bool:
        """Whether an empty log may begin with a batch that reaches back before its end.

        The leader's log may begin in the middle of a batch, after a deletion of records.
        """
        is_empty = self._start_offset == self._end_offset and not before
        return is_empty and header.next_offset > self._end_offset

    def _must_roll(self, run_bytes: int, base_offset: int, header: BatchHeader) -> bool:
        age_ms = self._clock() - self._segment_since_ms
        return self._segments.is_full_for(self.config, run_bytes, base_offset, header, age_ms)

    def _roll(self, base_offset: int) -> None:
        active = self._segments.active
        if active.size_bytes:
            self._segments.roll(base_offset)
            self._write_snapshot(base_offset)
        elif active.base_offset != base_offset:
            self._segments.remove_last()
            self._segments.add(base_offset)
        self._segment_since_ms = self._clock()
        self._has_new_files = True

    def _write_snapshot(self, offset: int) -> None:
        """Note the producers. Older snapshots stay only where a segment begins.

        Each clean end leaves one within a segment, which nobody needs after the next.
        """
        write_snapshot(self.directory, offset, self._producers)
        needed = {offset, *(segment.base_offset for segment in self._segments)}
        for snapshot_offset in snapshot_offsets(self.directory):
            if snapshot_offset not in needed:
                remove_snapshot(self.directory, snapshot_offset)

    def _cut(self, offset: int) -> None:
        self._lower(offset)
        for snapshot_offset in snapshot_offsets(self.directory):
            if snapshot_offset > offset:
                remove_snapshot(self.directory, snapshot_offset)
        while self._segments.active.base_offset > offset:
            self._segments.remove_last()
        active = self._segments.active
        active.cut(active.position_of(offset))
        self._end_offset = active.end_offset
        self._start_offset = min(self._start_offset, self._end_offset)
        self._has_new_files = True
        self._must_restore = bool(self._producers.states)

    def _start_again(self, base_offset: int) -> None:
        self._lower(base_offset)
        self._epochs.forget_from(0)
        self._producers.clear()
        self._must_restore = False
        for snapshot_offset in snapshot_offsets(self.directory):
            remove_snapshot(self.directory, snapshot_offset)
        while len(self._segments):
            self._segments.remove_last()
        self._segments.add(base_offset)
        self._start_offset = self._end_offset = base_offset
        self._has_new_files = True

    def _lower(self, offset: int) -> None:
        """Trust the log less before it changes: what comes after `offset` will not be on disk.

        Nor may it be taken for deleted, if the log began later until now.
        """
        if offset < max(self.recovery_point, self._start_offset):
            self.recovery_point = min(self.recovery_point, offset)
            self._start_offset = min(self._start_offset, offset)
            self._lower_checkpoints()

    def _begin_at(self, offset: int) -> None:
        if offset > self._start_offset:
            self._start_offset = offset
            with self.log_dir:
                self._epochs.forget_before(offset)

    def _first_not_before(self, timestamp: int, batch: CheckedBatch) -> OffsetAtTime:
        for record in records_in(batch):
            if record.timestamp >= timestamp and record.offset >= self._start_offset:
                return OffsetAtTime(record.offset, record.timestamp)
        header = batch.header
        return OffsetAtTime(max(header.base_offset, self._start_offset), header.max_timestamp)

    def _flush_if_many(self) -> None:
        if self._unflushed_count >= self.config.flush_messages:
            self.flush()

    def _flush(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            segment.sync()
        if self._has_new_files:
            sync_directory(self.directory)
            self._has_new_files = False
        if self._epochs.is_dirty:
            self._epochs.save()
