"""Coordinators that come and go: what is loaded, who is sent away, and what people see."""

from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_coordinator import GroupCoordinator
from regent.broker.groups.group_effects import GroupRecord
from regent.broker.groups.group_states import GroupState
from regent.broker.groups.offsets_records import (
    GroupKey,
    GroupValue,
    OffsetKey,
    OffsetValue,
    StoredMember,
    write_group,
    write_key,
    write_offset,
)
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DeleteGroups,
    DeleteGroupsAnswer,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsAnswer,
    FetchedOffset,
    GroupRequest,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    ListedGroup,
    ListGroups,
    ListGroupsAnswer,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
    SyncGroup,
    SyncGroupAnswer,
)
from regent.model.ids import LeaderEpoch
from tests.unit.broker.groups.bench import RANGE, SESSION_MS, T0, T1, Bench

E2, E3 = LeaderEpoch(2), LeaderEpoch(3)
KEY = write_key(GroupKey("g"))


def test_what_is_not_ours_is_refused_in_every_request() -> None:
    """Each in its own form."""
    bench = Bench()
    error = ErrorCode.NOT_COORDINATOR
    told: list[tuple[GroupRequest, object]] = [
        (
            SyncGroup(group_id="g", generation_id=1, member_id="m"),
            SyncGroupAnswer(error),
        ),
        (LeaveGroup("g", (LeavingMember("m"),)), LeaveGroupAnswer(error)),
        (
            OffsetCommit(group_id="g", offsets=(OffsetToCommit(*T0, 1),)),
            OffsetCommitAnswer(((T0, error),)),
        ),
        (
            OffsetFetch("g", (T0,)),
            OffsetFetchAnswer(error, (FetchedOffset(*T0, error=error),)),
        ),
        (OffsetFetch("g"), OffsetFetchAnswer(error)),
        (OffsetDelete("g", (T0,)), OffsetDeleteAnswer(error)),
        (
            DescribeGroups(("g",)),
            DescribeGroupsAnswer((DescribedGroup(group_id="g", error=error),)),
        ),
        (DeleteGroups(("g",)), DeleteGroupsAnswer((("g", error),))),
        (ListGroups(), ListGroupsAnswer()),
    ]

    assert [bench.told(request) for request, _ in told] == [answer for _, answer in told]
    assert bench.joined(bench.join("m")) == JoinGroupAnswer(error=error, member_id="m")
    member = JoinGroupAnswer(generation_id=1, member_id="m")
    assert bench.heartbeat(member) is error


