"""Offsets: who may commit, when it counts, how it is forgotten."""

import pytest

from regent.broker.groups.committed_offsets import CommittedOffsets
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_states import GroupState
from regent.broker.groups.offsets_records import OffsetKey, OffsetValue, read_key, read_offset
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DeleteGroups,
    DeleteGroupsAnswer,
    FetchedOffset,
    GroupProtocol,
    JoinGroup,
    JoinGroupAnswer,
    LeavingMember,
    MemberAssignment,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
)
from regent.model.ids import TopicPartition
from tests.unit.broker.groups.bench import (
    AT_ONCE,
    REBALANCE_MS,
    SESSION_MS,
    START_MS,
    T0,
    T1,
    Bench,
)

DAY_MS = 24 * 60 * 60 * 1_000
OTHER = TopicPartition("other", 0)


def test_a_commit_counts_when_it_is_in_the_log() -> None:
    """Nothing is answered, and nothing fetched, that a failover could take back."""
    bench = Bench().load()
    bench.holds = True
    request_id = bench.commit(5, metadata="m")
    assert request_id not in bench.answers
    assert bench.offsets() == {}

    bench.release()

    assert bench.committed(request_id) is ErrorCode.NONE
    expected = FetchedOffset(*T0, 5, 3, "m")
    assert bench.told(OffsetFetch("g", (T0, T1))) == OffsetFetchAnswer(
        offsets=(expected, FetchedOffset(*T1))
    )
    (record,) = bench.log
    assert read_key(record.key) == OffsetKey("g", T0)
    assert record.value is not None
    assert read_offset(record.value) == OffsetValue(5, 3, "m", START_MS)


@pytest.mark.parametrize(
    ("from_log", "said"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT),
    ],
)
def test_a_commit_that_is_not_stored_does_not_count(from_log: ErrorCode, said: ErrorCode) -> None:
    """The old one stays."""
    bench = Bench().load()
    bench.commit(1)
    bench.error = from_log

    assert bench.committed(bench.commit(2)) is said
    assert bench.offsets() == {T0: 1}


def test_late_news_of_an_early_commit_does_not_undo_a_later_one() -> None:
    """Their order in the log is the order in which they were asked for."""
    offsets = CommittedOffsets()
    offsets.asked(1, [T0])
    offsets.asked(2, [T0])

    offsets.confirmed(2, {T0: OffsetValue(20)})
    offsets.confirmed(1, {T0: OffsetValue(10)})

    assert (offsets.stored, offsets.pending) == ({T0: OffsetValue(20)}, {})


def test_late_news_of_a_commit_does_not_undo_that_it_was_forgotten() -> None:
    """And a commit after the tombstone stays."""
    offsets = CommittedOffsets()
    offsets.asked(1, [T0])
    offsets.forgotten(2, [T0])
    offsets.confirmed(1, {T0: OffsetValue(10)})
    assert not offsets

    offsets.asked(4, [T0])
    offsets.confirmed(4, {T0: OffsetValue(40)})
    offsets.forgotten(3, [T0])
    assert offsets.stored == {T0: OffsetValue(40)}


