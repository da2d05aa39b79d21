"""What brokers say to each other about data: where histories part, and what is new.

A follower first asks where the leader's log ends for the follower's last epoch (`EpochQuery`,
Kafka's OffsetForLeaderEpoch), cuts its own, and then fetches. Fetches are incremental, as in
Kafka's fetch sessions: the leader remembers each follower's positions, a request lists only those
that moved, an answer only those with news. Every item carries the leader epoch that the follower
knows, so that neither side is fooled by a message from another leadership.
"""

from msgspec import Struct

from regent.broker.log import UNKNOWN_EPOCH, UNKNOWN_OFFSET, LogEntry
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition


class EpochQuestion(Struct, frozen=True, gc=False):
    """Asks where an epoch ends in the log of whoever leads in `current_leader_epoch`."""

    name: TopicPartition
    current_leader_epoch: LeaderEpoch
    asked_epoch: LeaderEpoch


class EpochQuery(Struct, frozen=True):
    """Questions to one leader about all partitions that have to be cut."""

    replica_id: BrokerId
    query_id: int
    questions: tuple[EpochQuestion, ...]


class EpochReply(Struct, frozen=True, gc=False):
    """The largest epoch at or below the asked one, and where it ends in the leader's log."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    leader_epoch: LeaderEpoch = UNKNOWN_EPOCH
    end_offset: int = UNKNOWN_OFFSET


class EpochQueryAnswer(Struct, frozen=True):
    """A reply to each question."""

    replies: tuple[EpochReply, ...]


class FetchPosition(Struct, frozen=True, gc=False):
    """From here on, please."""

    name: TopicPartition
    current_leader_epoch: LeaderEpoch
    fetch_offset: int


class Fetch(Struct, frozen=True):
    """What changed in a follower's wishes since its last fetch from this leader.

    With `session_epoch` 0 it starts afresh and lists everything.
    """

    replica_id: BrokerId
    #: Unique among this follower's fetches from this leader.
    fetch_id: int
    session_id: int
    session_epoch: int
    positions: tuple[FetchPosition, ...] = ()
    forgotten: tuple[TopicPartition, ...] = ()


class FetchedPartition(Struct, frozen=True):
    """News of one partition: entries, a moved high watermark, or an error."""

    name: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    leader_epoch: LeaderEpoch = UNKNOWN_EPOCH
    #: Where the entries belong; the follower ignores them if its log does not end there.
    fetch_offset: int = UNKNOWN_OFFSET
    high_watermark: int = UNKNOWN_OFFSET
    entries: tuple[LogEntry, ...] = ()
    #: Where the leader's log begins; told with an error, too, if the error is about offsets.
    log_start_offset: int = 0


class FetchAnswer(Struct, frozen=True):
    """The partitions with news; none when the leader only waited long enough."""

    session_id: int
    #: The leader does not know that session (any more): start afresh.
    session_lost: bool = False
    partitions: tuple[FetchedPartition, ...] = ()
