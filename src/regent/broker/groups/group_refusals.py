"""What each kind of caller hears when its request is not looked at."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from regent.broker.groups.offset_requests import refused_commit
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    FetchedOffset,
    GroupAnswer,
    GroupHeartbeat,
    GroupHeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    LeftMember,
    OffsetCommit,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    SyncGroup,
    SyncGroupAnswer,
)

#: Requests that only make sense if the group is there.
KnownGroupRequest: TypeAlias = SyncGroup | GroupHeartbeat | LeaveGroup | OffsetDelete
#: Requests about one group, whose partition must be led and loaded here.
OneGroupRequest: TypeAlias = JoinGroup | OffsetCommit | OffsetFetch | KnownGroupRequest

#: Whoever only keeps offsets here may do so under the empty name; groups need one.
NAMELESS_ALLOWED: Final = (OffsetCommit, OffsetFetch)

#: Old clients do not know COORDINATOR_LOAD_IN_PROGRESS here. A heartbeat is believed, and whoever
#: waits for an assignment joins again: the rebalance it was part of is forgotten.
WHILE_LOADING: Final[Mapping[type[OneGroupRequest], ErrorCode]] = {
    GroupHeartbeat: ErrorCode.NONE,
    SyncGroup: ErrorCode.REBALANCE_IN_PROGRESS,
}


def refuse(request: OneGroupRequest, error: ErrorCode) -> GroupAnswer:
    """The answer that says nothing but this error."""
    answer: GroupAnswer
    match request:
        case JoinGroup(member_id=member_id):
            answer = JoinGroupAnswer(error=error, member_id=member_id)
        case SyncGroup():
            answer = SyncGroupAnswer(error)
        case GroupHeartbeat():
            answer = GroupHeartbeatAnswer(error)
        case LeaveGroup():
            answer = LeaveGroupAnswer(error)
        case OffsetCommit():
            answer = refused_commit(request, error)
        case OffsetFetch(partitions=names):
            refused = (FetchedOffset(*name, error=error) for name in names or ())
            answer = OffsetFetchAnswer(error, tuple(refused))
        case OffsetDelete():
            answer = OffsetDeleteAnswer(error)
    return answer


def unknown_group(request: KnownGroupRequest) -> GroupAnswer:
    """Nobody is a member of a group that is not there, but to leave it is no error as such."""
    match request:
        case LeaveGroup(members=members):
            error = ErrorCode.UNKNOWN_MEMBER_ID
            left = (LeftMember(each.member_id, each.group_instance_id, error) for each in members)
            return LeaveGroupAnswer(members=tuple(left))
        case OffsetDelete():
            return OffsetDeleteAnswer(ErrorCode.GROUP_ID_NOT_FOUND)
        case SyncGroup() | GroupHeartbeat():
            return refuse(request, ErrorCode.UNKNOWN_MEMBER_ID)
