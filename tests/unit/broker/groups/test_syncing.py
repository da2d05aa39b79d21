"""SyncGroup, Heartbeat and LeaveGroup: assignments handed out, sessions kept, members that go."""

import pytest

from regent.broker.groups.group_states import GROUP_MOVES, GroupState
from regent.broker.groups.offsets_records import read_group
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupProtocol,
    JoinGroupAnswer,
    LeaveGroupAnswer,
    LeavingMember,
    LeftMember,
    MemberAssignment,
    SyncGroupAnswer,
)
from tests.unit.broker.groups.bench import REBALANCE_MS, SESSION_MS, Bench


def rebalanced(bench: Bench) -> tuple[JoinGroupAnswer, JoinGroupAnswer]:
    """A leader and a follower that have joined and not synced."""
    leader_id = bench.joined(bench.join()).member_id
    follower = bench.join()
    leader = bench.join(leader_id)
    return bench.joined(leader), bench.joined(follower)


def test_assignments_are_handed_out_once_the_leader_s_are_in_the_log() -> None:
    """A coordinator that takes over must know what was handed out."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    bench.holds = True
    waiting = bench.sync(follower)
    parts = [MemberAssignment(leader.member_id, b"a"), MemberAssignment(follower.member_id, b"b")]
    leading = bench.sync(leader, *parts)
    assert not {waiting, leading} & bench.answers.keys()
    assert bench.group().state is GroupState.COMPLETING_REBALANCE

    bench.release()

    assert bench.synced(leading) == SyncGroupAnswer(assignment=b"a")
    assert bench.synced(waiting) == SyncGroupAnswer(assignment=b"b")
    assert bench.group().state is GroupState.STABLE


def test_whoever_syncs_late_finds_its_assignment() -> None:
    """The group is stable once the leader has assigned."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    bench.sync(leader, MemberAssignment(follower.member_id, b"b"))

    assert bench.synced(bench.sync(follower)) == SyncGroupAnswer(assignment=b"b")


def test_a_member_that_the_leader_forgot_gets_nothing_and_a_stranger_is_passed_over() -> None:
    """Both are the leader's business."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    waiting = bench.sync(follower)

    bench.sync(leader, MemberAssignment("stranger", b"x"))

    assert bench.synced(waiting) == SyncGroupAnswer()
    assert bench.log[-1].value is not None
    stored = read_group(bench.log[-1].value)
    assert [each.member_id for each in stored.members] == list(bench.group().members)


@pytest.mark.parametrize(
    ("from_log", "said"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REBALANCE_IN_PROGRESS),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_is_given_to_nobody(
    from_log: ErrorCode, said: ErrorCode
) -> None:
    """All who waited hear why, and must join again."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    waiting = bench.sync(follower)
    bench.error = from_log

    leading = bench.sync(leader, MemberAssignment(leader.member_id, b"a"))

    assert bench.synced(waiting) == bench.synced(leading) == SyncGroupAnswer(said)
    assert bench.group().state is GroupState.PREPARING_REBALANCE
    assert bench.group().members[leader.member_id].assignment == b""


def test_an_assignment_that_a_rebalance_overtook_changes_nothing() -> None:
    """It was of a generation that has ended."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    waiting = bench.sync(follower)
    bench.holds = True
    bench.sync(leader, MemberAssignment(follower.member_id, b"b"))

    bench.join()
    bench.release()

    assert bench.synced(waiting) == SyncGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    assert bench.group().state is GroupState.PREPARING_REBALANCE
    bench.join(follower.member_id)
    again = bench.joined(bench.join(leader.member_id))
    bench.sync(again, MemberAssignment(follower.member_id, b"again"))
    bench.release()
    assert bench.group().members[follower.member_id].assignment == b"again"


def test_an_assignment_of_the_last_generation_is_not_taken_for_one_of_this() -> None:
    """The next one has begun and waits for its own."""
    bench = Bench().load()
    first = bench.joined(bench.join())
    bench.holds = True
    bench.sync(first, MemberAssignment(first.member_id, b"old"))
    bench.join(first.member_id, protocols=(GroupProtocol("range", b"x"),))
    assert bench.group().state is GroupState.COMPLETING_REBALANCE

    bench.release()

    assert bench.group().state is GroupState.COMPLETING_REBALANCE


def test_the_time_to_sync_ends_with_the_generation() -> None:
    """Whoever joins the next one has missed nothing."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    for _ in range(REBALANCE_MS // 5_000 - 1):
        bench.heartbeat(leader)
        bench.heartbeat(follower)
        bench.run_for(5_000)
    bench.join()
    waiting = bench.join(leader.member_id)
    bench.heartbeat(follower)

    bench.run_for(5_000)

    assert waiting not in bench.answers
    assert len(bench.group().members) == 3


