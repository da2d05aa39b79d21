"""JoinGroup: who may become a member, under which id, and whether that needs a rebalance.

The answer comes when the next generation begins, except where none is needed. Kafka 3.9,
GroupCoordinator.scala: doNewMemberJoinGroup, doCurrentMemberJoinGroup, updateStaticMember….
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from regent.broker.groups.group import Group
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_member import GroupCaller, GroupMember
from regent.broker.groups.group_outbox import GroupOutbox
from regent.broker.groups.group_states import (
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    STABLE,
    GroupState,
)
from regent.broker.groups.pending_appends import GROUP_APPEND_ERRORS, PendingStaticMember
from regent.broker.groups.rebalancing import Rebalancing, current_generation
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import NO_MEMBER_ID, JoinGroup, JoinGroupAnswer


class Joiner(Struct, frozen=True):
    """One JoinGroup and all that came along with it."""

    request_id: int
    request: JoinGroup
    caller: GroupCaller
    now_ms: int


class Joining:
    """Judges joins; what follows from them is `Rebalancing`'s."""

    def __init__(self, config: GroupConfig, outbox: GroupOutbox, rebalancing: Rebalancing) -> None:
        self._config = config
        self._outbox = outbox
        self._rebalancing = rebalancing

    def join(self, group: Group, joiner: Joiner) -> None:
        """Take a member in, or say why not."""
        member_id = joiner.request.member_id
        if group.state is DEAD:
            self._refuse(joiner, ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id)
        elif not self._has_room(group, member_id):
            if member_id in group.members:
                group.remove(group.members[member_id])
            self._refuse(joiner, ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
        elif not group.supports(joiner.request.protocol_type, joiner.request.protocols):
            self._refuse(joiner, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
        elif member_id == NO_MEMBER_ID:
            self._join_anew(group, joiner)
        else:
            self._join_again(group, joiner)
        self._rebalancing.try_complete(group, joiner.now_ms)

    def _refuse(self, joiner: Joiner, error: ErrorCode, member_id: str) -> None:
        answer = JoinGroupAnswer(error=error, member_id=member_id)
        self._outbox.answer(joiner.request_id, answer)

    def _has_room(self, group: Group, member_id: str) -> bool:
        """While members gather, those count that have come: the last ones are turned away."""
        size_max = self._config.group_size_max
        member = group.members.get(member_id)
        if group.state is PREPARING:
            waiting = sum(each.waiting_join is not None for each in group.members.values())
            return waiting < size_max or (member is not None and member.waiting_join is not None)
        return group.state is EMPTY or member is not None or len(group.members) < size_max

    # --- who has no id yet --------------------------------------------------------------------

    def _join_anew(self, group: Group, joiner: Joiner) -> None:
        request = joiner.request
        member_id = joiner.caller.new_member_id(request.group_instance_id)
        holder_id = group.static_member_id(request.group_instance_id)
        if holder_id is not None:
            self._take_place(group, joiner, group.members[holder_id], member_id)
        elif request.group_instance_id is None and request.needs_known_member:
            until_ms = joiner.now_ms + request.session_timeout_ms
            group.pending_members[member_id] = until_ms
            self._outbox.arm(group, until_ms, joiner.now_ms)
            self._refuse(joiner, ErrorCode.MEMBER_ID_REQUIRED, member_id)
        else:
            self._add(group, joiner, member_id)

    def _add(self, group: Group, joiner: Joiner, member_id: str) -> None:
        request = joiner.request
        member = GroupMember(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=joiner.caller.client_id,
            client_host=joiner.caller.client_host,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            protocols=request.protocols,
            is_new=True,
            deadline_ms=joiner.now_ms + self._config.new_member_join_timeout_ms,
            waiting_join=joiner.request_id,
        )
        if group.state is PREPARING and group.generation_id == 0:
            group.has_newcomer = True
        group.add(member, request.protocol_type)
        self._outbox.arm(group, member.deadline_ms, joiner.now_ms)
        self._rebalancing.prepare(group, joiner.now_ms)

    # --- who has one --------------------------------------------------------------------------

    def _join_again(self, group: Group, joiner: Joiner) -> None:
        request = joiner.request
        if request.member_id in group.pending_members and request.group_instance_id is None:
            self._add(group, joiner, request.member_id)
            return
        error = group.refusal(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            self._refuse(joiner, error, request.member_id)
            return
        member = group.members[request.member_id]
        if NEEDS_REBALANCE[group.state](group, member, request):
            self._update(group, member, joiner)
            self._rebalancing.prepare(group, joiner.now_ms)
        else:
            self._outbox.answer(joiner.request_id, current_generation(group, member))

    def _update(self, group: Group, member: GroupMember, joiner: Joiner) -> None:
        """An earlier join that still waits is one that the client has given up."""
        self._outbox.refuse_waiting_join(
            member, ErrorCode.REBALANCE_IN_PROGRESS, joiner.request.member_id
        )
        group.set_protocols(member, joiner.request.protocols)
        member.session_timeout_ms = joiner.request.session_timeout_ms
        member.rebalance_timeout_ms = joiner.request.rebalance_timeout_ms
        member.waiting_join = joiner.request_id

    # --- a static member that comes back ------------------------------------------------------

    def _take_place(
        self, group: Group, joiner: Joiner, member: GroupMember, member_id: str
    ) -> None:
        """The old id is fenced off; whoever still uses it hears so."""
        leader_id = group.leader_id or NO_MEMBER_ID
        pending = PendingStaticMember(
            group=group,
            generation_id=group.generation_id,
            member=member,
            request_id=joiner.request_id,
            # Kafka: the old id, even if that is its own. It must not take itself for the leader,
            # because what it then assigned would not reach the others of a stable group.
            leader_id=leader_id,
            old_member_id=member.member_id,
            old_protocols=member.protocols,
            old_session_timeout_ms=member.session_timeout_ms,
            old_rebalance_timeout_ms=member.rebalance_timeout_ms,
        )
        self._outbox.refuse_waiting_join(
            member, ErrorCode.FENCED_INSTANCE_ID, pending.old_member_id
        )
        self._outbox.answer_waiting_sync(member, ErrorCode.FENCED_INSTANCE_ID)
        group.rename(member, member_id)
        self._update(group, member, joiner)
        self._rebalancing.heard_of(group, member, joiner.now_ms)
        if group.state is STABLE and group.choose_protocol() == group.protocol_name:
            assignments = {each.member_id: each.assignment for each in group.members.values()}
            self._outbox.append_group(group, assignments, pending)
        else:
            # The leader may be assigning to the old id right now.
            self._rebalancing.prepare(group, joiner.now_ms)

    def place_stored(self, pending: PendingStaticMember, error: ErrorCode, now_ms: int) -> None:
        """The new id is in the log, or the old one stays."""
        group, member = pending.group, pending.member
        is_current = (
            group.state is STABLE
            and group.generation_id == pending.generation_id
            and member.waiting_join == pending.request_id
        )
        if not is_current:
            # A rebalance has taken the join over, or somebody else the place.
            return
        member.waiting_join = None
        self._rebalancing.heard_of(group, member, now_ms)
        if error is ErrorCode.NONE:
            answer = JoinGroupAnswer(
                generation_id=group.generation_id,
                protocol_name=group.protocol_name or "",
                leader_id=pending.leader_id,
                member_id=member.member_id,
            )
        else:
            group.set_protocols(member, pending.old_protocols)
            member.session_timeout_ms = pending.old_session_timeout_ms
            member.rebalance_timeout_ms = pending.old_rebalance_timeout_ms
            group.rename(member, pending.old_member_id)
            answer = JoinGroupAnswer(error=GROUP_APPEND_ERRORS.get(error, error))
        self._outbox.answer(pending.request_id, answer)


# --- when a known member's join needs a rebalance ---------------------------------------------


def always(_group: Group, _member: GroupMember, _request: JoinGroup) -> bool:
    """It waits with the others."""
    return True


def if_changed(_group: Group, member: GroupMember, request: JoinGroup) -> bool:
    """Otherwise it did not hear the first answer, and gets it again."""
    return member.protocols != request.protocols


def if_changed_or_leader(group: Group, member: GroupMember, request: JoinGroup) -> bool:
    """A leader that joins again has seen something that it wants to assign anew."""
    return group.leader_id == member.member_id or if_changed(group, member, request)


_Rule: TypeAlias = Callable[[Group, GroupMember, JoinGroup], bool]

# An empty or dead group has no members that could come here.
NEEDS_REBALANCE: Final[Mapping[GroupState, _Rule]] = {
    PREPARING: always,
    COMPLETING: if_changed,
    STABLE: if_changed_or_leader,
}