def test_only_members_of_this_generation_commit_to_a_group_that_has_members() -> None:
    """A consumer that was thrown out must not take its successor's progress back."""
    bench = Bench().load()
    leader, _ = bench.stable(2)
    old = JoinGroupAnswer(generation_id=1, member_id=leader.member_id)
    ghost = JoinGroupAnswer(generation_id=leader.generation_id, member_id="ghost")

    assert bench.committed(bench.commit(1, member=leader)) is ErrorCode.NONE
    assert bench.committed(bench.commit(2, member=old)) is ErrorCode.ILLEGAL_GENERATION
    assert bench.committed(bench.commit(2, member=ghost)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.committed(bench.commit(2)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.offsets() == {T0: 1}


def test_the_last_generation_may_commit_while_the_next_one_gathers() -> None:
    """It learns of the rebalance from its heartbeat; after that it must wait for its part."""
    bench = Bench().load()
    leader, follower = bench.stable(2)
    waiting = bench.join(leader.member_id)
    assert bench.committed(bench.commit(7, member=follower)) is ErrorCode.NONE

    bench.join(follower.member_id)

    again = bench.joined(waiting)
    assert bench.committed(bench.commit(8, member=again)) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.offsets() == {T0: 7}


def test_a_member_of_a_group_that_is_gone_commits_nothing() -> None:
    """Without a group, and with an empty one."""
    bench = Bench().load()
    gone = JoinGroupAnswer(generation_id=1, member_id="m")
    assert bench.committed(bench.commit(1, member=gone)) is ErrorCode.ILLEGAL_GENERATION
    (leader,) = bench.stable(1)
    bench.leave(LeavingMember(leader.member_id))

    assert bench.committed(bench.commit(1, member=leader)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.committed(bench.commit(1)) is ErrorCode.NONE


def test_offsets_can_be_kept_under_the_empty_name() -> None:
    """Old simple consumers have no other."""
    bench = Bench().load()

    assert bench.committed(bench.commit(4, group_id="")) is ErrorCode.NONE
    assert bench.offsets("") == {T0: 4}


def test_too_much_metadata_is_refused_and_the_rest_stored() -> None:
    """Each partition by itself; null is none."""
    bench = Bench(GroupConfig(offset_metadata_max=3)).load()
    long, short = OffsetToCommit(*T0, 1, -1, "four"), OffsetToCommit(*T1, 2, -1, None)

    both = bench.told(OffsetCommit(group_id="g", offsets=(long, short)))
    alone = bench.told(OffsetCommit(group_id="g", offsets=(long,)))

    refused = (T0, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    assert both == OffsetCommitAnswer((refused, (T1, ErrorCode.NONE)))
    assert alone == OffsetCommitAnswer((refused,))
    assert bench.offsets() == {T1: 2}


def test_a_commit_of_nothing_is_answered() -> None:
    """And leaves nothing in the log."""
    bench = Bench().load()

    assert bench.told(OffsetCommit(group_id="g", offsets=())) == OffsetCommitAnswer()
    assert bench.log == []


# --- time -------------------------------------------------------------------------------------


def test_offsets_outlive_their_group_by_the_retention_and_then_both_are_gone() -> None:
    """Counted from when the group became empty, not from the commit."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    bench.commit(1, member=leader)
    bench.run_for(SESSION_MS)
    bench.run_for(7 * DAY_MS - SESSION_MS)
    assert bench.offsets() == {T0: 1}

    bench.run_for(AT_ONCE.expiry_check_ms + SESSION_MS)

    assert bench.offsets() == {}
    assert bench.coordinator.partitions.groups() == ()
    assert [record.value for record in bench.log[-2:]] == [None, None]
    assert Bench(log=bench.log).load().coordinator.partitions.groups() == ()


def test_offsets_of_a_group_without_members_expire_after_their_commit() -> None:
    """One by one; the others stay."""
    bench = Bench().load()
    bench.commit(1)
    bench.run_for(DAY_MS)
    bench.commit(2, name=T1)

    bench.run_for(6 * DAY_MS + AT_ONCE.expiry_check_ms)

    assert bench.offsets() == {T1: 2}


def test_a_client_may_say_how_long_to_keep_an_offset() -> None:
    """Versions 2 to 4."""
    bench = Bench().load()
    bench.commit(1, retention_ms=60 * DAY_MS)
    bench.commit(2, name=T1, retention_ms=DAY_MS)

    bench.run_for(30 * DAY_MS)

    assert bench.offsets() == {T0: 1}
    bench.run_for(31 * DAY_MS)
    assert bench.offsets() == {}


def test_a_time_to_keep_that_fits_into_no_record_means_for_ever() -> None:
    """The client may say anything."""
    bench = Bench().load()

    assert bench.committed(bench.commit(1, retention_ms=2**63 - 1)) is ErrorCode.NONE


def test_a_stable_group_keeps_what_it_subscribes_to_and_forgets_the_rest() -> None:
    """It may be slow; but topics that it left are history."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    bench.commit(1, member=leader)
    bench.commit(2, member=leader, name=OTHER)
    bench.group().members[leader.member_id].session_timeout_ms = 100 * DAY_MS
    bench.heartbeat(leader)

    bench.run_for(8 * DAY_MS)

    assert bench.offsets() == {T0: 1}


def test_nothing_expires_in_a_group_whose_subscriptions_cannot_be_read() -> None:
    """Connect workers put what they like there."""
    bench = Bench().load()
    joined = bench.joined(bench.join(protocols=(GroupProtocol("range", b"?"),)))
    bench.sync(joined)
    bench.commit(1, member=joined)
    bench.group().members[joined.member_id].session_timeout_ms = 100 * DAY_MS
    bench.heartbeat(joined)

    bench.run_for(8 * DAY_MS)

    assert bench.offsets() == {T0: 1}


def test_an_offset_that_is_about_to_be_committed_does_not_expire() -> None:
    """Nor does its group."""
    bench = Bench().load()
    bench.commit(1)
    bench.run_for(7 * DAY_MS - 1)
    bench.holds = True
    bench.commit(2)
    bench.run_for(AT_ONCE.expiry_check_ms)

    assert len(bench.held) == 1
    bench.release()
    assert bench.offsets() == {T0: 2}


def test_an_expiry_that_cannot_be_stored_is_tried_again() -> None:
    """And until then the group lives on."""
    bench = Bench().load()
    bench.commit(1)
    bench.error = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.run_for(7 * DAY_MS + AT_ONCE.expiry_check_ms)
    assert bench.offsets() == {T0: 1}
    assert bench.group().state is GroupState.EMPTY

    bench.error = ErrorCode.NONE
    bench.run_for(AT_ONCE.expiry_check_ms)

    assert bench.coordinator.partitions.groups() == ()


# --- by order ---------------------------------------------------------------------------------


def test_offsets_go_with_their_topic() -> None:
    """A topic of the same name begins again at 0; a group that has nothing else goes too."""
    bench = Bench().load()
    bench.commit(1)
    bench.commit(2, group_id="h")
    bench.commit(3, name=OTHER, group_id="h")

    bench.coordinator.partitions_deleted({T0, T1}, bench.now_ms)
    bench.carry_out()

    assert [group.group_id for group in bench.coordinator.partitions.groups()] == ["h"]
    assert bench.offsets("h") == {OTHER: 3}


def test_an_empty_group_is_deleted_with_its_offsets_once_that_is_in_the_log() -> None:
    """Kafka answers earlier; here nothing is acknowledged that a failover could take back."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    bench.commit(1, member=leader)
    bench.commit(9, group_id="h")
    bench.leave(LeavingMember(leader.member_id))
    bench.holds = True
    request_id = bench.ask(DeleteGroups(("g", "none", "h")))
    assert request_id not in bench.answers
    assert bench.joined(bench.join()).error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    bench.release()

    assert bench.answers[request_id] == DeleteGroupsAnswer(
        (("g", ErrorCode.NONE), ("none", ErrorCode.GROUP_ID_NOT_FOUND), ("h", ErrorCode.NONE))
    )
    assert bench.coordinator.partitions.groups() == ()
    assert Bench(log=bench.log).load().coordinator.partitions.groups() == ()


def test_a_group_with_members_is_not_deleted() -> None:
    """They would not know."""
    bench = Bench().load()
    bench.stable(1)

    expected = DeleteGroupsAnswer((("g", ErrorCode.NON_EMPTY_GROUP),))
    assert bench.told(DeleteGroups(("g",))) == expected


def test_a_deletion_that_cannot_be_stored_leaves_everything() -> None:
    """The group is what it was, and can be joined."""
    bench = Bench().load()
    bench.commit(1)
    bench.error = ErrorCode.NOT_ENOUGH_REPLICAS

    refused = bench.told(DeleteGroups(("g",)))

    assert refused == DeleteGroupsAnswer((("g", ErrorCode.COORDINATOR_NOT_AVAILABLE),))
    assert bench.offsets() == {T0: 1}
    assert bench.joined(bench.join()).generation_id == 1


def test_ids_that_were_given_out_end_with_a_deletion_even_if_it_fails() -> None:
    """Their time would run out unseen, and every later rebalance would wait for them."""
    bench = Bench().load()
    bench.commit(1)
    pending_id = bench.joined(bench.join(known=True)).member_id
    bench.error = ErrorCode.NOT_ENOUGH_REPLICAS
    bench.told(DeleteGroups(("g",)))

    assert bench.joined(bench.join(pending_id)).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_left_nothing_in_the_log_is_deleted_at_once() -> None:
    """A first join made it, and nobody came back."""
    bench = Bench().load()
    bench.join(known=True)

    assert bench.told(DeleteGroups(("g",))) == DeleteGroupsAnswer((("g", ErrorCode.NONE),))
    assert bench.log == []


def test_offsets_of_topics_that_nobody_consumes_can_be_deleted() -> None:
    """Those that somebody does cannot."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    bench.commit(1, member=leader)
    bench.commit(2, member=leader, name=OTHER)

    answer = bench.told(OffsetDelete("g", (T0, OTHER)))

    assert answer == OffsetDeleteAnswer(
        results=((T0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), (OTHER, ErrorCode.NONE))
    )
    assert bench.offsets() == {T0: 1}
    assert Bench(log=bench.log).load().offsets() == {T0: 1}


def test_offsets_whose_deletion_cannot_be_stored_stay() -> None:
    """And the caller hears of it."""
    bench = Bench().load()
    bench.commit(1)
    bench.error = ErrorCode.NOT_LEADER_OR_FOLLOWER

    answer = bench.told(OffsetDelete("g", (T0,)))

    assert answer == OffsetDeleteAnswer(results=((T0, ErrorCode.NOT_COORDINATOR),))
    assert bench.offsets() == {T0: 1}


def test_any_offset_of_an_empty_group_can_be_deleted_even_one_that_is_not_there() -> None:
    """Without a trace in the log if there was none."""
    bench = Bench().load()
    bench.commit(1)
    bench.told(OffsetDelete("g", (T0,)))
    length = len(bench.log)

    answer = bench.told(OffsetDelete("g", (T0,)))

    assert answer == OffsetDeleteAnswer(results=((T0, ErrorCode.NONE),))
    assert (bench.offsets(), len(bench.log)) == ({}, length)


def test_offsets_of_unknown_and_of_foreign_groups_are_not_deleted() -> None:
    """Only consumers say what they consume."""
    bench = Bench().load()
    unknown = bench.told(OffsetDelete("g", (T0,)))
    bench.ask(
        JoinGroup(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocol_type="connect",
            protocols=(GroupProtocol("default"),),
            needs_known_member=False,
        )
    )

    assert unknown == OffsetDeleteAnswer(ErrorCode.GROUP_ID_NOT_FOUND)
    assert bench.told(OffsetDelete("g", (T0,))) == OffsetDeleteAnswer(ErrorCode.NON_EMPTY_GROUP)


def test_a_commit_under_way_when_its_group_is_deleted_goes_with_it() -> None:
    """Its record stands before the tombstone."""
    bench = Bench().load()
    bench.commit(1)
    bench.holds = True
    commit = bench.commit(2, name=T1)
    bench.ask(DeleteGroups(("g",)))

    bench.release()

    assert bench.committed(commit) is ErrorCode.NONE
    assert Bench(log=bench.log).load().offsets() == bench.offsets() == {}


def test_the_leader_s_assignment_does_not_touch_offsets() -> None:
    """They are records of their own."""
    bench = Bench().load()
    bench.commit(1)
    joined = bench.joined(bench.join())
    bench.sync(joined, MemberAssignment(joined.member_id, b"a"))

    assert bench.offsets() == {T0: 1}
