"""START HERE. The coordinator of consumer groups, without clock, log or network.

Inputs are method calls that carry the time, which never goes back; outputs are effects, which the
shell takes with `take_effects` after every call and carries out in order. Every request ends in
one `AnswerGroupRequest`, at once or later. What must survive is appended to the offsets topic
first, and takes hold when `appended` confirms it. A crash is the loss of this object: the next
leader of the partition loads the same groups from the records.

The room:

    group_coordinator   where each input goes
    group_states        the states, the moves, and what each state says to whom: tables
    group, group_member one group and its members: arithmetic
    joining, syncing, leaving, rebalancing
                        the classic group protocol
    offset_requests, committed_offsets
                        offsets, stored and under way
    group_removal       deletion and expiry
    group_views         list and describe
    offsets_records, record_bytes, subscriptions
                        bytes
    loaded_partitions, partition_load, offsets_partitions
                        which groups are ours, and how they come back
    group_outbox, group_effects, pending_appends
                        the way out, and who waits for the log
"""

from collections.abc import Container, Iterable
from typing import Final, assert_never

from regent.broker.broker_config import NEVER_MS
from regent.broker.groups.group import Group
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_effects import (
    GroupEffect,
    GroupRecord,
    ReportUnreadableRecord,
    SetGroupTimer,
)
from regent.broker.groups.group_member import GroupCaller
from regent.broker.groups.group_outbox import GROUP_TIMER, GroupOutbox
from regent.broker.groups.group_refusals import (
    NAMELESS_ALLOWED,
    WHILE_LOADING,
    KnownGroupRequest,
    OneGroupRequest,
    refuse,
    unknown_group,
)
from regent.broker.groups.group_removal import GroupRemoval
from regent.broker.groups.group_states import DEAD
from regent.broker.groups.group_views import describe_group, list_groups
from regent.broker.groups.joining import Joiner, Joining
from regent.broker.groups.leaving import leave
from regent.broker.groups.loaded_partitions import LoadedPartitions
from regent.broker.groups.offset_requests import OffsetRequests, fetch
from regent.broker.groups.pending_appends import (
    PendingAssignment,
    PendingCommit,
    PendingDeletion,
    PendingEmptyGroup,
    PendingForgetting,
    PendingStaticMember,
)
from regent.broker.groups.rebalancing import Rebalancing
from regent.broker.groups.syncing import Syncing
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    NO_MEMBER_ID,
    DeleteGroups,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsAnswer,
    GroupHeartbeat,
    GroupRequest,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
)
from regent.model.ids import LeaderEpoch, TopicPartition

#: The name of the timer that looks for offsets whose time is over.
EXPIRY_TIMER: Final = "offsets expiry"


