"""Batches and logs for tests: only what a test is about needs to be said."""

from pathlib import Path
from typing import Any, Final

from regent.model.ids import LeaderEpoch, TopicPartition
from regent.storage.log_config import LogConfig
from regent.storage.log_dir import LogDir
from regent.storage.log_loading import LastKnown
from regent.storage.partition_log import PartitionLog
from regent.storage.record_batch import CheckedBatch, stamped
from regent.storage.records import batches_in, build_batch, records_in

T0: Final = TopicPartition("orders", 0)
T1: Final = TopicPartition("orders", 1)
E1: Final = LeaderEpoch(1)
E2: Final = LeaderEpoch(2)
NOTHING_KNOWN: Final = LastKnown()


def batch_of(*values: bytes, **options: Any) -> bytes:
    """A producer's batch with these values."""
    return build_batch([(None, value) for value in values], **{"timestamp": 1_000, **options})


def checked(content: bytes) -> CheckedBatch:
    """A batch that needs no admission."""
    (batch,) = batches_in(content)
    return batch


def sent(content: bytes, base_offset: int, leader_epoch: int = 1) -> bytes:
    """The batch as a leader would send it to a follower."""
    return b"".join(stamped(checked(content), base_offset, leader_epoch))


def open_log(
    path: Path, *, known: LastKnown = NOTHING_KNOWN, now_ms: int = 1_000, **config: Any
) -> PartitionLog:
    """The log of T0 under `path`."""
    path.mkdir(exist_ok=True)
    return PartitionLog(LogDir(path), T0, LogConfig(**config), known=known, clock=lambda: now_ms)


def add(log: PartitionLog, *contents: bytes, leader_epoch: LeaderEpoch = E1) -> int:
    """Admit and append batches; the offset of the first record."""
    admitted = []
    for content in contents:
        batch = log.admit(content)
        assert isinstance(batch, CheckedBatch), batch
        admitted.append(batch)
    return log.append(leader_epoch, admitted)


def values_from(log: PartitionLog, offset: int | None = None) -> list[tuple[int, bytes | None]]:
    """Everything that can be read from an offset on, with offsets."""
    offset = log.start_offset if offset is None else offset
    found = []
    while offset < log.end_offset:
        content = log.read(offset, 1)
        if not content:
            break
        for batch in batches_in(content):
            found += [(r.offset, r.value) for r in records_in(batch) if r.offset >= offset]
            offset = batch.header.next_offset
    return found


def segment_files(path: Path) -> list[Path]:
    """The segments of T0's log, oldest first."""
    return sorted((path / str(T0)).glob("*.log"))