def test_while_a_partition_is_read_its_groups_wait_but_heartbeats_are_believed() -> None:
    """Old clients do not know the error there; a rebalance under way is forgotten."""
    bench = Bench()
    bench.coordinator.load_started(0, E2)
    member = JoinGroupAnswer(generation_id=1, member_id="m")

    assert bench.joined(bench.join()).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.committed(bench.commit(1)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.heartbeat(member) is ErrorCode.NONE
    assert bench.synced(bench.sync(member)).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.told(ListGroups()) == ListGroupsAnswer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def test_a_new_coordinator_knows_members_assignments_and_offsets() -> None:
    """The members notice nothing."""
    before = Bench().load()
    leader, follower = before.stable(2)
    before.commit(5, member=leader)
    before.commit(6, member=leader)
    before.commit(7, member=follower, name=T1)

    after = Bench(log=before.log).load()

    assert after.offsets() == {T0: 6, T1: 7}
    assert after.heartbeat(leader) is ErrorCode.NONE
    assert after.synced(after.sync(follower)) == SyncGroupAnswer(assignment=b"part 1")
    assert after.joined(after.join(follower.member_id)) == follower
    described = DescribeGroups(("g",))
    assert after.told(described) == before.told(described)


def test_loaded_members_must_be_heard_of_within_a_session() -> None:
    """They may have died with the old coordinator."""
    before = Bench().load()
    leader, follower = before.stable(2)
    after = Bench(log=before.log).load()
    after.run_for(SESSION_MS - 1)
    after.heartbeat(leader)

    after.run_for(1)

    assert list(after.group().members) == [leader.member_id]
    assert after.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_is_loaded_with_its_generation() -> None:
    """A member of an old generation must never be taken for one of a new."""
    before = Bench().load()
    (leader,) = before.stable(1)
    before.leave(LeavingMember(leader.member_id))

    after = Bench(log=before.log).load()

    assert after.group().state is GroupState.EMPTY
    assert after.joined(after.join()).generation_id == leader.generation_id + 2


def test_records_may_come_in_several_helpings() -> None:
    """A long partition is read bit by bit."""
    before = Bench().load()
    before.commit(1)
    before.commit(2)
    bench = Bench()
    bench.coordinator.load_started(0, E2)
    for record in before.log:
        bench.coordinator.load(0, E2, [record])

    bench.coordinator.load_finished(0, E2, bench.now_ms)

    assert bench.offsets() == {T0: 2}


def test_a_load_that_was_overtaken_changes_nothing() -> None:
    """The broker lost the partition while it was reading, and perhaps got it again."""
    bench = Bench()
    record = GroupRecord(write_key(OffsetKey("g", T0)), write_offset(OffsetValue(1)))
    bench.coordinator.load_started(0, E2)
    bench.coordinator.unload(0, E3, bench.now_ms)
    bench.coordinator.load(0, E2, [record])
    bench.coordinator.load_finished(0, E2, bench.now_ms)
    assert bench.committed(bench.commit(1)) is ErrorCode.NOT_COORDINATOR

    assert not bench.coordinator.load_started(0, E2)
    bench.log = [record]
    bench.load(LeaderEpoch(4))

    assert bench.offsets() == {T0: 1}
    bench.coordinator.unload(0, E3, bench.now_ms)
    assert bench.offsets() == {T0: 1}


def test_records_of_an_overtaken_load_do_not_get_into_the_next() -> None:
    """They may have been cut off meanwhile."""
    bench = Bench()
    bench.coordinator.load_started(0, E2)
    bench.coordinator.unload(0, E3, bench.now_ms)
    bench.coordinator.load_started(0, LeaderEpoch(4))

    stale = GroupRecord(write_key(OffsetKey("g", T0)), write_offset(OffsetValue(1)))
    bench.coordinator.load(0, E2, [stale])
    bench.coordinator.load_finished(0, E2, bench.now_ms)

    assert bench.committed(bench.commit(1)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    bench.coordinator.load_finished(0, LeaderEpoch(4), bench.now_ms)
    assert bench.offsets() == {}


def test_a_leader_that_is_elected_again_goes_on() -> None:
    """Nobody else has written; there is nothing to read, and nobody is disturbed."""
    bench = Bench().load()
    leader, _ = bench.stable(2)

    assert not bench.coordinator.load_started(0, E2)

    assert bench.heartbeat(leader) is ErrorCode.NONE


def test_a_partition_that_is_deleted_and_made_again_begins_at_epoch_zero() -> None:
    """As its leader epochs do."""
    bench = Bench().load(E3)
    bench.commit(1)
    bench.coordinator.unload(0, None, bench.now_ms)
    bench.log.clear()

    bench.load(LeaderEpoch(0))

    assert bench.offsets() == {}


def test_whoever_waits_when_the_partition_goes_is_sent_to_the_new_coordinator() -> None:
    """Joins, syncs, and later those who wait for the log."""
    bench = Bench().load()
    leader, follower = bench.stable(2)
    joining = bench.join(leader.member_id)
    bench.holds = True
    committing = bench.commit(1, member=follower)

    bench.coordinator.unload(0, E2, bench.now_ms)
    bench.carry_out()
    assert bench.joined(joining) == JoinGroupAnswer(
        error=ErrorCode.NOT_COORDINATOR, member_id=leader.member_id
    )
    bench.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert bench.committed(committing) is ErrorCode.NOT_COORDINATOR
    assert bench.heartbeat(leader) is ErrorCode.NOT_COORDINATOR


def test_a_sync_that_waits_when_the_partition_goes_is_answered_once() -> None:
    """Although the log may still tell of the assignment."""
    bench = Bench().load()
    leader = bench.joined(bench.join())
    bench.holds = True
    waiting = bench.sync(leader)

    bench.coordinator.unload(0, E2, bench.now_ms)
    bench.carry_out()
    bench.release()

    assert bench.synced(waiting) == SyncGroupAnswer(ErrorCode.NOT_COORDINATOR)


def test_news_for_a_group_that_was_unloaded_does_not_reach_the_one_that_was_loaded() -> None:
    """The new one has read from the log what there is."""
    bench = Bench().load()
    bench.commit(1)
    bench.holds = True
    deleting = bench.ask(DeleteGroups(("g",)))
    bench.coordinator.unload(0, E2, bench.now_ms)
    bench.load(E3)

    held, bench.held = bench.held, []
    bench.coordinator.appended(held[0].append_id, ErrorCode.NOT_LEADER_OR_FOLLOWER, bench.now_ms)
    bench.carry_out()

    expected = DeleteGroupsAnswer((("g", ErrorCode.NOT_COORDINATOR),))
    assert bench.answers[deleting] == expected
    assert bench.offsets() == {T0: 1}


def test_records_that_cannot_be_read_are_named_and_the_rest_is_loaded() -> None:
    """One torn value must not take a thousand groups with it; an older one of its key stays."""
    member = StoredMember(member_id="m", rebalance_timeout_ms=1, session_timeout_ms=SESSION_MS)
    torn = GroupValue(members=(member,), protocol_name=None)
    twice = GroupValue(members=(member, member), protocol_name="range")
    offset_key = write_key(OffsetKey("g", T0))
    log = [
        GroupRecord(offset_key, write_offset(OffsetValue(1))),
        GroupRecord(offset_key, b"\x00\x09"),
        GroupRecord(b"\x00", b""),
        GroupRecord(KEY, write_group(torn)),
        GroupRecord(KEY, write_group(twice)),
        GroupRecord(bytes.fromhex("0003 0001 67"), b"of KIP-848"),
        GroupRecord(write_key(OffsetKey("h", T0)), write_offset(OffsetValue(2))),
    ]

    bench = Bench(log=log).load()

    assert [report.reason.split(" (key")[0] for report in bench.reports] == [
        "version 9 of a group record's value is not known",
        "2 bytes are wanted at 0, 1 are left",
        "a group has members and no protocol",
        "a group has the same member twice",
    ]
    assert (bench.offsets("g"), bench.offsets("h")) == ({T0: 1}, {T0: 2})


def test_a_stored_leader_that_is_no_member_is_replaced() -> None:
    """Somebody must lead."""
    member = StoredMember(member_id="m", rebalance_timeout_ms=1, session_timeout_ms=SESSION_MS)
    value = GroupValue(
        protocol_type="consumer", protocol_name="range", leader_id="gone", members=(member,)
    )

    bench = Bench(log=[GroupRecord(KEY, write_group(value))]).load()

    assert bench.group().leader_id == "m"


def test_groups_live_in_the_partition_of_their_name() -> None:
    """`a` and `b` hash to 97 and 98."""
    coordinator = GroupCoordinator(GroupConfig(), partition_count=50)
    coordinator.load_started(47, E2)
    coordinator.load_finished(47, E2, 0)

    assert coordinator.partitions.refusal("a") is ErrorCode.NONE
    assert coordinator.partitions.refusal("b") is ErrorCode.NOT_COORDINATOR


# --- what people see --------------------------------------------------------------------------


def test_groups_are_listed_with_their_states() -> None:
    """A group that only keeps offsets has no type."""
    bench = Bench().load()
    bench.stable(1)
    bench.commit(1, group_id="h")

    listed = (ListedGroup("g", "consumer", "Stable"), ListedGroup("h", "", "Empty"))
    assert bench.told(ListGroups()) == ListGroupsAnswer(groups=listed)


def test_a_stable_group_is_described_with_all_it_has() -> None:
    """In any other state nothing is said that may not hold for all."""
    bench = Bench().load()
    (leader,) = bench.stable(1)
    member = DescribedMember(
        member_id=leader.member_id,
        client_id="c",
        client_host="/127.0.0.1",
        metadata=RANGE[0].metadata,
        assignment=b"part 0",
    )
    unknown = DescribedGroup(group_id="none", state="Dead")

    stable = bench.told(DescribeGroups(("g", "none")))
    bench.join()
    moving = bench.told(DescribeGroups(("g",)))

    expected = DescribedGroup(
        group_id="g",
        state="Stable",
        protocol_type="consumer",
        protocol_name="range",
        members=(member,),
    )
    assert stable == DescribeGroupsAnswer((expected, unknown))
    assert isinstance(moving, DescribeGroupsAnswer)
    (described,) = moving.groups
    assert (described.state, described.protocol_name) == ("PreparingRebalance", "")
    assert {(each.metadata, each.assignment) for each in described.members} == {(b"", b"")}


def test_a_group_that_is_being_deleted_is_not_listed() -> None:
    """Nobody can use it any more."""
    bench = Bench().load()
    bench.commit(1)
    bench.holds = True
    bench.ask(DeleteGroups(("g",)))

    assert bench.told(ListGroups()) == ListGroupsAnswer()
