"""What consumers ask of the coordinator of their group, and what it answers.

The contents of Kafka's classic group requests as values; bytes are the business of `wire`. What a
request's version decides stands in the value as a fact: a reader of old versions fills in what
they leave out. Subscriptions and assignments are bytes that only clients understand.
"""

from typing import Final, TypeAlias

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

#: The member id of a first join, and of whoever commits offsets without being a member.
NO_MEMBER_ID: Final = ""
#: The generation of whoever commits offsets without being a member; in answers: none.
NO_GENERATION_ID: Final = -1
#: The answer's offset for a partition in which nothing was ever committed.
NO_OFFSET: Final = -1
#: What is known of the leader's epoch when a client did not say.
NO_COMMITTED_EPOCH: Final = -1

# --- membership -------------------------------------------------------------------------------


class GroupProtocol(Struct, frozen=True):
    """One way of assigning that a member can do, with what it wants (its subscription)."""

    name: str
    metadata: bytes = b""


class JoinGroup(Struct, frozen=True, kw_only=True):
    """Become, or stay, a member of a group; the answer comes when the others have joined too."""

    group_id: str
    session_timeout_ms: int
    #: Version 0 has none: the session timeout stands in.
    rebalance_timeout_ms: int
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None
    protocol_type: str = "consumer"
    #: In the order of the member's preference.
    protocols: tuple[GroupProtocol, ...] = ()
    #: From version 4 on: a first join only fetches an id, so that a retry makes no second member.
    needs_known_member: bool = True


class JoinedMember(Struct, frozen=True):
    """A member as its leader sees it."""

    member_id: str
    group_instance_id: str | None = None
    metadata: bytes = b""


class JoinGroupAnswer(Struct, frozen=True, kw_only=True):
    """The generation that begins. Only the leader learns of the others."""

    error: ErrorCode = ErrorCode.NONE
    generation_id: int = NO_GENERATION_ID
    #: Empty where there is none: versions before 7 cannot say null.
    protocol_name: str = ""
    leader_id: str = NO_MEMBER_ID
    member_id: str = NO_MEMBER_ID
    members: tuple[JoinedMember, ...] = ()


class MemberAssignment(Struct, frozen=True):
    """What the leader gives to one member."""

    member_id: str
    assignment: bytes = b""


class SyncGroup(Struct, frozen=True, kw_only=True):
    """Ask for one's assignment; the leader brings those of all."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    assignments: tuple[MemberAssignment, ...] = ()


class SyncGroupAnswer(Struct, frozen=True):
    """The caller's own assignment."""

    error: ErrorCode = ErrorCode.NONE
    assignment: bytes = b""


