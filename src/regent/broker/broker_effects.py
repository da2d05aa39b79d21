"""What a broker wants done. Effects are carried out in order; answers come back as method calls.

Whatever is sent to another node must end in exactly one call of the method named in its effect,
with None when no answer can come any more (refused, disconnected, timed out). A broker that is
left without that call waits forever: it keeps at most one request of a kind under way.
"""

from typing import TypeAlias

from msgspec import Struct

from regent.broker.replication_requests import EpochQuery, Fetch, FetchAnswer
from regent.model.alter_partition import AlterPartition
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership


class SendEpochQuery(Struct, frozen=True):
    """Ask a leader where histories part; the outcome goes to `epoch_query_answered`."""

    leader_id: BrokerId
    query: EpochQuery


class SendFetch(Struct, frozen=True):
    """Fetch from a leader; the outcome goes to `fetch_answered`."""

    leader_id: BrokerId
    request: Fetch


class AnswerFetch(Struct, frozen=True):
    """Answer a fetch that was parked."""

    replica_id: BrokerId
    fetch_id: int
    answer: FetchAnswer


class AnswerAppend(Struct, frozen=True):
    """Tell a producer what became of its record; the offset is -1 if it was not even taken."""

    request_id: int
    error: ErrorCode
    offset: int


class SendAlterPartition(Struct, frozen=True):
    """Ask the controller for other ISRs; the outcome goes to `alter_partition_answered`."""

    controller_id: BrokerId
    request_id: int
    request: AlterPartition


class WriteIsr(Struct, frozen=True):
    """Write a leadership into the state znode, if that is still at `leadership.zk_version`.

    The outcome goes to `isr_written`, together with this very leadership.
    """

    topic: str
    partition: int
    leadership: Leadership


class AnnounceIsrChanges(Struct, frozen=True):
    """Create one `/isr_change_notification` znode for these partitions. No answer is needed."""

    partitions: tuple[TopicPartition, ...]


BrokerEffect: TypeAlias = (
    SendEpochQuery
    | SendFetch
    | AnswerFetch
    | AnswerAppend
    | SendAlterPartition
    | WriteIsr
    | AnnounceIsrChanges
)