class GroupCoordinator:
    """All groups of one broker."""

    def __init__(self, config: GroupConfig, partition_count: int) -> None:
        self.partitions = LoadedPartitions(partition_count)
        self._config = config
        self._outbox = GroupOutbox()
        self._rebalancing = Rebalancing(config, self._outbox)
        self._joining = Joining(config, self._outbox, self._rebalancing)
        self._syncing = Syncing(self._outbox, self._rebalancing)
        self._offset_requests = OffsetRequests(config, self._outbox)
        self._removal = GroupRemoval(config, self._outbox, self.partitions, self._offset_requests)
        self._is_expiry_armed = False

    def take_effects(self) -> list[GroupEffect]:
        """What is to be done, in order; each effect is given out once."""
        effects = self._outbox.effects.copy()
        self._outbox.effects.clear()
        return effects

    # --- from clients -------------------------------------------------------------------------

    def request(
        self, request_id: int, request: GroupRequest, caller: GroupCaller, now_ms: int
    ) -> None:
        """Take a request; its id comes back with the answer and must not be in use."""
        match request:
            case ListGroups():
                is_loading = bool(self.partitions.loading)
                answer = list_groups(self.partitions.groups(), is_loading=is_loading)
                self._outbox.answer(request_id, answer)
            case DescribeGroups(group_ids=group_ids):
                described = tuple(self._describe(group_id) for group_id in group_ids)
                self._outbox.answer(request_id, DescribeGroupsAnswer(described))
            case DeleteGroups():
                self._removal.delete(request_id, request, now_ms)
            case _:
                self._request_of_one(request_id, request, caller, now_ms)

    def _request_of_one(
        self, request_id: int, request: OneGroupRequest, caller: GroupCaller, now_ms: int
    ) -> None:
        error = self._refusal(request)
        is_loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if error is not ErrorCode.NONE:
            said = WHILE_LOADING.get(type(request), error) if is_loading else error
            self._outbox.answer(request_id, refuse(request, said))
            return
        group = self.partitions.group(request.group_id)
        match request:
            case JoinGroup():
                self._join(group, Joiner(request_id, request, caller, now_ms))
            case OffsetCommit():
                self._commit(group, request_id, request, now_ms)
            case OffsetFetch():
                self._outbox.answer(request_id, fetch(group, request))
            case _:
                if group is None:
                    self._outbox.answer(request_id, unknown_group(request))
                else:
                    self._request_of_known(group, request_id, request, now_ms)

    def _request_of_known(
        self, group: Group, request_id: int, request: KnownGroupRequest, now_ms: int
    ) -> None:
        match request:
            case SyncGroup():
                self._syncing.sync(group, request_id, request, now_ms)
            case GroupHeartbeat():
                beaten = self._syncing.heartbeat(group, request, now_ms)
                self._outbox.answer(request_id, beaten)
            case LeaveGroup():
                left = leave(group, request, self._rebalancing, now_ms)
                self._outbox.answer(request_id, left)
            case OffsetDelete():
                self._offset_requests.delete(group, request_id, request)

    def _refusal(self, request: OneGroupRequest) -> ErrorCode:
        if not request.group_id and not isinstance(request, NAMELESS_ALLOWED):
            return ErrorCode.INVALID_GROUP_ID
        return self.partitions.refusal(request.group_id)

    def _join(self, group: Group | None, joiner: Joiner) -> None:
        """A first join makes the group; an id from a group that is not there is worth nothing."""
        request, config = joiner.request, self._config
        timeout_ms = request.session_timeout_ms
        if not config.session_timeout_min_ms <= timeout_ms <= config.session_timeout_max_ms:
            answer = refuse(request, ErrorCode.INVALID_SESSION_TIMEOUT)
            self._outbox.answer(joiner.request_id, answer)
        elif group is None and request.member_id != NO_MEMBER_ID:
            answer = refuse(request, ErrorCode.UNKNOWN_MEMBER_ID)
            self._outbox.answer(joiner.request_id, answer)
        else:
            self._joining.join(group or self.partitions.create(request.group_id), joiner)

    def _commit(
        self, group: Group | None, request_id: int, request: OffsetCommit, now_ms: int
    ) -> None:
        """A group that only keeps offsets here begins with its first commit."""
        if group is None and request.generation_id >= 0:
            self._outbox.answer(request_id, refuse(request, ErrorCode.ILLEGAL_GENERATION))
            return
        group = group or self.partitions.create(request.group_id)
        self._offset_requests.commit(group, request_id, request, now_ms)

    def _describe(self, group_id: str) -> DescribedGroup:
        error = self.partitions.refusal(group_id)
        if error is not ErrorCode.NONE:
            return DescribedGroup(group_id=group_id, error=error)
        return describe_group(group_id, self.partitions.group(group_id))

    # --- from the log -------------------------------------------------------------------------

    def appended(self, append_id: int, error: ErrorCode, now_ms: int) -> None:
        """The outcome of an `AppendGroupRecords`: NONE once all in-sync replicas have it."""
        pending = self._outbox.pending.pop(append_id)
        match pending:
            case PendingAssignment():
                self._syncing.assignment_stored(pending, error, now_ms)
            case PendingStaticMember():
                self._joining.place_stored(pending, error, now_ms)
            case PendingCommit():
                self._offset_requests.commit_stored(pending, append_id, error)
            case PendingForgetting():
                self._offset_requests.forgetting_stored(pending, append_id, error)
            case PendingDeletion():
                self._removal.deletion_stored(pending, error, now_ms)
            case PendingEmptyGroup():
                # Should it have failed, the next coordinator times the old members out again.
                pass
            case _:
                assert_never(pending)

    def load_started(self, partition: int, leader_epoch: LeaderEpoch) -> bool:
        """We lead a partition of the offsets topic; until it is read, its groups wait.

        False if there is nothing to read: it is read already, or the order is overtaken.
        """
        return self.partitions.load_started(partition, leader_epoch)

    def load(
        self, partition: int, leader_epoch: LeaderEpoch, records: Iterable[GroupRecord]
    ) -> None:
        """Some records of that partition, in the order of the log, from its first to its end."""
        load = self.partitions.load_of(partition, leader_epoch)
        if load is not None:
            load.add(records)

    def load_finished(self, partition: int, leader_epoch: LeaderEpoch, now_ms: int) -> None:
        """That were all; its groups are ours to speak for, and their members must be heard of."""
        load = self.partitions.load_of(partition, leader_epoch)
        if load is None:
            return
        for reason in load.unreadable:
            self._outbox.effects.append(ReportUnreadableRecord(partition, reason))
        groups = load.groups(now_ms)
        self.partitions.load_finished(partition, groups)
        for group in groups:
            if len(group.members) > self._config.group_size_max:
                self._rebalancing.prepare(group, now_ms)
            self._outbox.arm(group, group.due_ms(), now_ms)
        self._arm_expiry()

    def unload(self, partition: int, leader_epoch: LeaderEpoch | None, now_ms: int) -> None:
        """Another broker leads it (or None: it is deleted); who waits here must look there."""
        for group in self.partitions.unload(partition, leader_epoch):
            for member in group.members.values():
                self._outbox.refuse_waiting_join(
                    member, ErrorCode.NOT_COORDINATOR, member.member_id
                )
                self._outbox.answer_waiting_sync(member, ErrorCode.NOT_COORDINATOR)
            group.move(DEAD, now_ms)

    def partitions_deleted(self, names: Container[TopicPartition], now_ms: int) -> None:
        """Topics are gone, and with them what groups have committed for them."""
        self._removal.topics_deleted(names, now_ms)

    # --- time ---------------------------------------------------------------------------------

    def timer_rang(self, name: str, now_ms: int) -> None:
        """The outcome of a `SetGroupTimer`; too early, or for a gone group, does no harm."""
        if name == EXPIRY_TIMER:
            self._is_expiry_armed = False
            self._removal.expire(now_ms)
            self._arm_expiry()
            return
        group = self.partitions.group(name.removeprefix(GROUP_TIMER))
        if group is None:
            return
        # Also of a dead one: should its deletion fail, it needs timers again.
        group.armed_ms = NEVER_MS
        if group.state is not DEAD:
            self._rebalancing.time_passed(group, now_ms)

    def _arm_expiry(self) -> None:
        if not self._is_expiry_armed:
            self._is_expiry_armed = True
            effect = SetGroupTimer(EXPIRY_TIMER, self._config.expiry_check_ms)
            self._outbox.effects.append(effect)
