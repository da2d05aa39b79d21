"""A replica's log, and the disk it lives on.

The log knows at which offset each leader epoch began; that is all a follower needs to find where
its history parts from the leader's. The broker is written against the two protocols. The twins in
memory are the simulator's disk: a `MemoryLogDirectory` outlives the broker object that used it,
just as files outlive a process.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from regent.model.ids import LeaderEpoch, TopicPartition

#: A record; for a log on disk, record batches as they came, or one that was checked.
Value: TypeAlias = str | int | bytes | bytearray | memoryview | Struct

#: What a log without any epoch answers: it cannot say where anything ends.
UNKNOWN_EPOCH = LeaderEpoch(-1)
UNKNOWN_OFFSET = -1


class LogEntry(Struct, frozen=True, gc=False):
    """One record, stamped with the epoch of the leader that took it."""

    leader_epoch: LeaderEpoch
    value: Value


def weight_of(entry: LogEntry) -> int:
    """In the unit of all limits: bytes on disk, entries in memory."""
    return len(entry.value) if isinstance(entry.value, bytes | bytearray | memoryview) else 1


class EpochEnd(NamedTuple):
    """Up to which offset, exclusive, a log agrees with the history of a leader epoch."""

    leader_epoch: LeaderEpoch
    end_offset: int


class ReplicaLog(Protocol):
    """The records of one replica, from `start_offset` up to and without `end_offset`."""

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets (LEO)."""

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The last leader epoch that began in this log, with or without records."""

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> int:
        """Note that a leader starts at the present end, which is returned."""

    def append(self, leader_epoch: LeaderEpoch, values: Iterable[Value]) -> int:
        """Add records as the leader; the offset of the first is returned."""

    def append_entries(self, entries: Sequence[LogEntry]) -> bool:
        """Add records as a follower, with the epochs that the leader stamped on them.

        False if they are damaged or do not fit; then none is added.
        """

    def read(self, offset: int, limit: int) -> tuple[LogEntry, ...]:
        """So much from `offset` on: records in memory, bytes on disk, and always something."""

    def truncate_to(self, offset: int) -> None:
        """Forget every record and every epoch that began at or above `offset`."""

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on at `offset`: the leader has nothing older any more."""

    def begin_at(self, offset: int) -> None:
        """Let the log begin no earlier than there, as the leader's does."""

    def end_offset_for(self, leader_epoch: LeaderEpoch) -> EpochEnd:
        """The largest epoch here that is not above the asked one, and where the next began."""


class LogDirectory(Protocol):
    """The logs of one broker, and the high watermarks as of the last checkpoint."""

    @property
    def failed(self) -> bool:
        """Whether the disk is offline: nothing on it may be read or written."""

    def is_offline(self, name: TopicPartition) -> bool:
        """Whether this very log, if it is there, may be neither read nor written."""

    def open(self, name: TopicPartition) -> ReplicaLog:
        """The partition's log, made empty if it is not there."""

    def has(self, name: TopicPartition) -> bool:
        """Whether there is a log of that name."""

    def delete(self, name: TopicPartition) -> None:
        """Remove the log and its checkpoint; one that is not there is no error."""

    def topic_id(self, name: TopicPartition) -> str | None:
        """Of which topic the log is, if that was ever noted."""

    def note_topic_id(self, name: TopicPartition, topic_id: str) -> None:
        """Of which topic the log is, which must be there."""

    def set_aside(self, name: TopicPartition) -> None:
        """Make room for another log of that name; this one is of a topic that is gone."""

    def names(self) -> tuple[TopicPartition, ...]:
        """All logs on this disk, in order."""

    def high_watermark(self, name: TopicPartition) -> int:
        """The last checkpoint, or 0, which is always safe."""

    def checkpoint(self, name: TopicPartition, high_watermark: int) -> None:
        """Remember how far the partition was committed."""


