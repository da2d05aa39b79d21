"""Logs on disk as the pure half of a broker wants them: batches for values, bytes for entries."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, cast

from regent.broker.log import EpochEnd, LogEntry, Value
from regent.errors import CorruptLog
from regent.model.ids import LeaderEpoch, TopicPartition
from regent.storage.log_store import LogStore
from regent.storage.partition_log import OffsetAtTime, PartitionLog
from regent.storage.producers import StoredBatch
from regent.storage.record_batch import Buffer, CheckedBatch, RecordsRefused

#: Entries are whole runs of batches, and every batch says by itself whose epoch it is of.
_EPOCH_INSIDE: Final = LeaderEpoch(-1)

logger = logging.getLogger(__name__)


class DiskLog:
    """One replica's log. A leader appends what `admit` let through; a follower, bytes."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._has_told_damage = False

    # --- what the broker's logic asks for -----------------------------------------------------

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""
        return self._log.start_offset

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""
        return self._log.end_offset

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The last leader epoch that began in this log, with or without records."""
        return self._log.latest_epoch

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> int:
        """Note that a leader starts at the present end, which is returned."""
        return self._log.begin_epoch(leader_epoch)

    def append(self, leader_epoch: LeaderEpoch, values: Iterable[Value]) -> int:
        """Store admitted batches; the offset of the first record is returned."""
        return self._log.append(leader_epoch, cast("Iterable[CheckedBatch]", values))

    def append_entries(self, entries: Sequence[LogEntry]) -> bool:
        """Store what the leader sent; False, and nothing stored, if it is damaged."""
        for entry in entries:
            refused = self._log.append_entries(cast("Buffer", entry.value))
            if refused is not None:
                logger.error("%s: the leader sent what is refused: %s", self._log.name, refused)
                return False
        return True

    def read(self, offset: int, limit: int) -> tuple[LogEntry, ...]:
        """All whole batches from `offset` on within so many bytes, as one entry."""
        content = self._read(offset, limit)
        return (LogEntry(_EPOCH_INSIDE, content),) if content else ()

    def truncate_to(self, offset: int) -> None:
        """Forget every record and every epoch that began at or above `offset`."""
        try:
            self._log.truncate_to(offset)
        except CorruptLog as damage:
            self._tell(damage)
            raise

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on at `offset`."""
        logger.warning("%s: all is dropped; it goes on at offset %d", self._log.name, offset)
        self._log.truncate_fully(offset)

    def begin_at(self, offset: int) -> None:
        """Let the log begin no earlier than there."""
        self._log.delete_records(offset, offset)

    def end_offset_for(self, leader_epoch: LeaderEpoch) -> EpochEnd:
        """The largest epoch here that is not above the asked one, and where the next began."""
        end = self._log.end_offset_for(leader_epoch)
        return EpochEnd(end.leader_epoch, end.end_offset)

    # --- what clients ask for -----------------------------------------------------------------

    @property
    def size_bytes(self) -> int:
        """The bytes of all batches."""
        return self._log.size_bytes

    def admit(self, records: Buffer) -> CheckedBatch | StoredBatch | RecordsRefused:
        """What to do with a producer's batch: append it, answer with an older one, or refuse."""
        return self._log.admit(records)

    def knows_producer(self, producer_id: int) -> bool:
        """Whether it can be told what comes next from that producer."""
        return self._log.knows_producer(producer_id)

    def read_committed(self, offset: int, max_bytes: int, high_watermark: int) -> bytes | None:
        """Whole batches below the high watermark; None if the offset is out of range."""
        return self._read(offset, max_bytes, high_watermark)

    def offset_for_timestamp(self, timestamp: int) -> OffsetAtTime | None:
        """The first record that is not older."""
        try:
            return self._log.offset_for_timestamp(timestamp)
        except CorruptLog as damage:
            self._tell(damage)
            raise

    def epoch_at(self, offset: int) -> LeaderEpoch:
        """Under which leader the record at `offset` was taken."""
        return self._log.epoch_at(offset)

    def delete_records(self, offset: int, high_watermark: int) -> int | None:
        """Let the log begin at `offset` (-1: all that is committed); None if refused."""
        return self._log.delete_records(offset, high_watermark)

    # --- inside -------------------------------------------------------------------------------

    def _read(self, offset: int, max_bytes: int, end_offset: int | None = None) -> bytes | None:
        try:
            return self._log.read(offset, max_bytes, end_offset)
        except CorruptLog as damage:
            self._tell(damage)
            raise

    def _tell(self, damage: CorruptLog) -> None:
        """Once: whoever meets it will ask again and again."""
        if not self._has_told_damage:
            self._has_told_damage = True
            logger.error("%s: records cannot be read: %s", self._log.name, damage)


class DiskLogDirectory:
    """The logs of one broker, with names and checkpoints as they are in the store."""

    def __init__(self, store: LogStore, paths: Sequence[Path]) -> None:
        self.store = store
        self.paths = tuple(paths)
        self._logs: dict[TopicPartition, DiskLog] = {}

    @property
    def failed(self) -> bool:
        """Whether no disk is left."""
        return self.store.failed

    def is_offline(self, name: TopicPartition) -> bool:
        """Whether the log is damaged, or its disk is gone."""
        return self.store.is_offline(name)

    def open(self, name: TopicPartition) -> DiskLog:
        """The partition's log, made empty if it is not there."""
        log = self._logs.get(name)
        if log is None:
            log = self._logs[name] = DiskLog(self.store.open(name))
        return log

    def has(self, name: TopicPartition) -> bool:
        """Whether there is a log of that name."""
        return self.store.has(name)

    def delete(self, name: TopicPartition) -> None:
        """Remove the log and its checkpoint."""
        self._logs.pop(name, None)
        self.store.delete(name)

    def topic_id(self, name: TopicPartition) -> str | None:
        """Of which topic the log is, if that was ever noted."""
        return self.store.topic_id(name)

    def note_topic_id(self, name: TopicPartition, topic_id: str) -> None:
        """Of which topic the log is."""
        self.store.note_topic_id(name, topic_id)

    def set_aside(self, name: TopicPartition) -> None:
        """Make room for another log of that name."""
        self._logs.pop(name, None)
        self.store.set_aside(name)

    def names(self) -> tuple[TopicPartition, ...]:
        """All logs, in order."""
        return self.store.names()

    def high_watermark(self, name: TopicPartition) -> int:
        """The last checkpoint, or 0."""
        return self.store.high_watermark(name)

    def checkpoint(self, name: TopicPartition, high_watermark: int) -> None:
        """Remember how far the partition was committed; the store makes it last."""
        self.store.checkpoint(name, high_watermark)
