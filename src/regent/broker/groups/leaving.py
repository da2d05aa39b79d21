"""LeaveGroup: members that go and say so, or that somebody sends away by their instance id."""

from regent.broker.groups.group import Group
from regent.broker.groups.group_states import DEAD
from regent.broker.groups.rebalancing import Rebalancing
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    NO_MEMBER_ID,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    LeftMember,
)


def leave(
    group: Group, request: LeaveGroup, rebalancing: Rebalancing, now_ms: int
) -> LeaveGroupAnswer:
    """Each by itself: one that is not there does not keep the others."""
    if group.state is DEAD:
        return LeaveGroupAnswer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return LeaveGroupAnswer(
        members=tuple(
            LeftMember(
                each.member_id, each.group_instance_id, _go(group, each, rebalancing, now_ms)
            )
            for each in request.members
        )
    )


def _go(group: Group, leaving: LeavingMember, rebalancing: Rebalancing, now_ms: int) -> ErrorCode:
    member_id = leaving.member_id
    if member_id == NO_MEMBER_ID:
        member_id = group.static_member_id(leaving.group_instance_id) or NO_MEMBER_ID
    if member_id in group.pending_members:
        del group.pending_members[member_id]
        rebalancing.try_complete(group, now_ms)
        return ErrorCode.NONE
    error = group.refusal(member_id, leaving.group_instance_id)
    if error is ErrorCode.NONE:
        rebalancing.remove(group, group.members[member_id], now_ms)
    return error
