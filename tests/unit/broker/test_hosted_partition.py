"""The arithmetic of one replica: high watermark, lag and growth."""

from regent.broker.fetch_session import FetchSession
from regent.broker.hosted_partition import HostedPartition, RemoteReplica
from regent.broker.log import MemoryLog
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from tests.unit.broker.wiring import ALL, B1, B2, B3, T0, leadership

LAG_MS = 10_000


def leading(isr: tuple[BrokerId, ...] = ALL, *, records: int = 0) -> HostedPartition:
    """Broker 1's replica, leading since time 0, with records of an older leader."""
    hosted = HostedPartition(T0, B1, MemoryLog())
    hosted.log.append(LeaderEpoch(0), range(records))
    hosted.lead(leadership(isr=isr), Assignment(ALL), now_ms=0)
    return hosted


def fetched(hosted: HostedPartition, replica: BrokerId, offset: int, now_ms: int = 0) -> None:
    session = FetchSession(replica, 1, last_fetch_ms=now_ms)
    hosted.follower_fetched(session, offset, now_ms)


def anyone(_remote: RemoteReplica, _replica: BrokerId) -> bool:
    return True


def test_the_high_watermark_is_the_smallest_end_over_the_isr() -> None:
    """A record is committed when every in-sync replica has it."""
    hosted = leading(records=5)

    fetched(hosted, B2, 4)
    assert hosted.high_watermark == 0
    fetched(hosted, B3, 3)

    assert hosted.high_watermark == 3


def test_the_high_watermark_never_goes_back_while_leading() -> None:
    """A follower that lost its disk does not undo a commitment."""
    hosted = leading(records=5)
    fetched(hosted, B2, 4)
    fetched(hosted, B3, 4)

    fetched(hosted, B3, 0)

    assert hosted.high_watermark == 4


def test_ends_reported_in_an_older_epoch_do_not_count() -> None:
    """The follower may have cut its log since."""
    hosted = leading(records=5)
    fetched(hosted, B2, 5)

    hosted.lead(leadership(epoch=2), Assignment(ALL), now_ms=0)
    fetched(hosted, B3, 5)

    assert hosted.high_watermark == 0


def test_a_pending_removal_still_counts_and_a_pending_addition_counts_already() -> None:
    """Either outcome may be the one in ZooKeeper, and both electorates must have the record."""
    shrinking = leading(records=5)
    fetched(shrinking, B2, 5)
    shrinking.pending_isr = (B1, B2)
    shrinking.advance_high_watermark()
    assert shrinking.high_watermark == 0
    shrinking.commit_isr((B1, B2), ZkVersion(2))
    shrinking.advance_high_watermark()
    assert shrinking.high_watermark == 5

    growing = leading((B1, B2), records=5)
    growing.pending_isr = ALL
    fetched(growing, B3, 2)
    fetched(growing, B2, 5)
    assert growing.high_watermark == 2


def test_a_new_leader_starts_from_its_own_high_watermark_within_its_log() -> None:
    """A checkpoint may be ahead of a log that was cut after it."""
    hosted = HostedPartition(T0, B1, MemoryLog())
    hosted.log.append(LeaderEpoch(0), range(3))
    hosted.high_watermark = 8

    hosted.lead(leadership(), Assignment(ALL), now_ms=0)

    assert hosted.high_watermark == 3


def test_a_member_that_has_not_caught_up_for_the_lag_time_is_left_out() -> None:
    """At the limit it stays, as in Kafka; one millisecond later it goes."""
    hosted = leading(records=5)
    fetched(hosted, B2, 5)

    assert hosted.choose_shrunk_isr(LAG_MS, LAG_MS) is None
    assert hosted.choose_shrunk_isr(LAG_MS + 1, LAG_MS) == (B1, B2)


def test_reaching_the_leaders_end_of_the_fetch_before_counts_as_caught_up_then() -> None:
    """Under steady load a follower never reaches the present end, yet keeps up."""
    hosted = leading((B1, B2), records=5)
    fetched(hosted, B2, 3, now_ms=8_000)
    hosted.append("more")

    fetched(hosted, B2, 5, now_ms=9_000)

    assert hosted.choose_shrunk_isr(18_000, LAG_MS) is None
    assert hosted.choose_shrunk_isr(18_001, LAG_MS) == (B1,)


def test_an_idle_follower_was_caught_up_at_its_sessions_last_fetch() -> None:
    """Idle fetches name no partition; the first record after them looks the time up."""
    hosted = leading((B1, B2))
    session = FetchSession(B2, 1, last_fetch_ms=0)
    hosted.follower_fetched(session, 0, 0)
    session.last_fetch_ms = 50_000

    hosted.append("late")

    assert hosted.choose_shrunk_isr(60_000, LAG_MS) is None
    assert hosted.choose_shrunk_isr(60_001, LAG_MS) == (B1,)


def test_nothing_is_chosen_while_a_change_is_pending() -> None:
    """Two changes under way would have to guess each other's outcome."""
    hosted = leading((B1, B2), records=5)
    fetched(hosted, B3, 5)
    assert hosted.choose_grown_isr(anyone) == ALL
    hosted.pending_isr = ALL

    assert hosted.choose_shrunk_isr(99_999, LAG_MS) is None
    assert hosted.choose_grown_isr(anyone) is None


def test_a_follower_joins_at_the_high_watermark_but_not_before_the_epochs_start() -> None:
    """A new leader's high watermark may be behind what its predecessor had committed."""
    hosted = leading((B1, B2), records=5)

    fetched(hosted, B3, 4)
    assert hosted.high_watermark == 0
    assert hosted.choose_grown_isr(anyone) is None
    fetched(hosted, B3, 5)

    assert hosted.choose_grown_isr(anyone) == ALL


def test_a_follower_behind_the_high_watermark_does_not_join() -> None:
    """It could be elected and would lose committed records."""
    hosted = leading((B1,))
    hosted.append("a")

    fetched(hosted, B3, 0)
    assert hosted.high_watermark == 1
    assert hosted.choose_grown_isr(anyone) is None


def test_appends_are_released_in_order_by_the_high_watermark() -> None:
    """An answer for a record that is not committed yet would be a lie."""
    hosted = leading((B1, B2))
    for request_id in range(3):
        hosted.wait_for_commit(request_id, hosted.append("x"))

    fetched(hosted, B2, 2)

    assert [waiting.request_id for waiting in hosted.take_committed()] == [0, 1]
    assert [waiting.request_id for waiting in hosted.waiting] == [2]
