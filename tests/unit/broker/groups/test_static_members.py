"""Static members: a place of one's own that survives a restart."""

import pytest

from regent.broker.groups.group_states import GroupState
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupProtocol,
    JoinGroupAnswer,
    LeavingMember,
    LeftMember,
    MemberAssignment,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetToCommit,
    SyncGroupAnswer,
)
from tests.unit.broker.groups.bench import REBALANCE_MS, SESSION_MS, T0, Bench


def static_pair(bench: Bench) -> tuple[JoinGroupAnswer, JoinGroupAnswer]:
    """A stable group of instances a and b; a leads."""
    first_id = bench.joined(bench.join(instance="a")).member_id
    follower = bench.join(instance="b")
    leader = bench.joined(bench.join(first_id, instance="a"))
    other = bench.joined(bench.join(bench.joined(follower).member_id, instance="b"))
    parts = [MemberAssignment(leader.member_id, b"A"), MemberAssignment(other.member_id, b"B")]
    bench.sync(leader, *parts)
    bench.sync(other)
    assert bench.group().state is GroupState.STABLE
    return leader, other


def test_a_static_member_needs_no_second_join_and_its_id_says_who_it_is() -> None:
    """Its place is known, so a retry makes no ghost."""
    bench = Bench().load()

    answer = bench.joined(bench.join(instance="a", known=True))

    assert (answer.error, answer.member_id) == (ErrorCode.NONE, "a-u1")


@pytest.mark.parametrize("place", ["a", "b"])
def test_one_that_comes_back_finds_its_part_without_a_rebalance(place: str) -> None:
    """Under a new id, stored first; even a leader is not told that it leads."""
    bench = Bench().load()
    leader, other = static_pair(bench)
    bench.holds = True
    request_id = bench.join(instance=place)
    assert request_id not in bench.answers

    bench.release()

    back = bench.joined(request_id)
    assert back == JoinGroupAnswer(
        generation_id=leader.generation_id,
        protocol_name="range",
        leader_id=leader.member_id,
        member_id=f"{place}-u{request_id}",
    )
    part = place.upper().encode()
    assert bench.synced(bench.sync(back, instance=place)) == SyncGroupAnswer(assignment=part)
    still_there = other if place == "a" else leader
    assert bench.heartbeat(still_there) is ErrorCode.NONE
    assert bench.group().leader_id == (back.member_id if place == "a" else leader.member_id)


def test_the_old_id_is_fenced() -> None:
    """Of two processes with one place, the later one has it, whatever the other asks for."""
    bench = Bench().load()
    _, old = static_pair(bench)
    bench.join(instance="b")

    assert bench.heartbeat(old, instance="b") is ErrorCode.FENCED_INSTANCE_ID
    synced = bench.synced(bench.sync(old, instance="b"))
    assert synced.error is ErrorCode.FENCED_INSTANCE_ID
    joined = bench.joined(bench.join(old.member_id, instance="b"))
    assert joined.error is ErrorCode.FENCED_INSTANCE_ID
    (left,) = bench.leave(LeavingMember(old.member_id, "b")).members
    assert left.error is ErrorCode.FENCED_INSTANCE_ID
    committed = bench.told(
        OffsetCommit(
            group_id="g",
            offsets=(OffsetToCommit(*T0, 1),),
            generation_id=old.generation_id,
            member_id=old.member_id,
            group_instance_id="b",
        )
    )
    assert committed == OffsetCommitAnswer(((T0, ErrorCode.FENCED_INSTANCE_ID),))


def test_an_old_one_that_waits_hears_that_it_is_fenced() -> None:
    """Waiting for the others, and waiting for the leader."""
    bench = Bench().load()
    leader, _ = static_pair(bench)
    waiting = bench.join(leader.member_id, instance="a")
    bench.join(instance="a")
    assert bench.joined(waiting) == JoinGroupAnswer(
        error=ErrorCode.FENCED_INSTANCE_ID, member_id=leader.member_id
    )

    back = bench.join(instance="b")
    waiting = bench.sync(bench.joined(back), instance="b")
    bench.join(instance="b")
    assert bench.synced(waiting) == SyncGroupAnswer(ErrorCode.FENCED_INSTANCE_ID)


def test_before_the_assignment_one_that_comes_back_starts_over() -> None:
    """The leader may be assigning to the old id right now."""
    bench = Bench().load()
    first = bench.joined(bench.join(instance="a"))

    back = bench.joined(bench.join(instance="a"))

    assert back.generation_id == first.generation_id + 1


