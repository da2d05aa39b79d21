"""Joins, crashes, lost appends and failovers in any order: what must hold, holds after each step.

No request is answered twice (`Bench` looks) or forgotten; a generation has one leader, and all its
members have their parts from it; offsets do not go back by themselves; and whoever reads the log
finds what the coordinator says.
"""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from regent.broker.broker_config import NEVER_MS
from regent.broker.groups.group import Group
from regent.broker.groups.group_outbox import GROUP_TIMER
from regent.broker.groups.group_states import GroupState
from regent.broker.groups.pending_appends import (
    PendingCommit,
    PendingDeletion,
    PendingForgetting,
)
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DeleteGroups,
    GroupProtocol,
    JoinGroupAnswer,
    LeavingMember,
    MemberAssignment,
    OffsetDelete,
    SyncGroupAnswer,
)
from regent.model.ids import LeaderEpoch, TopicPartition
from tests.unit.broker.groups.bench import T0, T1, Bench, G

CLIENTS = range(6)
#: The last two keep a place of their own.
INSTANCES = (None, None, None, None, "a", "b")
WISHES = (
    (GroupProtocol("range", b"1"), GroupProtocol("sticky", b"1")),
    (GroupProtocol("sticky", b"2"), GroupProtocol("range", b"2")),
    (GroupProtocol("range", b"3"),),
)
REFUSALS = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER)
clients = st.sampled_from(CLIENTS)


class Client:
    """What one process remembers."""

    def __init__(self) -> None:
        self.join_request: int | None = None
        self.wish = 0
        self.member_id = ""


