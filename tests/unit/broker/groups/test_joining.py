"""JoinGroup: ids, votes, limits, and when a rebalance begins."""

import pytest

from regent.broker.groups.group_config import GroupConfig
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DeleteGroups,
    GroupProtocol,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeavingMember,
    MemberAssignment,
)
from tests.unit.broker.groups.bench import RANGE, REBALANCE_MS, SESSION_MS, Bench, G


def protocols(*names: str) -> tuple[GroupProtocol, ...]:
    return tuple(GroupProtocol(name, name.encode()) for name in names)


def test_a_first_join_fetches_an_id_and_the_second_makes_a_member() -> None:
    """A client that lost the answer and asks again must not leave a ghost behind."""
    bench = Bench().load()

    first = bench.joined(bench.join(known=True))
    assert first == JoinGroupAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id="c-u1")
    assert bench.group().members == {}

    assert bench.joined(bench.join("c-u1", known=True)) == JoinGroupAnswer(
        generation_id=1,
        protocol_name="range",
        leader_id="c-u1",
        member_id="c-u1",
        members=(JoinedMember("c-u1", None, RANGE[0].metadata),),
    )


def test_an_old_client_becomes_a_member_at_once() -> None:
    """Before version 4 nobody asks twice."""
    bench = Bench().load()

    assert bench.joined(bench.join(known=False)).generation_id == 1


def test_an_id_that_was_given_out_is_waited_for_until_it_expires() -> None:
    """Its owner is about to join; but it may have died."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    bench.join(known=True)

    request_id = bench.join(leader.member_id)
    assert request_id not in bench.answers

    bench.run_for(SESSION_MS)
    assert bench.joined(request_id).generation_id == 2
    late = bench.joined(bench.join("c-u3", known=True))
    assert late.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_member_can_leave_and_is_not_waited_for() -> None:
    """A consumer that is closed before its second join."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    pending_id = bench.joined(bench.join(known=True)).member_id
    request_id = bench.join(leader.member_id)

    left = bench.leave(LeavingMember(pending_id))

    assert [each.error for each in left.members] == [ErrorCode.NONE]
    assert bench.joined(request_id).generation_id == 2


def test_an_id_that_nobody_gave_out_is_refused() -> None:
    """With a group and without one."""
    bench = Bench().load()
    assert bench.joined(bench.join("ghost")).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.coordinator.partitions.groups() == ()
    bench.stable(1)

    assert bench.joined(bench.join("ghost")).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(session_ms: int) -> None:
    """The bounds are group.min.session.timeout.ms and group.max.session.timeout.ms."""
    bench = Bench().load()
    request = JoinGroup(
        group_id="g",
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=REBALANCE_MS,
        protocols=RANGE,
    )

    expected = JoinGroupAnswer(error=ErrorCode.INVALID_SESSION_TIMEOUT)
    assert bench.told(request) == expected


def test_a_group_needs_a_name() -> None:
    """Only offsets can be kept under the empty one."""
    bench = Bench().load()

    assert bench.joined(bench.join(group_id="")).error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("known", [True, False])
def test_whoever_shares_no_protocol_with_all_members_is_refused(*, known: bool) -> None:
    """Nobody could choose for such a group."""
    bench = Bench().load()
    bench.join(protocols=protocols("range", "sticky"))

    refused = bench.joined(bench.join(protocols=protocols("other"), known=known))

    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(("kind", "names"), [("", ("range",)), ("consumer", ())])
