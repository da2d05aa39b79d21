"""How records are written and read: Produce and Fetch, asked by clients and by replicas.

The records themselves are bytes that nobody here looks into. They may be a view of a larger buffer,
such as the frame in which they came, and are not copied.
"""

from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition

#: Record batches, one after the other.
Records: TypeAlias = bytes | bytearray | memoryview

#: Stands for the replica where a consumer fetches.
CONSUMER_REPLICA_ID: Final = BrokerId(-1)
#: Stands for an epoch that the caller does not know: nothing is checked.
NO_CURRENT_EPOCH: Final = LeaderEpoch(-1)
UNTOLD_OFFSET: Final = -1
UNTOLD_TIME_MS: Final = -1
#: Of a fetch without a session; a broker that answers with it keeps none.
NO_SESSION_ID: Final = 0
#: Of a fetch that neither continues a session nor wants one.
FINAL_SESSION_EPOCH: Final = -1
INT32_MAX: Final = 2**31 - 1


class Acks(IntEnum):
    """When an append is answered; the numbers are Kafka's. Requests may have others."""

    #: When the ISR has it.
    ALL = -1
    #: Never.
    NONE = 0
    LEADER = 1


class IsolationLevel(IntEnum):
    """How far a reader may see; the numbers are Kafka's. Requests may have others."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


# --- writing ------------------------------------------------------------------------------------


class PartitionRecords(Struct, frozen=True, gc=False):
    """What shall be appended to one partition; None is legal on the wire and nothing else."""

    name: TopicPartition
    records: Records | None


class Produce(Struct, frozen=True):
    """Append records to partitions that the receiver leads."""

    #: One of `Acks`, or whatever a caller sent.
    acks: int
    #: How long to wait for the ISR.
    timeout_ms: int
    partitions: tuple[PartitionRecords, ...]
    transactional_id: str | None = None


class RecordError(Struct, frozen=True, gc=False):
    """What is wrong with one record of a batch that was refused."""

    batch_index: int
    message: str | None = None


class AppendResult(Struct, frozen=True, gc=False):
    """What became of one partition's records."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    base_offset: int = UNTOLD_OFFSET
    #: Told only where the broker stamps the records.
    log_append_time_ms: int = UNTOLD_TIME_MS
    log_start_offset: int = UNTOLD_OFFSET
    record_errors: tuple[RecordError, ...] = ()
    message: str | None = None


class ProduceAnswer(Struct, frozen=True):
    """One result for each partition."""

    results: tuple[AppendResult, ...] = ()


# --- reading ------------------------------------------------------------------------------------


class PartitionToFetch(Struct, frozen=True, gc=False):
    """From where one partition shall be read, and how much of it at most."""

    name: TopicPartition
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: LeaderEpoch = NO_CURRENT_EPOCH
    #: Of the follower's own log.
    log_start_offset: int = UNTOLD_OFFSET


class FetchRecords(Struct, frozen=True):
    """Read from partitions; a session remembers those that a later fetch leaves out."""

    partitions: tuple[PartitionToFetch, ...]
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = INT32_MAX
    replica_id: BrokerId = CONSUMER_REPLICA_ID
    #: One of `IsolationLevel`, or whatever a caller sent.
    isolation_level: int = IsolationLevel.READ_UNCOMMITTED
    session_id: int = NO_SESSION_ID
    session_epoch: int = FINAL_SESSION_EPOCH
    #: The session need not remember these any more.
    forgotten: tuple[TopicPartition, ...] = ()
    rack_id: str = ""


class AbortedTransaction(Struct, frozen=True, gc=False):
    """From this offset on, records of this producer are to be skipped."""

    producer_id: int
    first_offset: int


class FetchedRecords(Struct, frozen=True, gc=False):
    """What was read from one partition, or why nothing was."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = UNTOLD_OFFSET
    last_stable_offset: int = UNTOLD_OFFSET
    log_start_offset: int = UNTOLD_OFFSET
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    preferred_read_replica: BrokerId = CONSUMER_REPLICA_ID
    records: Records | None = b""


class FetchRecordsAnswer(Struct, frozen=True):
    """The partitions asked for, or in a session those with news; or one error for all."""

    error: ErrorCode = ErrorCode.NONE
    session_id: int = NO_SESSION_ID
    partitions: tuple[FetchedRecords, ...] = ()
