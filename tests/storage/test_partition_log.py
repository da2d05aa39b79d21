"""A log on disk: what goes in comes out, in order, and goes when it may."""

from pathlib import Path

from regent.model.error_codes import ErrorCode
from regent.storage.log_loading import LastKnown
from regent.storage.partition_log import OffsetAtTime
from regent.storage.record_batch import RecordsRefused
from regent.storage.records import batches_in
from tests.storage.batches import (
    E1,
    E2,
    T0,
    add,
    batch_of,
    open_log,
    segment_files,
    sent,
    values_from,
)


def base_offsets(content: bytes | None) -> list[int]:
    assert content is not None
    return [batch.header.base_offset for batch in batches_in(content)]


def test_records_come_back_with_their_offsets(tmp_path: Path) -> None:
    log = open_log(tmp_path)

    assert add(log, batch_of(b"a", b"b")) == 0
    assert add(log, batch_of(b"c"), leader_epoch=E2) == 2

    assert values_from(log) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert (log.start_offset, log.end_offset, log.latest_epoch) == (0, 3, 2)
    content = log.read(0, 10_000)
    assert content is not None
    assert [batch.header.leader_epoch for batch in batches_in(content)] == [1, 2]


def test_the_files_have_kafkas_names(tmp_path: Path) -> None:
    """Others' tools can look at them."""
    log = open_log(tmp_path, segment_bytes=300)
    for _ in range(4):
        add(log, batch_of(b"x" * 100))
    log.close()

    assert sorted(path.name for path in (tmp_path / "orders-0").iterdir()) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000001.index",
        "00000000000000000001.log",
        "00000000000000000001.producers",
        "00000000000000000001.timeindex",
        "00000000000000000002.index",
        "00000000000000000002.log",
        "00000000000000000002.producers",
        "00000000000000000002.timeindex",
        "00000000000000000003.index",
        "00000000000000000003.log",
        "00000000000000000003.producers",
        "00000000000000000003.timeindex",
        "00000000000000000004.producers",
        "leader-epoch-checkpoint",
    ]


def test_a_read_has_whole_batches_and_at_least_one(tmp_path: Path) -> None:
    """A record larger than a fetch would otherwise never arrive."""
    log = open_log(tmp_path)
    batch = batch_of(b"a", b"b")
    add(log, *[batch] * 5)
    size = len(batch)

    assert base_offsets(log.read(0, 1)) == [0]
    assert base_offsets(log.read(1, 1)) == [0]
    assert base_offsets(log.read(3, 2 * size)) == [2, 4]
    assert base_offsets(log.read(2, 3 * size - 1)) == [2, 4]
    assert base_offsets(log.read(2, 10_000)) == [2, 4, 6, 8]


def test_a_read_ends_at_the_given_offset(tmp_path: Path) -> None:
    """Clients see only what is committed."""
    log = open_log(tmp_path)
    add(log, *[batch_of(b"a", b"b")] * 4)

    assert base_offsets(log.read(0, 10_000, 4)) == [0, 2]
    assert base_offsets(log.read(0, 10_000, 5)) == [0, 2]
    assert log.read(4, 10_000, 4) == b""
    assert log.read(5, 10_000, 4) == b""
    assert log.read(0, 10_000, 1) == b""


def test_an_offset_out_of_range_is_told_from_an_empty_answer(tmp_path: Path) -> None:
    """One resets the client, the other lets it wait."""
    log = open_log(tmp_path)
    add(log, batch_of(b"a", b"b"))
    log.delete_records(1, high_watermark=2)

    assert log.read(0, 100) is None
    assert log.read(3, 100) is None
    assert log.read(2, 100) == b""
    assert base_offsets(log.read(1, 100)) == [0]


def test_a_segment_is_closed_before_it_grows_too_large(tmp_path: Path) -> None:
    batch = batch_of(b"x" * 100)
    log = open_log(tmp_path, segment_bytes=2 * len(batch))

    for _ in range(5):
        add(log, batch)

    assert [path.stat().st_size // len(batch) for path in segment_files(tmp_path)] == [2, 2, 1]


def test_a_segment_spans_no_more_than_its_time(tmp_path: Path) -> None:
    """By the records' time: otherwise a slow topic would keep its records for ever."""
    log = open_log(tmp_path, segment_ms=1_000)
    for timestamp in (5_000, 6_000, 6_001, 6_500):
        add(log, batch_of(b"x", timestamp=timestamp))

    assert [int(path.stem) for path in segment_files(tmp_path)] == [0, 2]


def test_an_offset_too_far_for_the_index_begins_a_segment(tmp_path: Path) -> None:
    """Entries have 31 bits."""
    log = open_log(tmp_path)
    log.append_entries(sent(batch_of(b"a"), 0) + sent(batch_of(b"b"), 2**31))

    assert [int(path.stem) for path in segment_files(tmp_path)] == [0, 2**31]
    assert values_from(log, 1) == [(2**31, b"b")]


def test_a_batch_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=100)

    outcome = log.admit(batch_of(b"x" * 100))

    assert isinstance(outcome, RecordsRefused)
    assert outcome.error is ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_follower_stores_what_it_is_sent_byte_by_byte(tmp_path: Path) -> None:
    """Replicas are identical, whatever their segments."""
    leader = open_log(tmp_path / "1")
    follower = open_log(tmp_path / "2", segment_bytes=300)
    for number in range(9):
        epoch = E1 if number < 5 else E2
        add(leader, batch_of(b"x" * 50, b"%d" % number), leader_epoch=epoch)

    content = leader.read(0, 100_000)
    assert content is not None
    assert follower.append_entries(content) is None

    copied = [path.read_bytes() for path in segment_files(tmp_path / "2")]
    assert len(copied) > 1
    assert b"".join(copied) == segment_files(tmp_path / "1")[0].read_bytes()
    assert follower.end_offset_for(E1) == leader.end_offset_for(E1) == (1, 10)