def test_a_first_member_must_say_what_it_is_and_can(kind: str, names: tuple[str, ...]) -> None:
    """An empty group takes anybody who says so much."""
    bench = Bench().load()
    request = JoinGroup(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocol_type=kind,
        protocols=protocols(*names),
    )

    assert bench.told(request) == JoinGroupAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def test_a_member_of_another_kind_is_refused() -> None:
    """Connect workers and consumers cannot share a group."""
    bench = Bench().load()
    bench.stable(1)
    request = JoinGroup(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocol_type="connect",
        protocols=RANGE,
    )

    assert bench.told(request) == JoinGroupAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def test_the_members_vote_among_what_all_of_them_know() -> None:
    """Two of three like sticky best of the two that all know; only one knows other."""
    bench = Bench().load()
    likes = [("range", "sticky"), ("other", "sticky", "range"), ("sticky", "range")]
    requests = [bench.join(protocols=protocols(*likes[0]))]
    first_id = bench.joined(requests[0]).member_id

    waiting = [bench.join(protocols=protocols(*names)) for names in likes[1:]]
    waiting.append(bench.join(first_id, protocols=protocols(*likes[0])))

    assert {bench.joined(each).protocol_name for each in waiting} == {"sticky"}


def test_a_protocol_said_twice_counts_once() -> None:
    """Otherwise two voices of one member would stand for two members."""
    bench = Bench().load()
    bench.join(protocols=protocols("range", "range"))
    bench.join(protocols=protocols("range"))

    refused = bench.joined(bench.join(protocols=protocols("sticky")))

    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.group().supports("consumer", protocols("range"))


def test_only_the_leader_learns_who_the_members_are() -> None:
    """And there is one leader, of whom all hear."""
    bench = Bench().load()

    leader, follower = bench.stable(2)

    assert {leader.leader_id, follower.leader_id} == {leader.member_id}
    assert [each.member_id for each in leader.members] == [leader.member_id, follower.member_id]
    assert follower.members == ()


def test_a_follower_that_joins_again_unchanged_gets_the_same_generation() -> None:
    """It only missed the answer."""
    bench = Bench().load()
    _, follower = bench.stable(2)

    assert bench.joined(bench.join(follower.member_id)) == follower


@pytest.mark.parametrize("position", [0, 1])
def test_a_leader_or_a_member_that_wants_something_else_starts_a_rebalance(position: int) -> None:
    """A leader has seen new partitions; a follower subscribes to something else."""
    bench = Bench().load()
    members = bench.stable(2)
    changed = (GroupProtocol("range", b"other"),) if position else RANGE

    request_id = bench.join(members[position].member_id, protocols=changed)

    assert request_id not in bench.answers
    assert bench.heartbeat(members[1 - position]) is ErrorCode.REBALANCE_IN_PROGRESS
    bench.join(members[1 - position].member_id)
    assert bench.joined(request_id).generation_id == members[0].generation_id + 1


def test_before_the_assignment_an_unchanged_join_is_only_answered_again() -> None:
    """The leader, too, gets its list of members once more."""
    bench = Bench().load()
    leader = bench.joined(bench.join())

    assert bench.joined(bench.join(leader.member_id)) == leader


def test_before_the_assignment_a_changed_join_starts_over() -> None:
    """The leader has assigned to what is no longer wanted."""
    bench = Bench().load()
    leader = bench.joined(bench.join())

    again = bench.joined(bench.join(leader.member_id, protocols=(GroupProtocol("range", b"x"),)))

    assert (again.generation_id, again.members[0].metadata) == (2, b"x")


def test_a_join_that_is_sent_again_replaces_the_one_that_waits() -> None:
    """The first caller has gone away; whoever it was is answered all the same."""
    bench = Bench().load()
    leader, follower = bench.stable(2)
    first = bench.join(leader.member_id)

    second = bench.join(leader.member_id)
    bench.join(follower.member_id)

    assert bench.joined(first).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.joined(second).generation_id == leader.generation_id + 1


# --- limits of time and size ------------------------------------------------------------------


def test_an_empty_group_waits_for_more_members_and_longer_if_some_come() -> None:
    """So that a group that starts up does not rebalance once for each of its members."""
    bench = Bench(GroupConfig(initial_rebalance_delay_ms=3_000)).load()
    first = bench.join(rebalance_ms=7_000)
    bench.run_for(2_999)
    second = bench.join(rebalance_ms=7_000)
    bench.run_for(3_000)
    third = bench.join(rebalance_ms=7_000)
    assert bench.answers == {}

    # 3 s, 3 s more because of the second, and for the third one only what is left of 7 s.
    bench.run_for(1_001)

    assert {bench.joined(each).generation_id for each in (first, second, third)} == {1}


