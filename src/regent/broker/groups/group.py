"""One group: its state, its members and its offsets, with the arithmetic that needs nothing else.

A `Group` changes only itself and tells nobody; the rules of when to change what are in the modules
beside it. Members are kept in the order in which they came, and that decides wherever Kafka leaves
the choice to a hash table.
"""

from collections import Counter
from collections.abc import Mapping

from regent.broker.broker_config import NEVER_MS
from regent.broker.groups.committed_offsets import CommittedOffsets
from regent.broker.groups.group_member import GroupMember
from regent.broker.groups.group_states import EMPTY, GROUP_MOVES, GroupState
from regent.broker.groups.offsets_records import GroupValue, StoredMember
from regent.broker.groups.subscriptions import CONSUMER_PROTOCOL, subscribed_topics
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import GroupProtocol, JoinedMember


class Group:
    """A group that this broker coordinates."""

    def __init__(self, group_id: str, partition: int) -> None:
        self.group_id = group_id
        #: Of the offsets topic.
        self.partition = partition
        self.state = EMPTY
        #: When the state was entered; None if that was under an old version of the records.
        self.state_since_ms: int | None = None
        self.generation_id = 0
        #: None for a group that only keeps offsets here.
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, GroupMember] = {}
        self.offsets = CommittedOffsets()
        #: Ids that were given out and not used yet, and until when they may be.
        self.pending_members: dict[str, int] = {}
        #: Members of this generation that have not asked for their assignment yet.
        self.pending_syncs: dict[str, None] = {}
        #: PREPARING: when those who have not come are given up.
        self.join_deadline_ms = NEVER_MS
        #: PREPARING from EMPTY: how much longer newcomers may put the first generation off.
        self.initial_delay_left_ms: int | None = None
        self.has_newcomer = False
        #: COMPLETING and STABLE: when those who have not synced are given up.
        self.sync_deadline_ms = NEVER_MS
        #: The leader's assignment is on its way into the log.
        self.is_storing = False
        #: When the timer of this group rings; it may ring for nothing, but never too late.
        self.armed_ms = NEVER_MS
        self._static_ids: dict[str, str] = {}
        self._support: Counter[str] = Counter()

    def move(self, target: GroupState, now_ms: int) -> None:
        """Enter a state; the table says from where that is legal."""
        assert (self.state, target) in GROUP_MOVES, f"{self.state} cannot become {target}"
        self.state = target
        self.state_since_ms = now_ms

    # --- members ------------------------------------------------------------------------------

    def add(self, member: GroupMember, protocol_type: str) -> None:
        """One more; the first one leads and says what the group is for."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self._static_ids[member.group_instance_id] = member.member_id
        self._support.update(member.protocol_names())
        self.pending_members.pop(member.member_id, None)

    def remove(self, member: GroupMember) -> None:
        """One less; if it led, whoever came first of the others does now."""
        del self.members[member.member_id]
        if member.group_instance_id is not None:
            del self._static_ids[member.group_instance_id]
        self._support -= Counter(member.protocol_names())
        self.pending_syncs.pop(member.member_id, None)
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def rename(self, member: GroupMember, member_id: str) -> None:
        """A static member goes by another id from now on; leading and all else stays with it."""
        assert member.group_instance_id is not None, "only static members change their ids"
        if self.leader_id == member.member_id:
            self.leader_id = member_id
        del self.members[member.member_id]
        self.pending_syncs.pop(member.member_id, None)
        self.members[member_id] = member
        self._static_ids[member.group_instance_id] = member_id
        member.member_id = member_id

    def set_protocols(self, member: GroupMember, protocols: tuple[GroupProtocol, ...]) -> None:
        """What a member can do, and wants, has changed."""
        self._support -= Counter(member.protocol_names())
        member.protocols = protocols
        self._support.update(member.protocol_names())

    def static_member_id(self, group_instance_id: str | None) -> str | None:
        """Who holds this place now."""
        return None if group_instance_id is None else self._static_ids.get(group_instance_id)

    def refusal(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Why a caller is not the member it says it is; of two with one place the later one is."""
        if group_instance_id is not None:
            current_id = self.static_member_id(group_instance_id)
            if current_id is not None and current_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if current_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def has_all_joined(self) -> bool:
        """Nobody is missing, not even those who only have an id yet."""
        return not self.pending_members and all(
            member.waiting_join is not None for member in self.members.values()
        )

    def rebalance_timeout_ms(self) -> int:
        """The most patient member decides."""
        return max((each.rebalance_timeout_ms for each in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Have a leader that has joined again; False if nobody has."""
        leader = None if self.leader_id is None else self.members.get(self.leader_id)
        if leader is not None and leader.waiting_join is not None:
            return True
        for member in self.members.values():
            if member.waiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    # --- protocols ----------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: tuple[GroupProtocol, ...]) -> bool:
        """Whether someone with these could be a member: all must have one protocol in common."""
        if self.state is EMPTY:
            return bool(protocol_type) and bool(protocols)
        if protocol_type != self.protocol_type:
            return False
        return any(self._support[each.name] == len(self.members) for each in protocols)

    def choose_protocol(self) -> str:
        """Every member votes for the one it likes best of those that all know."""
        count = len(self.members)
        candidates = {name for name, support in self._support.items() if support == count}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        # Of equals, `most_common` takes the one that was voted for first.
        return votes.most_common(1)[0][0]

    def subscribed_topics(self) -> dict[str, None] | None:
        """What the members consume, as far as a coordinator can know."""
        if self.protocol_type != CONSUMER_PROTOCOL or self.protocol_name is None:
            return None
        return subscribed_topics(
            each.metadata(self.protocol_name) for each in self.members.values()
        )

    # --- as others see it ---------------------------------------------------------------------

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """What a leader must know to assign."""
        return tuple(
            JoinedMember(each.member_id, each.group_instance_id, each.metadata(self.protocol_name))
            for each in self.members.values()
        )

    def to_value(self, assignments: Mapping[str, bytes]) -> GroupValue:
        """What of it must survive, with these assignments."""
        return GroupValue(
            protocol_type=self.protocol_type or "",
            generation_id=self.generation_id,
            protocol_name=self.protocol_name,
            leader_id=self.leader_id,
            state_since_ms=self.state_since_ms,
            members=tuple(
                StoredMember(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    rebalance_timeout_ms=each.rebalance_timeout_ms,
                    session_timeout_ms=each.session_timeout_ms,
                    subscription=each.metadata(self.protocol_name),
                    assignment=assignments.get(each.member_id, b""),
                )
                for each in self.members.values()
            ),
        )

    def due_ms(self) -> int:
        """When time itself changes something here."""
        return min(
            self.join_deadline_ms,
            self.sync_deadline_ms,
            *self.pending_members.values(),
            *(member.session_ends_ms() for member in self.members.values()),
        )
