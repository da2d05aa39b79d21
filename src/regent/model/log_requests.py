"""What is asked about logs rather than about records: offsets, epochs, sizes, and where to begin.

The contents of ListOffsets, OffsetForLeaderEpoch, DeleteRecords and DescribeLogDirs.
"""

from typing import Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition

#: Times that no record has, and what they ask for.
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
#: Whoever asks about offsets and is no replica.
NO_REPLICA_ID: Final = BrokerId(-1)
#: Whoever asks about epochs and is no replica.
DEBUGGING_REPLICA_ID: Final = BrokerId(-2)
UNKNOWN_SIZE: Final = -1
_NO_EPOCH: Final = LeaderEpoch(-1)
_NO_OFFSET: Final = -1

# --- ListOffsets --------------------------------------------------------------------------------


class OffsetQuestion(Struct, frozen=True):
    """Asks which is the first record of one partition at or after a time."""

    name: TopicPartition
    #: Milliseconds, or `LATEST_TIMESTAMP`, or `EARLIEST_TIMESTAMP`.
    timestamp: int
    current_leader_epoch: LeaderEpoch = _NO_EPOCH


class ListOffsets(Struct, frozen=True):
    """Find offsets by time."""

    questions: tuple[OffsetQuestion, ...]
    replica_id: BrokerId = NO_REPLICA_ID
    isolation_level: int = 0


class FoundOffset(Struct, frozen=True):
    """One partition's answer; without an offset there is no such record."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    timestamp: int = -1
    offset: int = _NO_OFFSET
    leader_epoch: LeaderEpoch = _NO_EPOCH


class ListOffsetsAnswer(Struct, frozen=True):
    """One answer to each question."""

    offsets: tuple[FoundOffset, ...] = ()


# --- OffsetForLeaderEpoch -----------------------------------------------------------------------


class LeaderEpochQuestion(Struct, frozen=True):
    """Asks where an epoch ends in the log of whoever leads in `current_leader_epoch`."""

    name: TopicPartition
    current_leader_epoch: LeaderEpoch
    asked_epoch: LeaderEpoch


class OffsetForLeaderEpoch(Struct, frozen=True):
    """Asked by replicas before they cut, and by consumers that want to know of a cut."""

    questions: tuple[LeaderEpochQuestion, ...]
    replica_id: BrokerId = DEBUGGING_REPLICA_ID


class LeaderEpochEnd(Struct, frozen=True):
    """The largest epoch at or below the asked one, and where it ends."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    leader_epoch: LeaderEpoch = _NO_EPOCH
    end_offset: int = _NO_OFFSET


class OffsetForLeaderEpochAnswer(Struct, frozen=True):
    """One answer to each question."""

    ends: tuple[LeaderEpochEnd, ...] = ()


# --- DeleteRecords ------------------------------------------------------------------------------


class RecordsToDelete(Struct, frozen=True):
    """All records of one partition before an offset; -1 stands for the high watermark."""

    name: TopicPartition
    before_offset: int


class DeleteRecords(Struct, frozen=True):
    """Let logs begin later."""

    targets: tuple[RecordsToDelete, ...]


class RecordsDeleted(Struct, frozen=True):
    """Where the logs of all replicas of one partition begin now."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    low_watermark: int = _NO_OFFSET


class DeleteRecordsAnswer(Struct, frozen=True):
    """One result for each partition."""

    results: tuple[RecordsDeleted, ...] = ()


# --- DescribeLogDirs ----------------------------------------------------------------------------


class DescribeLogDirs(Struct, frozen=True):
    """Say how large the logs of these partitions are, or with None of all."""

    partitions: tuple[TopicPartition, ...] | None = None


class LogSize(Struct, frozen=True):
    """One log in one directory."""

    name: TopicPartition
    size_bytes: int
    #: How far it is behind the high watermark.
    offset_lag: int = 0
    #: It is a copy in the making that will replace the log in another directory.
    is_future: bool = False


class LogDirDescription(Struct, frozen=True):
    """One directory: its logs, or why they cannot be told."""

    path: str
    error: ErrorCode = ErrorCode.NONE
    logs: tuple[LogSize, ...] = ()
    total_bytes: int = UNKNOWN_SIZE
    usable_bytes: int = UNKNOWN_SIZE


class DescribeLogDirsAnswer(Struct, frozen=True):
    """All directories of a broker, or one error for all."""

    error: ErrorCode = ErrorCode.NONE
    log_dirs: tuple[LogDirDescription, ...] = ()