def test_a_newcomer_cannot_put_the_first_generation_off_for_ever() -> None:
    """The rebalance timeout is the limit."""
    bench = Bench(GroupConfig(initial_rebalance_delay_ms=3_000)).load()
    first = bench.join(rebalance_ms=3_000)
    bench.run_for(1_000)
    bench.join(rebalance_ms=3_000)

    bench.run_for(2_000)

    assert bench.joined(first).generation_id == 1


def test_whoever_does_not_join_again_in_time_is_dropped() -> None:
    """It lives, as its heartbeats show, but it does not come."""
    bench = Bench().load()
    leader, follower = bench.stable(2)
    request_id = bench.join(leader.member_id)
    for _ in range(REBALANCE_MS // 5_000):
        assert request_id not in bench.answers
        assert bench.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
        bench.run_for(5_000)

    assert [each.member_id for each in bench.joined(request_id).members] == [leader.member_id]
    assert bench.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_leads_if_the_leader_does_not_join_again() -> None:
    """There must be somebody to assign."""
    bench = Bench().load()
    leader, follower = bench.stable(2)

    bench.leave(LeavingMember(leader.member_id))
    answer = bench.joined(bench.join(follower.member_id))

    assert (answer.leader_id, len(answer.members)) == (follower.member_id, 1)


def test_a_newcomer_may_wait_five_minutes_and_no_longer() -> None:
    """It has no heartbeat yet, and the client may long be gone."""
    bench = Bench(GroupConfig(initial_rebalance_delay_ms=400_000)).load()
    request_id = bench.join(rebalance_ms=10_000_000)

    bench.run_for(299_999)
    assert bench.answers == {}
    bench.run_for(1)

    assert bench.joined(request_id) == JoinGroupAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_full_group_takes_nobody_more() -> None:
    """group.max.size; those who are in may come again."""
    bench = Bench(GroupConfig(initial_rebalance_delay_ms=0, group_size_max=2)).load()
    leader, follower = bench.stable(2)

    refused = bench.joined(bench.join())

    assert refused == JoinGroupAnswer(error=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert bench.joined(bench.join(follower.member_id)) == follower
    bench.join(leader.member_id)
    assert bench.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS


def test_of_a_group_that_is_too_large_the_last_to_join_again_must_go() -> None:
    """The limit was lowered while the group was with another coordinator."""
    before = Bench().load()
    members = before.stable(3)
    bench = Bench(GroupConfig(initial_rebalance_delay_ms=0, group_size_max=2), before.log).load()
    assert bench.heartbeat(members[0]) is ErrorCode.REBALANCE_IN_PROGRESS

    requests = [bench.join(each.member_id) for each in members]

    errors = [bench.joined(each).error for each in requests]
    assert errors == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_a_client_with_an_endless_name_gets_an_id_that_fits() -> None:
    """Kafka's strings end at 32,767 bytes."""
    bench = Bench().load()
    request = JoinGroup(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocols=RANGE,
    )

    request_id = bench.ask(request, client_id="\N{GRINNING FACE}" * 8_191)

    assert len(bench.joined(request_id).member_id.encode()) < 32_767


def test_a_join_after_a_deletion_that_failed_is_answered() -> None:
    """The group's timer rang while it was taken for dead."""
    bench = Bench(GroupConfig(initial_rebalance_delay_ms=3_000)).load()
    request = bench.join()
    bench.run_for(3_000)
    joined = bench.joined(request)
    bench.sync(joined, MemberAssignment(joined.member_id, b""))
    bench.leave(LeavingMember(joined.member_id))
    bench.holds = True
    bench.ask(DeleteGroups((G,)))
    bench.run_for(SESSION_MS)
    bench.holds = False
    bench.release(ErrorCode.REQUEST_TIMED_OUT)

    again = bench.join()
    bench.run_for(3_000)

    assert bench.joined(again).error is ErrorCode.NONE