def test_a_leader_that_syncs_twice_assigns_once() -> None:
    """The log must not have another assignment than the members."""
    bench = Bench().load()
    leader, _ = rebalanced(bench)
    bench.holds = True
    first = bench.sync(leader, MemberAssignment(leader.member_id, b"first"))
    second = bench.sync(leader, MemberAssignment(leader.member_id, b"second"))

    assert len(bench.held) == 1
    bench.release()

    assert bench.synced(first).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.synced(second) == SyncGroupAnswer(assignment=b"first")


def test_whoever_is_not_of_this_generation_hears_so() -> None:
    """An unknown member, an old generation, and a group in between."""
    bench = Bench().load()
    leader, follower = bench.stable(2)

    def said(member_id: str, generation_id: int) -> set[ErrorCode]:
        member = JoinGroupAnswer(member_id=member_id, generation_id=generation_id)
        return {bench.synced(bench.sync(member)).error, bench.heartbeat(member)}

    assert said("ghost", leader.generation_id) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert said(follower.member_id, 1) == {ErrorCode.ILLEGAL_GENERATION}
    assert said(follower.member_id, leader.generation_id) == {ErrorCode.NONE}
    bench.join(leader.member_id)
    assert said(follower.member_id, leader.generation_id) == {ErrorCode.REBALANCE_IN_PROGRESS}


def test_nobody_is_a_member_of_a_group_that_is_not_there() -> None:
    """As Kafka says it to each of them."""
    bench = Bench().load()
    ghost = JoinGroupAnswer(generation_id=1, member_id="ghost")

    assert bench.heartbeat(ghost) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.synced(bench.sync(ghost)) == SyncGroupAnswer(ErrorCode.UNKNOWN_MEMBER_ID)
    left = LeftMember("ghost", None, ErrorCode.UNKNOWN_MEMBER_ID)
    assert bench.leave(LeavingMember("ghost")) == LeaveGroupAnswer(members=(left,))


