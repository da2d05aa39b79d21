"""A coordinator with a log, a clock and timers that a test holds in its hands."""

from regent.broker.groups.group import Group
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_coordinator import GroupCoordinator
from regent.broker.groups.group_effects import (
    AnswerGroupRequest,
    AppendGroupRecords,
    GroupEffect,
    GroupRecord,
    ReportUnreadableRecord,
    SetGroupTimer,
)
from regent.broker.groups.group_member import GroupCaller
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupAnswer,
    GroupHeartbeat,
    GroupHeartbeatAnswer,
    GroupProtocol,
    GroupRequest,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    MemberAssignment,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
    SyncGroup,
    SyncGroupAnswer,
)
from regent.model.ids import LeaderEpoch, TopicPartition

G = "g"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EPOCH = LeaderEpoch(1)
START_MS = 1_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
RANGE = (GroupProtocol("range", b"\x00\x01\x00\x00\x00\x01\x00\x01t"),)
#: Without the wait for more members that an empty group does; tests that want it say so.
AT_ONCE = GroupConfig(initial_rebalance_delay_ms=0)


class Bench:
    """One partition; what is to be appended is confirmed, or refused, at once or held back."""

    def __init__(self, config: GroupConfig = AT_ONCE, log: list[GroupRecord] | None = None) -> None:
        self.now_ms = START_MS
        self.coordinator = GroupCoordinator(config, partition_count=1)
        self.log: list[GroupRecord] = [] if log is None else log
        self.answers: dict[int, GroupAnswer] = {}
        self.timers: dict[str, int] = {}
        self.reports: list[ReportUnreadableRecord] = []
        self.held: list[AppendGroupRecords] = []
        self.holds = False
        self.error = ErrorCode.NONE
        self.requests = 0

    def load(self, leader_epoch: LeaderEpoch = EPOCH) -> "Bench":
        """Read the log, whole."""
        assert self.coordinator.load_started(0, leader_epoch)
        self.coordinator.load(0, leader_epoch, self.log)
        self.coordinator.load_finished(0, leader_epoch, self.now_ms)
        self.carry_out()
        return self

    def group(self, group_id: str = G) -> Group:
        """A group that is there."""
        group = self.coordinator.partitions.group(group_id)
        assert group is not None
        return group

    # --- carrying out -------------------------------------------------------------------------

    def carry_out(self) -> None:
        """Do all that the coordinator wants, and what follows from it."""
        while effects := self.coordinator.take_effects():
            for effect in effects:
                self.do(effect)

    def do(self, effect: GroupEffect) -> None:
        """One thing."""
        match effect:
            case AnswerGroupRequest(request_id=request_id, answer=answer):
                assert request_id not in self.answers, "answered twice"
                assert request_id <= self.requests, "nobody asked"
                self.answers[request_id] = answer
            # In a log nothing overtakes what was appended before.
            case AppendGroupRecords() if self.holds or self.held:
                self.held.append(effect)
            case AppendGroupRecords():
                self.outcome(effect, self.error)
            case SetGroupTimer(name=name, after_ms=after_ms):
                assert after_ms >= 0
                self.timers[name] = self.now_ms + after_ms
            case ReportUnreadableRecord():
                self.reports.append(effect)

    def outcome(self, append: AppendGroupRecords, error: ErrorCode) -> None:
        """Tell what became of an append; what was refused is not in the log."""
        if error is ErrorCode.NONE:
            self.log.extend(append.records)
        self.coordinator.appended(append.append_id, error, self.now_ms)

    def release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """Tell the outcome of all that is held."""
        for _ in range(len(self.held)):
            self.outcome(self.held.pop(0), error)
            self.carry_out()
        while self.held and not self.holds:
            self.outcome(self.held.pop(0), self.error)
            self.carry_out()

    def run_for(self, duration_ms: int) -> None:
        """Let time pass, and timers ring as they come."""
        until_ms = self.now_ms + duration_ms
        while self.timers and min(self.timers.values()) <= until_ms:
            name = min(self.timers, key=self.timers.__getitem__)
            self.now_ms = max(self.now_ms, self.timers.pop(name))
            self.coordinator.timer_rang(name, self.now_ms)
            self.carry_out()
        self.now_ms = until_ms

    # --- asking -------------------------------------------------------------------------------

    def ask(self, request: GroupRequest, client_id: str = "c") -> int:
        """Send a request; the answer, if there is one yet, is in `answers`."""
        self.requests += 1
        caller = GroupCaller(client_id, "/127.0.0.1", f"u{self.requests}")
        self.coordinator.request(self.requests, request, caller, self.now_ms)
        self.carry_out()
        return self.requests

    def told(self, request: GroupRequest) -> GroupAnswer:
        """Send a request that is answered at once."""
        return self.answers[self.ask(request)]

    def join(  # noqa: PLR0913 - each test says what it is about, and nothing else
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: tuple[GroupProtocol, ...] = RANGE,
        known: bool = False,
        rebalance_ms: int = REBALANCE_MS,
        group_id: str = G,
    ) -> int:
        """Join; by default as a client does that knows nothing of version 4."""
        return self.ask(
            JoinGroup(
                group_id=group_id,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=rebalance_ms,
                member_id=member_id,
                group_instance_id=instance,
                protocols=protocols,
                needs_known_member=known,
            )
        )

    def joined(self, request_id: int) -> JoinGroupAnswer:
        """What a join was answered."""
        answer = self.answers[request_id]
        assert isinstance(answer, JoinGroupAnswer)
        return answer

    def sync(
        self, joined: JoinGroupAnswer, *assignments: MemberAssignment, instance: str | None = None
    ) -> int:
        """Ask for one's part, and bring these if one leads."""
        return self.ask(
            SyncGroup(
                group_id=G,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                group_instance_id=instance,
                assignments=assignments,
            )
        )

    def synced(self, request_id: int) -> SyncGroupAnswer:
        """What a sync was answered."""
        answer = self.answers[request_id]
        assert isinstance(answer, SyncGroupAnswer)
        return answer

    def heartbeat(self, joined: JoinGroupAnswer, instance: str | None = None) -> ErrorCode:
        """Whether a member is one."""
        answer = self.told(
            GroupHeartbeat(
                group_id=G,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                group_instance_id=instance,
            )
        )
        assert isinstance(answer, GroupHeartbeatAnswer)
        return answer.error

    def leave(self, *members: LeavingMember) -> LeaveGroupAnswer:
        """Say goodbye."""
        answer = self.told(LeaveGroup(G, members))
        assert isinstance(answer, LeaveGroupAnswer)
        return answer

    def commit(  # noqa: PLR0913 - as above
        self,
        offset: int,
        *,
        member: JoinGroupAnswer | None = None,
        name: TopicPartition = T0,
        metadata: str | None = "",
        retention_ms: int | None = None,
        group_id: str = G,
    ) -> int:
        """Commit one offset, as this member or as nobody."""
        request = OffsetCommit(
            group_id=group_id,
            offsets=(OffsetToCommit(*name, offset, 3, metadata),),
            generation_id=-1 if member is None else member.generation_id,
            member_id="" if member is None else member.member_id,
            retention_ms=retention_ms,
        )
        return self.ask(request)

    def committed(self, request_id: int) -> ErrorCode:
        """What the commit of one offset was answered."""
        answer = self.answers[request_id]
        assert isinstance(answer, OffsetCommitAnswer)
        ((_, error),) = answer.results
        return error

    def offsets(self, group_id: str = G) -> dict[TopicPartition, int]:
        """All that is committed."""
        answer = self.told(OffsetFetch(group_id))
        assert isinstance(answer, OffsetFetchAnswer)
        return {TopicPartition(each.topic, each.partition): each.offset for each in answer.offsets}

    # --- whole stories ------------------------------------------------------------------------

    def stable(self, count: int = 2) -> list[JoinGroupAnswer]:
        """A stable group of so many; the first one leads, and member number n has `part n`."""
        requests = [self.join()]
        members = [self.joined(requests[0]).member_id]
        for _ in range(count - 1):
            # The newcomer has the others join again.
            requests = [self.join(), *(self.join(member_id) for member_id in members)]
            members = [self.joined(each).member_id for each in (*requests[1:], requests[0])]
        answers = sorted(
            (self.joined(each) for each in requests), key=lambda each: members.index(each.member_id)
        )
        parts = [
            MemberAssignment(each.member_id, b"part %d" % number)
            for number, each in enumerate(answers)
        ]
        for each in answers:
            self.sync(each, *(parts if each.member_id == each.leader_id else ()))
        assert self.group().state.value == "Stable"
        return answers
