"""From one generation to the next: who is waited for, for how long, and what then begins.

A rebalance is prepared when the members must join again, and it is complete when all have, or when
their time is up. Then a generation begins, and its members have as long again to ask for what the
leader assigns to them.
"""

from typing import Final

from regent.broker.broker_config import NEVER_MS
from regent.broker.groups.group import Group
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_member import GroupMember
from regent.broker.groups.group_outbox import GroupOutbox
from regent.broker.groups.group_states import COMPLETING, EMPTY, PREPARING, STABLE
from regent.broker.groups.pending_appends import PendingEmptyGroup
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import NO_MEMBER_ID, JoinGroupAnswer

#: If only static members are left and none has come back, we look again, but not all the time.
_POSTPONED_MIN_MS: Final = 100


class Rebalancing:
    """What moves groups through their states, but for the last step, which is `syncing`'s."""

    def __init__(self, config: GroupConfig, outbox: GroupOutbox) -> None:
        self._config = config
        self._outbox = outbox

    def prepare(self, group: Group, now_ms: int) -> None:
        """Have everybody join again, unless they are doing so already."""
        if group.state is PREPARING:
            return
        if group.state is COMPLETING:
            self.fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        wait_ms = group.rebalance_timeout_ms()
        group.initial_delay_left_ms = None
        if group.state is EMPTY:
            delay_ms = self._config.initial_rebalance_delay_ms
            group.initial_delay_left_ms = max(wait_ms - delay_ms, 0)
            wait_ms = delay_ms
        group.has_newcomer = False
        group.is_storing = False
        group.sync_deadline_ms = NEVER_MS
        group.move(PREPARING, now_ms)
        self._wait_for_joins(group, wait_ms, now_ms)
        self.try_complete(group, now_ms)

    def try_complete(self, group: Group, now_ms: int) -> None:
        """Begin the next generation if there is nothing to wait for."""
        if group.state is not PREPARING:
            return
        if group.initial_delay_left_ms is not None:
            # A first generation waits its time out: we cannot know who else is coming.
            if now_ms >= group.join_deadline_ms:
                self._joins_are_due(group, now_ms)
        elif group.has_all_joined():
            self._complete(group, now_ms)

    def remove(self, group: Group, member: GroupMember, now_ms: int) -> None:
        """A member left or died; the others share its part."""
        self._outbox.dismiss(member, ErrorCode.UNKNOWN_MEMBER_ID)
        group.remove(member)
        if group.state in (STABLE, COMPLETING):
            self.prepare(group, now_ms)
        else:
            self.try_complete(group, now_ms)

    def fail_syncs(self, group: Group, error: ErrorCode, now_ms: int) -> None:
        """The generation gets no assignment."""
        for member in group.members.values():
            member.assignment = b""
            if self._outbox.answer_waiting_sync(member, error):
                self.heard_of(group, member, now_ms)

    def heard_of(self, group: Group, member: GroupMember, now_ms: int) -> None:
        """A session begins anew, and is watched."""
        member.heard_of(now_ms)
        self._outbox.arm(group, member.deadline_ms, now_ms)

    def time_passed(self, group: Group, now_ms: int) -> None:
        """Do what is due: ids never used, sessions, joins and syncs that did not come."""
        for member_id, until_ms in tuple(group.pending_members.items()):
            if now_ms >= until_ms:
                del group.pending_members[member_id]
        for member in tuple(group.members.values()):
            # One that is removed may begin the next generation, and with it everybody's session.
            if now_ms >= member.session_ends_ms() and group.members.get(member.member_id) is member:
                self.remove(group, member, now_ms)
        if now_ms >= group.join_deadline_ms:
            self._joins_are_due(group, now_ms)
        if now_ms >= group.sync_deadline_ms:
            self._syncs_are_due(group, now_ms)
        self.try_complete(group, now_ms)
        self._outbox.arm(group, group.due_ms(), now_ms)

    # --- deadlines ----------------------------------------------------------------------------

    def _wait_for_joins(self, group: Group, wait_ms: int, now_ms: int) -> None:
        group.join_deadline_ms = now_ms + wait_ms
        self._outbox.arm(group, group.join_deadline_ms, now_ms)

    def _joins_are_due(self, group: Group, now_ms: int) -> None:
        left_ms = group.initial_delay_left_ms
        if left_ms and group.has_newcomer:
            # Where one came while we waited, more may follow.
            delay_ms = min(self._config.initial_rebalance_delay_ms, left_ms)
            group.has_newcomer = False
            group.initial_delay_left_ms = left_ms - delay_ms
            self._wait_for_joins(group, delay_ms, now_ms)
        else:
            self._complete(group, now_ms)

    def _syncs_are_due(self, group: Group, now_ms: int) -> None:
        group.sync_deadline_ms = NEVER_MS
        missing = [group.members[member_id] for member_id in group.pending_syncs]
        for member in missing:
            self._outbox.dismiss(member, ErrorCode.UNKNOWN_MEMBER_ID)
            group.remove(member)
        if missing:
            self.prepare(group, now_ms)

    # --- the next generation ------------------------------------------------------------------

    def _complete(self, group: Group, now_ms: int) -> None:
        for member in tuple(group.members.values()):
            # A static member may be restarting, and keeps its place until its session ends.
            if member.waiting_join is None and member.group_instance_id is None:
                group.remove(member)
        if group.members and not group.elect_joined_leader():
            group.initial_delay_left_ms = None
            wait_ms = max(group.rebalance_timeout_ms(), _POSTPONED_MIN_MS)
            self._wait_for_joins(group, wait_ms, now_ms)
            return
        group.join_deadline_ms = NEVER_MS
        group.generation_id += 1
        if group.members:
            self._begin_generation(group, now_ms)
        else:
            group.protocol_name = None
            group.move(EMPTY, now_ms)
            self._outbox.append_group(group, {}, PendingEmptyGroup(group))

    def _begin_generation(self, group: Group, now_ms: int) -> None:
        group.protocol_name = group.choose_protocol()
        group.move(COMPLETING, now_ms)
        group.sync_deadline_ms = now_ms + group.rebalance_timeout_ms()
        self._outbox.arm(group, group.sync_deadline_ms, now_ms)
        for member in group.members.values():
            if member.waiting_join is not None:
                answer = current_generation(group, member)
                self._outbox.answer(member.waiting_join, answer)
                member.waiting_join = None
            member.is_new = False
            self.heard_of(group, member, now_ms)
            group.pending_syncs[member.member_id] = None


def current_generation(group: Group, member: GroupMember) -> JoinGroupAnswer:
    """What a member hears of the generation it is in."""
    is_leader = group.leader_id == member.member_id
    return JoinGroupAnswer(
        generation_id=group.generation_id,
        protocol_name=group.protocol_name or "",
        leader_id=group.leader_id or NO_MEMBER_ID,
        member_id=member.member_id,
        members=group.joined_members() if is_leader else (),
    )