class RandomGroups(RuleBasedStateMachine):
    """One group of six clients; a second one only keeps offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench().load()
        self.clients = [Client() for _ in CLIENTS]
        self.leader_epoch = 1
        #: Which joins and syncs were sent to which life of the group: one that was deleted, or
        #: whose coordinator forgot a rebalance, counts its generations anew.
        self.lives: dict[int, int] = {}
        self.known: list[Group | None] = []
        self.syncs: dict[int, tuple[int, str]] = {}
        self.last_offset = 0
        self.high: dict[tuple[str, TopicPartition], int] = {}

    # --- clients ------------------------------------------------------------------------------

    def life(self) -> int:
        """Which one of the groups of this name is there now."""
        group = self.bench.coordinator.partitions.group(G)
        if not self.known or self.known[-1] is not group:
            self.known.append(group)
        return len(self.known)

    def answer_of(self, client: Client) -> JoinGroupAnswer | None:
        """The generation that a client believes to be in."""
        if client.join_request is None:
            return None
        answer = self.bench.answers.get(client.join_request)
        return answer if isinstance(answer, JoinGroupAnswer) else None

    @rule(number=clients, wish=st.sampled_from(range(len(WISHES))), known=st.booleans())
    def join(self, number: int, wish: int, *, known: bool) -> None:
        """For the first time, or again with what it was told."""
        client = self.clients[number]
        answer = self.answer_of(client)
        if answer is not None:
            client.member_id = answer.member_id
        client.join_request = self.bench.join(
            client.member_id, instance=INSTANCES[number], protocols=WISHES[wish], known=known
        )
        self.lives[client.join_request] = self.life()

    @rule(number=clients)
    def sync(self, number: int) -> None:
        """A leader assigns to each member its name, and what sets this sync apart."""
        answer = self.answer_of(self.clients[number])
        if answer is None or answer.error is not ErrorCode.NONE:
            return
        token = b"%d " % (self.bench.requests + 1)
        parts = [
            MemberAssignment(each.member_id, token + each.member_id.encode())
            for each in answer.members
        ]
        request_id = self.bench.sync(answer, *parts, instance=INSTANCES[number])
        self.lives[request_id] = self.life()
        self.syncs[request_id] = (answer.generation_id, answer.member_id)

    @rule(wish=st.sampled_from(range(len(WISHES))), count=st.sampled_from(CLIENTS))
    def gather(self, wish: int, count: int) -> None:
        """Some behave as clients do: join until all have, and sync."""
        for _ in range(2):
            for number in CLIENTS[: count + 1]:
                answer = self.answer_of(self.clients[number])
                if answer is None or answer.error is not ErrorCode.NONE:
                    self.join(number, wish, known=False)
                elif self.bench.heartbeat(answer, INSTANCES[number]) is not ErrorCode.NONE:
                    self.join(number, wish, known=True)
        for number in CLIENTS[: count + 1]:
            self.sync(number)

    @rule(number=clients)
    def heartbeat(self, number: int) -> None:
        """Of whatever generation."""
        answer = self.answer_of(self.clients[number])
        if answer is not None:
            self.bench.heartbeat(answer, instance=INSTANCES[number])

    @rule(number=clients)
    def leave(self, number: int) -> None:
        """By id, or without one by the place."""
        answer = self.answer_of(self.clients[number])
        member_id = "" if answer is None else answer.member_id
        self.bench.leave(LeavingMember(member_id, INSTANCES[number]))

    @rule(number=clients)
    def crash(self, number: int) -> None:
        """A process that remembers nothing; its request may still wait."""
        self.clients[number] = Client()

    @rule(number=clients, name=st.sampled_from([T0, T1]), alone=st.booleans())
    def commit(self, number: int, name: TopicPartition, *, alone: bool) -> None:
        """Always further than ever before."""
        self.last_offset += 1
        if alone:
            self.bench.commit(self.last_offset, name=name, group_id="h")
        else:
            member = self.answer_of(self.clients[number])
            self.bench.commit(self.last_offset, name=name, member=member)

    @rule(group_id=st.sampled_from([G, "h"]), whole=st.booleans())
    def delete(self, group_id: str, *, whole: bool) -> None:
        """Somebody cleans up."""
        self.bench.ask(DeleteGroups((group_id,)) if whole else OffsetDelete(group_id, (T0,)))
        self.high.clear()

    # --- the world ----------------------------------------------------------------------------

    @rule(duration_ms=st.sampled_from([100, 5_000, 9_000, 30_000, 700_000]))
    def wait(self, duration_ms: int) -> None:
        """Up to longer than any session."""
        self.bench.run_for(duration_ms)

    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, *REFUSALS]), holds=st.booleans())
    def change_the_log(self, error: ErrorCode, *, holds: bool) -> None:
        """It takes what comes, or refuses it, or lets it wait."""
        self.bench.error = error
        self.bench.holds = holds

    @precondition(lambda self: self.bench.held)
    @rule(error=st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, *REFUSALS]))
    def release(self, error: ErrorCode) -> None:
        """What waits for the log hears of it."""
        holds, self.bench.holds = self.bench.holds, False
        self.bench.error = error
        self.bench.release(error)
        self.bench.error = ErrorCode.NONE
        self.bench.holds = holds

    @rule()
    def fail_over(self) -> None:
        """Another coordinator reads the log; here, the same one that has lost everything."""
        self.leader_epoch += 2
        epoch = LeaderEpoch(self.leader_epoch)
        self.bench.coordinator.unload(0, LeaderEpoch(epoch - 1), self.bench.now_ms)
        self.bench.carry_out()
        self.bench.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.bench.load(epoch)

    def teardown(self) -> None:
        """Whoever has waited long enough has an answer, and the group is as good as new."""
        self.bench.holds, self.bench.error = False, ErrorCode.NONE
        self.bench.release()
        self.bench.run_for(1_000_000)

        assert set(self.bench.answers) == set(range(1, self.bench.requests + 1))
        self.bench.sync(self.bench.joined(self.bench.join()))
        assert self.bench.group().state is GroupState.STABLE

    # --- what must hold -----------------------------------------------------------------------

    def groups(self) -> tuple[Group, ...]:
        """All that the coordinator has."""
        return self.bench.coordinator.partitions.groups()

    @invariant()
    def no_request_is_forgotten(self) -> None:
        """Whatever has no answer waits in a member or for the log."""
        waiting = {
            request_id
            for group in self.groups()
            for member in group.members.values()
            for request_id in (member.waiting_join, member.waiting_sync)
        }
        for pending in self.bench.coordinator._outbox.pending.values():
            match pending:
                case (
                    PendingCommit(request_id=request_id) | PendingForgetting(request_id=request_id)
                ):
                    waiting.add(request_id)
                case PendingDeletion(tally=tally) if tally is not None:
                    waiting.add(tally.request_id)
                case _:
                    # Whoever waits for these waits in a member.
                    pass
        unanswered = set(range(1, self.bench.requests + 1)) - set(self.bench.answers)
        assert unanswered == waiting - {None}

    @invariant()
    def a_generation_has_one_leader(self) -> None:
        """Only one member is ever given the list of the others."""
        leaders: dict[tuple[int, int], str] = {}
        for request_id, answer in self.bench.answers.items():
            if isinstance(answer, JoinGroupAnswer) and answer.members:
                reign = (self.lives[request_id], answer.generation_id)
                assert leaders.setdefault(reign, answer.member_id) == answer.member_id
                assert answer.leader_id == answer.member_id

    @invariant()
    def the_parts_of_a_generation_are_of_one_assignment(self) -> None:
        """Whoever has a part has its own, and from the same sync as all the others."""
        tokens: dict[tuple[int, int], bytes] = {}
        for request_id, (generation_id, member_id) in self.syncs.items():
            answer = self.bench.answers.get(request_id)
            if isinstance(answer, SyncGroupAnswer) and answer.assignment:
                token, name = answer.assignment.split(b" ", 1)
                reign = (self.lives[request_id], generation_id)
                assert tokens.setdefault(reign, token) == token
                # A static member may have had another name when it was given its part.
                assert name.split(b"-")[0] == member_id.encode().split(b"-")[0]

    @invariant()
    def groups_agree_with_themselves(self) -> None:
        """Indexes say what the members say; who leads is a member; timers ring in time."""
        for group in self.groups():
            members = group.members.values()
            assert group._support == Counter(n for each in members for n in each.protocol_names())
            places = {m.group_instance_id: m.member_id for m in members if m.group_instance_id}
            assert group._static_ids == places
            assert (group.leader_id in group.members) or (group.leader_id is None and not members)
            assert group.pending_syncs.keys() <= group.members.keys()
            assert all(name == member.member_id for name, member in group.members.items())
            if group.state in (GroupState.EMPTY, GroupState.DEAD):
                assert not group.members
            due_ms = group.due_ms()
            if due_ms != NEVER_MS:
                assert self.bench.timers[GROUP_TIMER + group.group_id] <= due_ms

    @invariant()
    def offsets_do_not_go_back_by_themselves(self) -> None:
        """Everybody commits further than before, so whatever is seen only grows."""
        for group in self.groups():
            for name, value in group.offsets.stored.items():
                key = (group.group_id, name)
                assert value.offset >= self.high.get(key, 0)
                self.high[key] = value.offset

    @invariant()
    def the_log_says_the_same(self) -> None:
        """Offsets always; a stable group if nothing of it is under way."""
        reader = Bench(log=self.bench.log).load()
        for group in self.groups():
            read = reader.coordinator.partitions.group(group.group_id)
            assert group.offsets.stored == ({} if read is None else read.offsets.stored)
            if group.state is GroupState.STABLE and not self.bench.held:
                assert read is not None
                assert as_stored(read) == as_stored(group)


def as_stored(group: Group) -> object:
    """What of a stable group is in the log; when it became stable is only known there roughly."""
    value = group.to_value({each.member_id: each.assignment for each in group.members.values()})
    members = sorted(value.members, key=lambda each: each.member_id)
    return (value.generation_id, value.protocol_name, value.leader_id, members)


TestRandomGroups = RandomGroups.TestCase
TestRandomGroups.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
