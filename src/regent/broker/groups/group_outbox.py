"""The way out of a coordinator: effects in order, and who waits for which append."""

from collections.abc import Iterable, Mapping
from typing import Final

from regent.broker.broker_config import NEVER_MS
from regent.broker.groups.group import Group
from regent.broker.groups.group_effects import (
    AnswerGroupRequest,
    AppendGroupRecords,
    GroupEffect,
    GroupRecord,
    SetGroupTimer,
)
from regent.broker.groups.group_member import GroupMember
from regent.broker.groups.offsets_records import GroupKey, write_group, write_key
from regent.broker.groups.pending_appends import PendingAppend
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    NO_MEMBER_ID,
    GroupAnswer,
    JoinGroupAnswer,
    SyncGroupAnswer,
)

#: The timer of a group is named after it; no other name begins like this.
GROUP_TIMER: Final = "group "


class GroupOutbox:
    """One for all parts of a coordinator."""

    def __init__(self) -> None:
        self.effects: list[GroupEffect] = []
        self.pending: dict[int, PendingAppend] = {}
        self._append_id = 0

    def answer(self, request_id: int, answer: GroupAnswer) -> None:
        """Tell a caller."""
        self.effects.append(AnswerGroupRequest(request_id, answer))

    def append(self, partition: int, records: Iterable[GroupRecord], pending: PendingAppend) -> int:
        """Have something stored, and remember who waits for it."""
        self._append_id += 1
        self.pending[self._append_id] = pending
        self.effects.append(AppendGroupRecords(self._append_id, partition, tuple(records)))
        return self._append_id

    def append_group(
        self, group: Group, assignments: Mapping[str, bytes], pending: PendingAppend
    ) -> None:
        """Have a group stored as it is, with these assignments."""
        record = GroupRecord(
            write_key(GroupKey(group.group_id)), write_group(group.to_value(assignments))
        )
        self.append(group.partition, (record,), pending)

    def arm(self, group: Group, at_ms: int, now_ms: int) -> None:
        """Be woken for a group at this time at the latest."""
        if at_ms < group.armed_ms and at_ms != NEVER_MS:
            group.armed_ms = at_ms
            name = GROUP_TIMER + group.group_id
            self.effects.append(SetGroupTimer(name, max(0, at_ms - now_ms)))

    # --- members that wait --------------------------------------------------------------------

    def refuse_waiting_join(self, member: GroupMember, error: ErrorCode, member_id: str) -> None:
        """A join ends without a generation, if there is one that waits."""
        if member.waiting_join is not None:
            self.answer(member.waiting_join, JoinGroupAnswer(error=error, member_id=member_id))
            member.waiting_join = None

    def answer_waiting_sync(
        self, member: GroupMember, error: ErrorCode, assignment: bytes = b""
    ) -> bool:
        """A sync ends, if there is one that waits; says whether there was."""
        if member.waiting_sync is None:
            return False
        self.answer(member.waiting_sync, SyncGroupAnswer(error, assignment))
        member.waiting_sync = None
        return True

    def dismiss(self, member: GroupMember, error: ErrorCode) -> None:
        """Whatever a member waits for, it waits in vain.

        Kafka forgets the sync of a member that leaves; its caller would wait for ever.
        """
        self.refuse_waiting_join(member, error, NO_MEMBER_ID)
        self.answer_waiting_sync(member, error)
