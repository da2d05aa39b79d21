"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup to and from the model; kio has the messages."""

from datetime import timedelta
from typing import Any, Final

from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupHeartbeat,
    GroupHeartbeatAnswer,
    GroupProtocol,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    LeftMember,
    MemberAssignment,
    SyncGroup,
    SyncGroupAnswer,
)
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error, to_milliseconds

#: Since when a first join is sent away with an id, to come back with it (KIP-394).
KNOWN_MEMBERS_SINCE: Final = 4
#: Since when several members may leave at once.
MANY_LEAVE_SINCE: Final = 3


# --- JoinGroup ----------------------------------------------------------------------------------


def join_values(request: JoinGroup) -> Values:
    """The content for all versions."""
    return {
        "group_id": request.group_id,
        "session_timeout": timedelta(milliseconds=request.session_timeout_ms),
        "rebalance_timeout": timedelta(milliseconds=request.rebalance_timeout_ms),
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "protocol_type": request.protocol_type,
        "protocols": [{"name": each.name, "metadata": each.metadata} for each in request.protocols],
    }


def join_from(payload: Any, api_version: int) -> JoinGroup:
    """In version 0 the session timeout was the time to rejoin in, too."""
    rebalance_timeout = getattr(payload, "rebalance_timeout", payload.session_timeout)
    return JoinGroup(
        group_id=payload.group_id,
        session_timeout_ms=to_milliseconds(payload.session_timeout),
        rebalance_timeout_ms=to_milliseconds(rebalance_timeout),
        member_id=payload.member_id,
        group_instance_id=getattr(payload, "group_instance_id", None),
        protocol_type=payload.protocol_type,
        protocols=tuple(GroupProtocol(each.name, each.metadata) for each in payload.protocols),
        needs_known_member=api_version >= KNOWN_MEMBERS_SINCE,
    )


def join_answer_values(answer: JoinGroupAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "generation_id": answer.generation_id,
        "protocol_name": answer.protocol_name,
        "leader": answer.leader_id,
        "member_id": answer.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "metadata": member.metadata,
            }
            for member in answer.members
        ],
    }


def join_answer_from(payload: Any) -> JoinGroupAnswer:
    """What `join_answer_values` wrote."""
    return JoinGroupAnswer(
        error=from_kio_error(payload.error_code),
        generation_id=payload.generation_id,
        protocol_name=payload.protocol_name,
        leader_id=payload.leader,
        member_id=payload.member_id,
        members=tuple(
            JoinedMember(
                member.member_id, getattr(member, "group_instance_id", None), member.metadata
            )
            for member in payload.members
        ),
    )


# --- SyncGroup ----------------------------------------------------------------------------------


def sync_values(request: SyncGroup) -> Values:
    """The content for all versions."""
    return {
        "group_id": request.group_id,
        "generation_id": request.generation_id,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "assignments": [
            {"member_id": each.member_id, "assignment": each.assignment}
            for each in request.assignments
        ],
    }


def sync_from(payload: Any) -> SyncGroup:
    """Static members came with version 3."""
    return SyncGroup(
        group_id=payload.group_id,
        generation_id=payload.generation_id,
        member_id=payload.member_id,
        group_instance_id=getattr(payload, "group_instance_id", None),
        assignments=tuple(
            MemberAssignment(each.member_id, each.assignment) for each in payload.assignments
        ),
    )


def sync_answer_values(answer: SyncGroupAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "assignment": answer.assignment,
    }


def sync_answer_from(payload: Any) -> SyncGroupAnswer:
    """What `sync_answer_values` wrote."""
    return SyncGroupAnswer(from_kio_error(payload.error_code), payload.assignment)


# --- Heartbeat ----------------------------------------------------------------------------------


def heartbeat_values(request: GroupHeartbeat) -> Values:
    """The content for all versions."""
    return {
        "group_id": request.group_id,
        "generation_id": request.generation_id,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
    }


def heartbeat_from(payload: Any) -> GroupHeartbeat:
    """Static members came with version 3."""
    return GroupHeartbeat(
        group_id=payload.group_id,
        generation_id=payload.generation_id,
        member_id=payload.member_id,
        group_instance_id=getattr(payload, "group_instance_id", None),
    )


def heartbeat_answer_values(answer: GroupHeartbeatAnswer) -> Values:
    """The content for all versions."""
    return {"throttle_time": NOT_THROTTLED, "error_code": to_kio_error(answer.error)}


def heartbeat_answer_from(payload: Any) -> GroupHeartbeatAnswer:
    """What `heartbeat_answer_values` wrote."""
    return GroupHeartbeatAnswer(from_kio_error(payload.error_code))


# --- LeaveGroup ---------------------------------------------------------------------------------


def leave_values(request: LeaveGroup, api_version: int) -> Values:
    """The content for all versions; the older ones have one member, known by its id."""
    values: dict[str, Any] = {
        "group_id": request.group_id,
        "members": [
            {"member_id": member.member_id, "group_instance_id": member.group_instance_id}
            for member in request.members
        ],
    }
    if api_version < MANY_LEAVE_SINCE:
        if len(request.members) != 1:
            raise ProtocolError(f"LeaveGroup {api_version} is for one member")
        values["member_id"] = request.members[0].member_id
    return values


def leave_from(payload: Any, api_version: int) -> LeaveGroup:
    """What `leave_values` wrote."""
    if api_version < MANY_LEAVE_SINCE:
        return LeaveGroup(payload.group_id, (LeavingMember(payload.member_id),))
    return LeaveGroup(
        payload.group_id,
        tuple(
            LeavingMember(member.member_id, member.group_instance_id) for member in payload.members
        ),
    )


def leave_answer_values(answer: LeaveGroupAnswer, api_version: int) -> Values:
    """The content for all versions; the older ones have one error for both."""
    error = answer.error
    if api_version < MANY_LEAVE_SINCE and error is ErrorCode.NONE and answer.members:
        error = answer.members[0].error
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(error),
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "error_code": to_kio_error(member.error),
            }
            for member in answer.members
        ],
    }


def leave_answer_from(payload: Any) -> LeaveGroupAnswer:
    """Before version 3 the members are not told."""
    return LeaveGroupAnswer(
        from_kio_error(payload.error_code),
        tuple(
            LeftMember(
                member.member_id, member.group_instance_id, from_kio_error(member.error_code)
            )
            for member in getattr(payload, "members", ())
        ),
    )