class MemoryLog:
    """A log in a list, with the start offsets of its epochs beside it.

    Both epoch lists grow together and strictly: an epoch that got no record before the next one
    began at the same offset leaves no trace, as in Kafka's leader-epoch cache.
    """

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []
        self._epochs: list[LeaderEpoch] = []
        self._epoch_starts: list[int] = []

    @property
    def start_offset(self) -> int:
        """Always 0: retention is not modelled."""
        return 0

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return len(self._entries)

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The last epoch noted, or None in a log that never had one."""
        return self._epochs[-1] if self._epochs else None

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> int:
        """Note the epoch at the present end; entries that contradict it make room."""
        start = len(self._entries)
        if self._epochs and self._epochs[-1] == leader_epoch:
            return self._epoch_starts[-1]
        while self._epochs and (self._epochs[-1] > leader_epoch or self._epoch_starts[-1] >= start):
            self._epochs.pop()
            self._epoch_starts.pop()
        self._epochs.append(leader_epoch)
        self._epoch_starts.append(start)
        return start

    def append(self, leader_epoch: LeaderEpoch, values: Iterable[Value]) -> int:
        """Add records of the leader's own epoch."""
        first = len(self._entries)
        self.append_entries([LogEntry(leader_epoch, value) for value in values])
        return first

    def append_entries(self, entries: Sequence[LogEntry]) -> bool:
        """Add records, noting each epoch where its first record lands."""
        for entry in entries:
            if not self._epochs or self._epochs[-1] != entry.leader_epoch:
                self.begin_epoch(entry.leader_epoch)
            self._entries.append(entry)
        return True

    def read(self, offset: int, limit: int) -> tuple[LogEntry, ...]:
        """A slice; empty at or above the end."""
        return tuple(self._entries[offset : offset + limit])

    def truncate_to(self, offset: int) -> None:
        """Drop the tail, and the epochs that began in it.

        An epoch that began at the very end goes even when no record does: it may be one that
        the leader never had.
        """
        del self._entries[offset:]
        while self._epoch_starts and self._epoch_starts[-1] >= offset:
            self._epochs.pop()
            self._epoch_starts.pop()

    def restart_at(self, offset: int) -> None:
        """Never asked for: every log in memory begins at 0."""
        assert offset == 0, "retention is not modelled"
        self.truncate_to(0)

    def begin_at(self, offset: int) -> None:
        """Nothing ever goes."""
        assert offset == 0, "retention is not modelled"

    def end_offset_for(self, leader_epoch: LeaderEpoch) -> EpochEnd:
        """As Kafka's cache answers; an epoch before all known ones ends where the first begins."""
        if not self._epochs:
            return EpochEnd(UNKNOWN_EPOCH, UNKNOWN_OFFSET)
        end = len(self._entries)
        # From the end, because followers ask about recent epochs.
        for known, start in zip(reversed(self._epochs), reversed(self._epoch_starts), strict=True):
            if known <= leader_epoch:
                return EpochEnd(known, end)
            end = start
        return EpochEnd(leader_epoch, end)


class MemoryLogDirectory:
    """A disk in memory. It can be lost (`wipe`) and it can fail (`failed`)."""

    def __init__(self) -> None:
        self.failed = False
        self._logs: dict[TopicPartition, MemoryLog] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._topic_ids: dict[TopicPartition, str] = {}

    def is_offline(self, _name: TopicPartition) -> bool:
        """One disk, one fate."""
        return self.failed

    def open(self, name: TopicPartition) -> MemoryLog:
        """The log of that name, new if need be."""
        return self._logs.setdefault(name, MemoryLog())

    def has(self, name: TopicPartition) -> bool:
        """Whether there is a log of that name."""
        return name in self._logs

    def delete(self, name: TopicPartition) -> None:
        """Remove the log and its checkpoint."""
        self._logs.pop(name, None)
        self._high_watermarks.pop(name, None)
        self._topic_ids.pop(name, None)

    def topic_id(self, name: TopicPartition) -> str | None:
        """As it was noted."""
        return self._topic_ids.get(name)

    def note_topic_id(self, name: TopicPartition, topic_id: str) -> None:
        """Outlives the broker, like the log."""
        self._topic_ids[name] = topic_id

    def set_aside(self, name: TopicPartition) -> None:
        """Nobody looks at it here."""
        self.delete(name)

    def names(self) -> tuple[TopicPartition, ...]:
        """All logs, sorted."""
        return tuple(sorted(self._logs))

    def high_watermark(self, name: TopicPartition) -> int:
        """The last checkpoint, or 0."""
        return self._high_watermarks.get(name, 0)

    def checkpoint(self, name: TopicPartition, high_watermark: int) -> None:
        """Remember how far the partition was committed."""
        self._high_watermarks[name] = high_watermark

    def wipe(self) -> None:
        """Lose everything, as when a disk is replaced."""
        self._logs.clear()
        self._high_watermarks.clear()
        self._topic_ids.clear()
