"""The log and its leader epochs."""

from hypothesis import given
from hypothesis import strategies as st

from regent.broker.hosted_partition import HostedPartition
from regent.broker.log import EpochEnd, LogEntry, MemoryLog, MemoryLogDirectory
from regent.broker.replica_fetcher import cut_where_histories_part
from regent.broker.replication_requests import EpochReply
from regent.model.ids import LeaderEpoch
from tests.unit.broker.wiring import B2, T0, T1


def log_of(*epochs: int) -> MemoryLog:
    """A log with one record for each epoch named, the record being its offset."""
    log = MemoryLog()
    log.append_entries([LogEntry(LeaderEpoch(e), offset) for offset, e in enumerate(epochs)])
    return log


def end_for(log: MemoryLog, epoch: int) -> tuple[int, int]:
    return log.end_offset_for(LeaderEpoch(epoch))


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    """It is the whole of what a leader tells a follower."""
    log = log_of(1, 1, 3, 3, 3, 6)

    assert end_for(log, 1) == (1, 2)
    assert end_for(log, 3) == (3, 5)
    assert end_for(log, 6) == (6, 6)


def test_an_epoch_the_log_lacks_is_answered_with_the_one_before() -> None:
    """The asker then knows that its own tail of that epoch is not in this history."""
    assert end_for(log_of(1, 1, 3, 3), 2) == (1, 2)
    assert end_for(log_of(1, 1, 3, 3), 9) == (3, 4)


def test_an_epoch_before_all_known_ones_ends_where_the_log_begins() -> None:
    """Kafka answers with the asked epoch itself, so that nothing of it survives."""
    assert end_for(log_of(4, 4), 2) == (2, 0)


def test_a_log_without_epochs_cannot_say() -> None:
    """A made-up offset would be taken for an order to cut."""
    assert MemoryLog().end_offset_for(LeaderEpoch(0)) == EpochEnd(LeaderEpoch(-1), -1)
    assert MemoryLog().latest_epoch is None


def test_a_leadership_without_records_is_remembered_until_the_next() -> None:
    """Its leader must be able to say that the epoch before it has ended."""
    log = log_of(1, 1)

    start = log.begin_epoch(LeaderEpoch(4))

    assert start == 2
    assert end_for(log, 1) == (1, 2)
    assert log.latest_epoch == 4
    log.begin_epoch(LeaderEpoch(5))
    assert end_for(log, 4) == (1, 2)


def test_beginning_the_same_epoch_again_keeps_its_start() -> None:
    """Otherwise the records already taken in it would seem to be of an older one."""
    log = log_of(1)
    log.append(LeaderEpoch(2), ("a", "b"))

    assert log.begin_epoch(LeaderEpoch(2)) == 1


def test_truncation_forgets_epochs_that_began_in_the_tail() -> None:
    """An epoch left behind would make the follower ask about records it no longer has."""
    log = log_of(1, 1, 3)
    log.begin_epoch(LeaderEpoch(7))

    log.truncate_to(3)
    assert log.latest_epoch == 3
    log.truncate_to(2)

    assert (log.latest_epoch, log.end_offset) == (1, 2)


def test_a_directory_keeps_logs_and_checkpoints_until_it_is_told_otherwise() -> None:
    """It is the part of a broker that survives a crash."""
    directory = MemoryLogDirectory()
    directory.open(T1)
    directory.open(T0).append(LeaderEpoch(1), ("a",))
    directory.checkpoint(T0, 1)

    assert directory.names() == (T0, T1)
    assert directory.open(T0).end_offset == 1
    assert directory.high_watermark(T0) == 1
    directory.delete(T0)
    assert not directory.has(T0)
    assert directory.high_watermark(T0) == 0
    directory.wipe()
    assert directory.names() == ()


epoch_lists = st.lists(st.integers(0, 8), max_size=20).map(sorted)


@given(epochs=epoch_lists, asked=st.integers(0, 9), cut=st.integers(0, 20))
def test_the_epoch_cache_says_what_the_records_say(epochs: list[int], asked: int, cut: int) -> None:
    """The cache is derived; after any truncation it must still agree with the log itself."""
    log = log_of(*epochs)

    log.truncate_to(cut)

    left = epochs[:cut]
    expected = (-1, -1)
    if left:
        upto = [e for e in left if e <= asked]
        expected = (upto[-1] if upto else asked, len(upto))
    assert end_for(log, asked) == expected
    assert log.latest_epoch == (left[-1] if left else None)


@given(mutual=epoch_lists, ours=epoch_lists, theirs=epoch_lists)
def test_cutting_by_epochs_leaves_just_what_both_have(
    mutual: list[int], ours: list[int], theirs: list[int]
) -> None:
    """The property that all of replication rests on, for logs in which an epoch has one leader.

    Epochs after the fork are made distinct (odd here, even there), as leader epochs are.
    """
    fork = max(mutual, default=0) + 1
    common = [LogEntry(LeaderEpoch(e), "common") for e in mutual]
    follower = HostedPartition(T0, B2, MemoryLog())
    follower.log.append_entries(common)
    follower.log.append_entries([LogEntry(LeaderEpoch(fork + 2 * e), "ours") for e in ours])
    leader = MemoryLog()
    leader.append_entries(common)
    leader.append_entries([LogEntry(LeaderEpoch(fork + 2 * e + 1), "theirs") for e in theirs])

    agreed = False
    for _ in range(len(mutual) + len(ours) + 1):
        latest_epoch = follower.log.latest_epoch
        if agreed or latest_epoch is None:
            agreed = True
            break
        epoch, end_offset = leader.end_offset_for(latest_epoch)
        reply = EpochReply(T0, leader_epoch=epoch, end_offset=end_offset)
        agreed = cut_where_histories_part(follower, reply)

    assert agreed
    assert follower.log.read(0, 100) == tuple(common)
