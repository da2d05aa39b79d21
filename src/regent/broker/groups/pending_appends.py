"""What waits for an append: for each kind, all that is needed to go on once the outcome is known.

These are values and not callbacks, so that one can look at them. They hold the group itself: if
that has been unloaded meanwhile, and perhaps loaded again, the old one is changed to no effect.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from regent.broker.groups.group import Group
from regent.broker.groups.group_member import GroupMember
from regent.broker.groups.offsets_records import OffsetValue
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import GroupProtocol
from regent.model.ids import TopicPartition


class PendingAssignment(Struct, frozen=True):
    """The leader has assigned; all who wait for it are answered."""

    group: Group
    generation_id: int
    assignments: dict[str, bytes]


class PendingEmptyGroup(Struct, frozen=True):
    """Nobody is left, and nobody waits. If it fails, the old members will be timed out again."""

    group: Group


class PendingStaticMember(Struct, frozen=True, kw_only=True):
    """A static member came back under a new id; with what it had before, in case this fails."""

    group: Group
    generation_id: int
    member: GroupMember
    request_id: int
    #: What its caller hears of the leader: never its own new id.
    leader_id: str
    old_member_id: str
    old_protocols: tuple[GroupProtocol, ...]
    old_session_timeout_ms: int
    old_rebalance_timeout_ms: int


class PendingCommit(Struct, frozen=True, kw_only=True):
    """Offsets, and what the caller hears of each: those with an error are not in the append."""

    group: Group
    request_id: int
    offsets: dict[TopicPartition, OffsetValue]
    verdicts: tuple[tuple[TopicPartition, ErrorCode], ...]


class PendingForgetting(Struct, frozen=True, kw_only=True):
    """Tombstones for some offsets, and the OffsetDelete, if there is one, that asked for them."""

    group: Group
    names: tuple[TopicPartition, ...]
    request_id: int | None = None
    verdicts: tuple[tuple[TopicPartition, ErrorCode], ...] = ()


class DeletionTally(Struct, eq=False):
    """A DeleteGroups, whose groups may lie in several partitions."""

    request_id: int
    #: In the order of the request; None where the outcome is not known yet.
    results: dict[str, ErrorCode | None]


class PendingDeletion(Struct, frozen=True):
    """Tombstones for a whole group, which is dead meanwhile."""

    group: Group
    tally: DeletionTally | None = None


PendingAppend: TypeAlias = (
    PendingAssignment
    | PendingEmptyGroup
    | PendingStaticMember
    | PendingCommit
    | PendingForgetting
    | PendingDeletion
)

_COMMON: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
_TOO_LARGE: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)

#: What callers hear when the log did not take what they wanted stored. Kafka 3.9,
#: GroupMetadataManager.scala: what is not in the table is said as it is.
GROUP_APPEND_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **_COMMON,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}
OFFSET_APPEND_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **_COMMON,
    **dict.fromkeys(_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
}