def test_a_follower_takes_all_of_an_answer_or_nothing(tmp_path: Path) -> None:
    """It fetches again from where it stands."""
    log = open_log(tmp_path)
    good, torn = sent(batch_of(b"a"), 0), sent(batch_of(b"b"), 1)[:-1]

    refused = log.append_entries(good + torn)

    assert isinstance(refused, RecordsRefused)
    assert (refused.error, log.end_offset) == (ErrorCode.CORRUPT_MESSAGE, 0)


def test_a_follower_refuses_offsets_it_has(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append_entries(sent(batch_of(b"a", b"b"), 0))

    refused = log.append_entries(sent(batch_of(b"c", b"d"), 1))

    assert isinstance(refused, RecordsRefused)
    assert values_from(log) == [(0, b"a"), (1, b"b")]


def test_an_empty_follower_may_begin_within_a_batch(tmp_path: Path) -> None:
    """The leader's log can begin there, after records were deleted."""
    log = open_log(tmp_path)
    log.truncate_fully(11)

    assert log.append_entries(sent(batch_of(b"a", b"b", b"c"), 10)) is None

    assert (log.start_offset, log.end_offset) == (11, 13)
    assert values_from(log) == [(11, b"b"), (12, b"c")]


def test_a_cut_within_a_batch_takes_all_of_it(tmp_path: Path) -> None:
    """Half a batch cannot be stored, and the leader will send the whole one."""
    log = open_log(tmp_path)
    add(log, batch_of(b"a"), batch_of(b"b", b"c", b"d"))

    log.truncate_to(3)

    assert log.end_offset == 1
    assert log.append_entries(sent(batch_of(b"b", b"c", b"d"), 1)) is None


def test_after_a_cut_nothing_is_looked_for_at_its_old_place(tmp_path: Path) -> None:
    """Other batches may stand there now."""
    log = open_log(tmp_path)
    add(log, *[batch_of(b"x" * 50)] * 3)

    log.truncate_to(1)
    add(log, batch_of(b"a", b"b", b"c"))

    assert [base_offsets(log.read(offset, 1)) for offset in range(4)] == [[0], [1], [1], [1]]


def test_a_cut_knows_the_times_of_what_is_left(tmp_path: Path) -> None:
    """Retention goes by them."""
    log = open_log(tmp_path, now_ms=100_000, retention_ms=500)
    for timestamp in (1_000, 1_000, 200_000):
        add(log, batch_of(b"x", timestamp=timestamp))

    log.truncate_to(2)

    assert log.apply_retention(high_watermark=2) == 1


def test_a_cut_forgets_epochs_that_began_there(tmp_path: Path) -> None:
    """Even one that had no record yet: the leader may never have had it."""
    log = open_log(tmp_path)
    add(log, batch_of(b"a"))
    log.begin_epoch(E2)

    log.truncate_to(1)

    assert (log.latest_epoch, log.end_offset) == (1, 1)


def test_a_cut_before_the_first_segment_begins_there_anew(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.truncate_fully(50)
    add(log, batch_of(b"a"))

    log.truncate_to(20)

    assert (log.start_offset, log.end_offset, log.latest_epoch) == (20, 20, None)
    assert add(log, batch_of(b"b")) == 20


def test_what_a_cut_removes_is_no_longer_trusted(tmp_path: Path) -> None:
    """The recovery point must be lowered, on disk, before something else can stand there."""
    log = open_log(tmp_path)
    add(log, batch_of(b"a"), batch_of(b"b"))
    log.flush()
    lowered = []
    log._lower_checkpoints = lambda: lowered.append((log.recovery_point, log.end_offset))

    log.truncate_to(1)

    assert lowered == [(1, 2)]


def test_the_first_record_of_a_time_is_found(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=400, index_interval_bytes=100)
    for number in range(20):
        add(log, batch_of(b"x", b"y" * 50, timestamp=100 * number))

    assert log.offset_for_timestamp(0) == OffsetAtTime(0, 0)
    assert log.offset_for_timestamp(250) == OffsetAtTime(6, 300)
    assert log.offset_for_timestamp(1_900) == OffsetAtTime(38, 1_900)
    assert log.offset_for_timestamp(1_901) is None


def test_the_first_record_is_found_among_disordered_times(tmp_path: Path) -> None:
    """The first by offset, not the one with the nearest time."""
    log = open_log(tmp_path, index_interval_bytes=1)
    for timestamp in (500, 100, 900, 300, 1_000, 950):
        add(log, batch_of(b"x", timestamp=timestamp))

    found = [log.offset_for_timestamp(each) for each in (1, 501, 901, 1_000)]

    assert found == [
        OffsetAtTime(0, 500),
        OffsetAtTime(2, 900),
        OffsetAtTime(4, 1_000),
        OffsetAtTime(4, 1_000),
    ]
    log.truncate_to(4)
    assert log.offset_for_timestamp(901) is None


def test_deleted_records_are_not_found_by_time(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    add(log, batch_of(b"a", b"b", timestamp=5), batch_of(b"c", timestamp=6))

    assert log.delete_records(1, high_watermark=3) == 1

    assert log.offset_for_timestamp(0) == OffsetAtTime(1, 5)


def test_only_committed_records_can_be_deleted(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    add(log, *[batch_of(b"a")] * 4)

    assert log.delete_records(3, high_watermark=2) is None
    assert log.delete_records(-2, high_watermark=2) is None
    assert log.delete_records(-1, high_watermark=2) == 2
    assert log.delete_records(1, high_watermark=2) == 2


def test_old_segments_go_by_time(tmp_path: Path) -> None:
    """By the latest record in them, and never the uncommitted ones."""
    log = open_log(tmp_path, now_ms=2_000, segment_bytes=100, retention_ms=500)
    for timestamp in (1_000, 1_400, 1_499, 1_500, 1_000):
        add(log, batch_of(b"x" * 20, timestamp=timestamp))

    assert log.apply_retention(high_watermark=2) == 2
    assert log.apply_retention(high_watermark=5) == 1

    assert (log.start_offset, [offset for offset, _ in values_from(log)]) == (3, [3, 4])
    assert [int(path.stem) for path in segment_files(tmp_path)] == [3, 4]


def test_a_log_of_old_records_only_becomes_empty_and_keeps_its_place(tmp_path: Path) -> None:
    """The next offset must not be given out a second time."""
    log = open_log(tmp_path, now_ms=100_000, retention_ms=500)
    add(log, batch_of(b"a", b"b"))

    assert log.apply_retention(high_watermark=2) == 1

    log.abandon()
    again = open_log(tmp_path)
    assert (again.start_offset, again.end_offset) == (2, 2)
    assert again.read(0, 100) is None


def test_old_segments_go_by_size(tmp_path: Path) -> None:
    """As long as what is left is still as much as was asked for."""
    size = len(batch_of(b"x"))
    log = open_log(
        tmp_path, segment_bytes=size, retention_bytes=2 * size, retention_ms=-1, now_ms=10**12
    )
    add(log, *[batch_of(b"x")] * 5)

    assert log.apply_retention(high_watermark=5) == 3
    assert (log.start_offset, log.size_bytes) == (3, 2 * size)


def test_deleted_records_free_their_segments(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=100, retention_ms=-1)
    add(log, *[batch_of(b"x" * 20)] * 4)
    log.delete_records(2, high_watermark=4)

    assert log.apply_retention(high_watermark=4) == 2
    assert [int(path.stem) for path in segment_files(tmp_path)] == [2, 3]


def test_syncs_come_when_they_were_promised(tmp_path: Path) -> None:
    """The recovery point says what is on the disk itself."""
    always = open_log(tmp_path / "always", flush_messages=1)
    every = open_log(tmp_path / "every", flush_messages=3)
    never = open_log(tmp_path / "never")
    timed = open_log(tmp_path / "timed", flush_ms=0)

    points = []
    for log in (always, every, never, timed):
        for _ in range(4):
            add(log, batch_of(b"x"))
        log.flush_if_due()
        points.append(log.recovery_point)

    assert points == [4, 3, 0, 4]


def test_finished_segments_can_be_synced_alone(tmp_path: Path) -> None:
    """So that a crash costs only the reading of the last one."""
    log = open_log(tmp_path, segment_bytes=100)
    add(log, *[batch_of(b"x" * 20)] * 3)

    log.flush_rolled()

    assert log.recovery_point == 2


def test_a_clean_end_is_a_clean_start(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=300)
    for number in range(9):
        add(log, batch_of(b"x" * 50, b"%d" % number, timestamp=number))
    before = (values_from(log), log.latest_epoch, log.offset_for_timestamp(4))
    log.close()

    again = open_log(tmp_path, segment_bytes=300, known=LastKnown(was_closed_cleanly=True))

    assert (values_from(again), again.latest_epoch, again.offset_for_timestamp(4)) == before
    assert again.recovery_point == again.end_offset == 18
    assert add(again, batch_of(b"y")) == 18
    assert (tmp_path / str(T0)).is_dir()