def test_before_the_assignment_heartbeats_are_fine() -> None:
    """Members send them as soon as they have joined."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)

    assert [bench.heartbeat(each) for each in (leader, follower)] == [ErrorCode.NONE] * 2


# --- sessions ---------------------------------------------------------------------------------


def test_a_member_that_falls_silent_is_dropped_and_the_others_share_its_part() -> None:
    """One session timeout after it was last heard of."""
    bench = Bench().load()
    leader, follower = bench.stable(2)
    bench.run_for(SESSION_MS - 1)
    assert bench.heartbeat(leader) is ErrorCode.NONE
    assert follower.member_id in bench.group().members

    bench.run_for(1)

    assert bench.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    again = bench.joined(bench.join(leader.member_id))
    assert [each.member_id for each in again.members] == [leader.member_id]


def test_heartbeats_and_commits_keep_a_session() -> None:
    """Either shows that the member lives."""
    bench = Bench().load()
    leader, follower = bench.stable(2)

    for _ in range(10):
        bench.run_for(SESSION_MS - 1)
        assert bench.heartbeat(leader) is ErrorCode.NONE
        assert bench.committed(bench.commit(1, member=follower)) is ErrorCode.NONE

    assert bench.group().state is GroupState.STABLE


def test_whoever_waits_for_the_coordinator_need_not_show_that_it_lives() -> None:
    """It cannot: its connection is busy with the request that waits."""
    bench = Bench().load()
    leader, follower = bench.stable(2)
    request_id = bench.join(leader.member_id)
    for _ in range(4):
        bench.run_for(SESSION_MS - 1)
        bench.heartbeat(follower)
    assert leader.member_id in bench.group().members

    bench.join(follower.member_id)
    assert bench.joined(request_id).error is ErrorCode.NONE
    bench.run_for(SESSION_MS)
    assert bench.group().members == {}


def test_a_group_whose_members_all_died_is_empty_and_says_so_in_the_log() -> None:
    """So that the next coordinator does not wait for them."""
    bench = Bench().load()
    members = bench.stable(2)

    bench.run_for(SESSION_MS)

    group = bench.group()
    assert (group.state, group.members, group.leader_id) == (GroupState.EMPTY, {}, None)
    assert bench.log[-1].value is not None
    stored = read_group(bench.log[-1].value)
    assert (stored.members, stored.protocol_name) == ((), None)
    assert stored.generation_id == members[0].generation_id + 1


def test_whoever_does_not_sync_in_time_is_dropped() -> None:
    """It lives and joined; but what it was assigned is consumed by nobody."""
    bench = Bench().load()
    leader, follower = rebalanced(bench)
    bench.sync(leader, MemberAssignment(leader.member_id, b"a"))
    for _ in range(REBALANCE_MS // 5_000):
        assert bench.heartbeat(leader) is ErrorCode.NONE
        assert bench.heartbeat(follower) is ErrorCode.NONE
        bench.run_for(5_000)

    assert list(bench.group().members) == [leader.member_id]
    assert bench.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_dies_before_it_assigned_is_not_waited_for() -> None:
    """The followers are sent back to join, and one of them leads."""
    bench = Bench().load()
    _, follower = rebalanced(bench)
    waiting = bench.sync(follower)

    bench.run_for(SESSION_MS)

    assert bench.synced(waiting) == SyncGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    again = bench.joined(bench.join(follower.member_id))
    assert again.leader_id == follower.member_id


# --- leaving ----------------------------------------------------------------------------------


def test_several_members_leave_at_once_and_each_hears_its_own() -> None:
    """Version 3; one that is not there does not keep the others."""
    bench = Bench().load()
    leader, follower, third = bench.stable(3)

    left = bench.leave(
        LeavingMember(leader.member_id), LeavingMember("ghost"), LeavingMember(third.member_id)
    )

    assert left == LeaveGroupAnswer(
        members=(
            LeftMember(leader.member_id),
            LeftMember("ghost", None, ErrorCode.UNKNOWN_MEMBER_ID),
            LeftMember(third.member_id),
        )
    )
    assert list(bench.group().members) == [follower.member_id]
    assert bench.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_leaves_while_it_syncs_is_answered() -> None:
    """Kafka forgets the sync of one that leaves; its caller would wait for ever."""
    bench = Bench().load()
    _, follower = rebalanced(bench)
    waiting = bench.sync(follower)

    bench.leave(LeavingMember(follower.member_id))

    assert bench.synced(waiting) == SyncGroupAnswer(ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_member_that_leaves_while_it_joins_is_answered() -> None:
    """It waits for another one that has not come yet."""
    bench = Bench().load()
    leader, _ = bench.stable(2)
    waiting = bench.join(leader.member_id)

    bench.leave(LeavingMember(leader.member_id))

    assert bench.joined(waiting) == JoinGroupAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID)


def test_when_the_last_one_leaves_the_group_is_empty_at_once() -> None:
    """Nobody is waited for."""
    bench = Bench().load()
    (leader,) = bench.stable(1)

    bench.leave(LeavingMember(leader.member_id))

    assert bench.group().state is GroupState.EMPTY


def test_the_table_names_every_state_on_both_sides() -> None:
    """A state that cannot be left, or entered, is a mistake."""
    assert {before for before, _ in GROUP_MOVES} == set(GroupState)
    assert {after for _, after in GROUP_MOVES} == set(GroupState)


def test_an_illegal_move_is_an_error_of_ours() -> None:
    """It would mean that a rule is missing above."""
    bench = Bench().load()
    bench.stable(1)

    with pytest.raises(AssertionError, match="Stable cannot become Empty"):
        bench.group().move(GroupState.EMPTY, 0)