def test_one_that_comes_back_with_other_protocols_may_change_the_choice() -> None:
    """Then the group must assign anew."""
    bench = Bench().load()
    both = (GroupProtocol("range"), GroupProtocol("sticky"))
    first = bench.joined(bench.join(instance="a", protocols=both))
    bench.sync(first, MemberAssignment(first.member_id, b"A"))

    back = bench.joined(bench.join(instance="a", protocols=both[1:]))

    assert (back.generation_id, back.protocol_name) == (2, "sticky")


def test_if_the_new_id_cannot_be_stored_the_old_one_stays() -> None:
    """A coordinator that takes over would know the old one."""
    bench = Bench().load()
    leader, other = static_pair(bench)
    bench.error = ErrorCode.NOT_ENOUGH_REPLICAS

    refused = bench.joined(bench.join(instance="a"))

    assert refused == JoinGroupAnswer(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert bench.group().leader_id == leader.member_id
    assert bench.heartbeat(leader, instance="a") is ErrorCode.NONE
    assert bench.heartbeat(other, instance="b") is ErrorCode.NONE


def test_of_two_that_come_back_at_once_the_later_one_has_the_place() -> None:
    """The log's news of the first come when it is fenced already."""
    bench = Bench().load()
    static_pair(bench)
    bench.holds = True
    first, second = bench.join(instance="a"), bench.join(instance="a")

    bench.release()

    assert bench.joined(first).error is ErrorCode.FENCED_INSTANCE_ID
    back = bench.joined(second)
    assert bench.heartbeat(back, instance="a") is ErrorCode.NONE


def test_a_rebalance_takes_over_the_join_of_one_that_was_being_stored() -> None:
    """It waits for its answer like everybody else, and is answered once."""
    bench = Bench().load()
    _, other = static_pair(bench)
    bench.holds = True
    back = bench.join(instance="a")
    newcomer = bench.join(instance="c")
    bench.release(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert back not in bench.answers

    bench.join(other.member_id, instance="b")

    assert {bench.joined(each).generation_id for each in (back, newcomer)} == {
        other.generation_id + 1
    }


def test_a_static_member_that_does_not_join_again_keeps_its_place_for_a_session() -> None:
    """It may be restarting; a dynamic one would be dropped."""
    bench = Bench().load()
    leader, other = static_pair(bench)
    request_id = bench.join(leader.member_id, instance="a")
    for _ in range(REBALANCE_MS // 5_000):
        bench.heartbeat(other, instance="b")
        bench.run_for(5_000)

    ids = [each.group_instance_id for each in bench.joined(request_id).members]
    assert ids == ["a", "b"]


def test_static_members_that_all_stay_away_end_with_their_sessions() -> None:
    """Nobody can lead meanwhile, and the rebalance is put off."""
    bench = Bench().load()
    leader, other = static_pair(bench)
    bench.join(instance="c", rebalance_ms=1_000)
    bench.leave(LeavingMember(group_instance_id="c"))
    for _ in range(REBALANCE_MS // 5_000 + 1):
        bench.heartbeat(leader, instance="a")
        bench.heartbeat(other, instance="b")
        bench.run_for(5_000)
    assert bench.group().state is GroupState.PREPARING_REBALANCE

    bench.run_for(SESSION_MS)

    assert bench.group().state is GroupState.EMPTY


def test_a_static_member_can_be_sent_away_by_its_place_alone() -> None:
    """An administrator does not know its id."""
    bench = Bench().load()
    static_pair(bench)

    left = bench.leave(
        LeavingMember(group_instance_id="b"), LeavingMember(group_instance_id="nobody")
    )

    assert left.members == (
        LeftMember("", "b"),
        LeftMember("", "nobody", ErrorCode.UNKNOWN_MEMBER_ID),
    )
    assert [each.group_instance_id for each in bench.group().members.values()] == ["a"]


def test_a_place_that_nobody_holds_is_unknown() -> None:
    """Its session ended; the owner must join as new."""
    bench = Bench().load()
    leader, _ = static_pair(bench)
    bench.run_for(SESSION_MS)

    joined = bench.joined(bench.join(leader.member_id, instance="a"))

    assert joined.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_given_out_to_a_dynamic_member_is_no_static_one() -> None:
    """Kafka throws here; a caller can cause it, so it is refused."""
    bench = Bench().load()
    pending = bench.joined(bench.join(known=True))

    joined = bench.joined(bench.join(pending.member_id, instance="a"))

    assert joined.error is ErrorCode.UNKNOWN_MEMBER_ID
