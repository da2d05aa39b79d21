"""SyncGroup and Heartbeat: members ask for their part, and show that they live.

The leader's SyncGroup carries everybody's assignment. It is stored first, and handed out when it is
in the log: a coordinator that takes over knows what was handed out.
"""

from regent.broker.groups.group import Group
from regent.broker.groups.group_outbox import GroupOutbox
from regent.broker.groups.group_states import (
    COMPLETING,
    DEAD,
    HEARTBEAT_VERDICTS,
    STABLE,
    SYNC_VERDICTS,
)
from regent.broker.groups.pending_appends import GROUP_APPEND_ERRORS, PendingAssignment
from regent.broker.groups.rebalancing import Rebalancing
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupHeartbeat,
    GroupHeartbeatAnswer,
    SyncGroup,
    SyncGroupAnswer,
)


class Syncing:
    """From joined to stable."""

    def __init__(self, outbox: GroupOutbox, rebalancing: Rebalancing) -> None:
        self._outbox = outbox
        self._rebalancing = rebalancing

    def heartbeat(self, group: Group, request: GroupHeartbeat, now_ms: int) -> GroupHeartbeatAnswer:
        """A member lives; it hears whether it must join again."""
        error = refusal(group, request)
        if error is ErrorCode.NONE:
            # The timer stands earlier than the new end of the session, and looks again then.
            group.members[request.member_id].heard_of(now_ms)
            error = HEARTBEAT_VERDICTS[group.state]
        return GroupHeartbeatAnswer(error)

    def sync(self, group: Group, request_id: int, request: SyncGroup, now_ms: int) -> None:
        """Hand a member its part, or have it wait for the leader."""
        error = refusal(group, request)
        if error is ErrorCode.NONE:
            error = SYNC_VERDICTS[group.state]
        if error is not ErrorCode.NONE:
            self._outbox.answer(request_id, SyncGroupAnswer(error))
            return
        member = group.members[request.member_id]
        group.pending_syncs.pop(request.member_id, None)
        if group.state is STABLE:
            self._outbox.answer(request_id, SyncGroupAnswer(assignment=member.assignment))
            self._rebalancing.heard_of(group, member, now_ms)
            return
        # One that still waits is one that the client has given up.
        self._outbox.answer_waiting_sync(member, ErrorCode.REBALANCE_IN_PROGRESS)
        member.waiting_sync = request_id
        if group.leader_id == member.member_id and not group.is_storing:
            group.is_storing = True
            assignments = {each.member_id: each.assignment for each in request.assignments}
            pending = PendingAssignment(group, group.generation_id, assignments)
            self._outbox.append_group(group, assignments, pending)

    def assignment_stored(self, pending: PendingAssignment, error: ErrorCode, now_ms: int) -> None:
        """Everybody gets its part, or begins again; too late if a rebalance has begun."""
        group = pending.group
        if group.state is not COMPLETING or group.generation_id != pending.generation_id:
            return
        if error is not ErrorCode.NONE:
            self._rebalancing.fail_syncs(group, GROUP_APPEND_ERRORS.get(error, error), now_ms)
            self._rebalancing.prepare(group, now_ms)
            return
        for member in group.members.values():
            member.assignment = pending.assignments.get(member.member_id, b"")
            if self._outbox.answer_waiting_sync(member, ErrorCode.NONE, member.assignment):
                self._rebalancing.heard_of(group, member, now_ms)
        group.move(STABLE, now_ms)


def refusal(group: Group, request: GroupHeartbeat | SyncGroup) -> ErrorCode:
    """Why the caller is not a member of this generation."""
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = group.refusal(request.member_id, request.group_instance_id)
    if error is ErrorCode.NONE and request.generation_id != group.generation_id:
        error = ErrorCode.ILLEGAL_GENERATION
    return error