class GroupHeartbeat(Struct, frozen=True, kw_only=True):
    """I am alive."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


class GroupHeartbeatAnswer(Struct, frozen=True):
    """REBALANCE_IN_PROGRESS is how members learn that they must join again."""

    error: ErrorCode = ErrorCode.NONE


class LeavingMember(Struct, frozen=True):
    """Who goes; a static member may be named by its instance alone."""

    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None


class LeaveGroup(Struct, frozen=True):
    """Leave at once instead of after the session timeout; before version 3 always one member."""

    group_id: str
    members: tuple[LeavingMember, ...]


class LeftMember(Struct, frozen=True):
    """What became of one of them."""

    member_id: str
    group_instance_id: str | None = None
    error: ErrorCode = ErrorCode.NONE


class LeaveGroupAnswer(Struct, frozen=True):
    """One result for each member, unless the whole request is refused.

    Versions before 3 have only one error: the request's or else that of their one member.
    """

    error: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


# --- offsets ----------------------------------------------------------------------------------


class OffsetToCommit(Struct, frozen=True):
    """How far a group has come in one partition."""

    topic: str
    partition: int
    offset: int
    #: Of the last record that was consumed; before version 6 unknown.
    leader_epoch: int = NO_COMMITTED_EPOCH
    metadata: str | None = ""


class OffsetCommit(Struct, frozen=True, kw_only=True):
    """Remember these offsets, if the caller still is who it was in this generation."""

    group_id: str
    offsets: tuple[OffsetToCommit, ...]
    generation_id: int = NO_GENERATION_ID
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None
    #: Versions 2 to 4 may say how long to keep them; None is the broker's own retention.
    retention_ms: int | None = None


class OffsetCommitAnswer(Struct, frozen=True):
    """One result for each offset, in the order of the request."""

    results: tuple[tuple[TopicPartition, ErrorCode], ...] = ()


class OffsetFetch(Struct, frozen=True):
    """Say how far the group has come in these partitions, or with None in all it knows."""

    group_id: str
    partitions: tuple[TopicPartition, ...] | None = None


class FetchedOffset(Struct, frozen=True):
    """What was committed for one partition; no commit is no error but `NO_OFFSET`."""

    topic: str
    partition: int
    offset: int = NO_OFFSET
    leader_epoch: int = NO_COMMITTED_EPOCH
    metadata: str | None = ""
    error: ErrorCode = ErrorCode.NONE


class OffsetFetchAnswer(Struct, frozen=True):
    """If the request is refused, its partitions carry the error too: version 1 has no other."""

    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


class OffsetDelete(Struct, frozen=True):
    """Forget the offsets of these partitions."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


class OffsetDeleteAnswer(Struct, frozen=True):
    """One result for each partition, unless the whole request is refused."""

    error: ErrorCode = ErrorCode.NONE
    results: tuple[tuple[TopicPartition, ErrorCode], ...] = ()


# --- looking at groups ------------------------------------------------------------------------


class ListGroups(Struct, frozen=True):
    """Say which groups this broker coordinates."""


class ListedGroup(Struct, frozen=True):
    """A group's name and what it is for; its state is not said before version 4."""

    group_id: str
    protocol_type: str = ""
    state: str = ""


class ListGroupsAnswer(Struct, frozen=True):
    """With COORDINATOR_LOAD_IN_PROGRESS the list is true but perhaps not whole."""

    error: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()


class DescribeGroups(Struct, frozen=True):
    """Tell everything about these groups."""

    group_ids: tuple[str, ...]


class DescribedMember(Struct, frozen=True, kw_only=True):
    """Metadata and assignment are empty unless the group is stable."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    metadata: bytes = b""
    assignment: bytes = b""


class DescribedGroup(Struct, frozen=True, kw_only=True):
    """A group that nobody knows is Dead, and that is no error."""

    group_id: str
    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    protocol_type: str = ""
    #: The name of the protocol that was chosen.
    protocol_name: str = ""
    members: tuple[DescribedMember, ...] = ()


class DescribeGroupsAnswer(Struct, frozen=True):
    """One description for each group asked, in the order of the request."""

    groups: tuple[DescribedGroup, ...] = ()


class DeleteGroups(Struct, frozen=True):
    """Forget these groups and their offsets, if they have no members."""

    group_ids: tuple[str, ...]


class DeleteGroupsAnswer(Struct, frozen=True):
    """One result for each group, in the order of the request."""

    results: tuple[tuple[str, ErrorCode], ...] = ()


GroupRequest: TypeAlias = (
    JoinGroup
    | SyncGroup
    | GroupHeartbeat
    | LeaveGroup
    | OffsetCommit
    | OffsetFetch
    | OffsetDelete
    | ListGroups
    | DescribeGroups
    | DeleteGroups
)
GroupAnswer: TypeAlias = (
    JoinGroupAnswer
    | SyncGroupAnswer
    | GroupHeartbeatAnswer
    | LeaveGroupAnswer
    | OffsetCommitAnswer
    | OffsetFetchAnswer
    | OffsetDeleteAnswer
    | ListGroupsAnswer
    | DescribeGroupsAnswer
    | DeleteGroupsAnswer
)
