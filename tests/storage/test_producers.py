"""A producer's retry is stored once, whatever happens in between."""

from pathlib import Path

import pytest

from regent.errors import CorruptLog
from regent.model.error_codes import ErrorCode
from regent.storage.log_loading import LastKnown
from regent.storage.partition_log import PartitionLog
from regent.storage.producers import StoredBatch
from regent.storage.record_batch import CheckedBatch, RecordsRefused
from tests.storage.batches import (
    T0,
    add,
    batch_of,
    checked,
    open_log,
    segment_files,
    sent,
    values_from,
)

CLEAN = LastKnown(was_closed_cleanly=True)


def from_producer(sequence: int, *values: bytes, epoch: int = 0, producer_id: int = 7) -> bytes:
    return batch_of(
        *(values or (b"v",)),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def refusal(log: PartitionLog, content: bytes) -> ErrorCode:
    outcome = log.admit(content)
    assert isinstance(outcome, RecordsRefused)
    return outcome.error


def known_offset(log: PartitionLog, content: bytes) -> int:
    outcome = log.admit(content)
    assert isinstance(outcome, StoredBatch)
    return outcome.base_offset


def test_a_repeated_batch_is_answered_with_its_old_offset(tmp_path: Path) -> None:
    """Any of the five that a producer may have under way."""
    log = open_log(tmp_path)
    batches = [from_producer(2 * number, b"a", b"b") for number in range(6)]
    add(log, batch_of(b"other"))
    for batch in batches:
        add(log, batch)

    assert [known_offset(log, batch) for batch in batches[1:]] == [3, 5, 7, 9, 11]
    assert log.end_offset == 13


def test_an_older_repetition_is_out_of_order(tmp_path: Path) -> None:
    """It cannot be told from a gap, and must not be stored."""
    log = open_log(tmp_path)
    for number in range(6):
        add(log, from_producer(number))

    assert refusal(log, from_producer(0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_refused(tmp_path: Path) -> None:
    """A batch was lost on the way; the producer has to send it first."""
    log = open_log(tmp_path)
    add(log, from_producer(0, b"a", b"b"))

    assert refusal(log, from_producer(3)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(log, from_producer(1, b"b")) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert isinstance(log.admit(from_producer(2)), CheckedBatch)


def test_the_same_first_number_with_another_length_is_no_repetition(tmp_path: Path) -> None:
    """Answering it as known would lose the records that were not there before."""
    log = open_log(tmp_path)
    add(log, from_producer(0, b"a"))

    longer = from_producer(0, b"a", b"b")
    assert refusal(log, longer) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_after_the_largest_number_comes_zero(tmp_path: Path) -> None:
    """A producer that lives long must not be stopped by it."""
    log = open_log(tmp_path)
    add(log, from_producer(2**31 - 2, b"a", b"b"))

    assert isinstance(log.admit(from_producer(0)), CheckedBatch)


def test_an_older_producer_epoch_is_fenced(tmp_path: Path) -> None:
    """Another instance has taken over the producer id."""
    log = open_log(tmp_path)
    add(log, from_producer(0, epoch=3))

    assert refusal(log, from_producer(1, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_new_producer_epoch_begins_at_zero(tmp_path: Path) -> None:
    """Whatever the old one had sent."""
    log = open_log(tmp_path)
    add(log, from_producer(0), from_producer(1))

    wrong = from_producer(2, epoch=1)
    assert refusal(log, wrong) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    add(log, from_producer(0, epoch=1))
    assert refusal(log, from_producer(2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_unknown_producer_may_begin_anywhere(tmp_path: Path) -> None:
    """Its earlier records may have been deleted (KIP-360)."""
    assert isinstance(open_log(tmp_path).admit(from_producer(42)), CheckedBatch)


def test_a_crash_forgets_nothing(tmp_path: Path) -> None:
    """The retry of an unanswered batch comes right after the broker is back."""
    log = open_log(tmp_path, segment_bytes=300)
    batches = [from_producer(number, b"x" * 50) for number in range(9)]
    for batch in batches:
        add(log, batch)
    log.abandon()

    again = open_log(tmp_path, segment_bytes=300)

    assert [known_offset(again, batch) for batch in batches[4:]] == [4, 5, 6, 7, 8]
    assert refusal(again, batches[3]) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_clean_restart_forgets_nothing_either(tmp_path: Path) -> None:
    """All five, and without reading the log."""
    log = open_log(tmp_path)
    batches = [from_producer(number) for number in range(5)]
    for batch in batches:
        add(log, batch)
    log.close()

    again = open_log(tmp_path, known=CLEAN)

    assert [known_offset(again, batch) for batch in batches] == [0, 1, 2, 3, 4]


def snapshots(path: Path) -> list[int]:
    return sorted(int(each.stem) for each in path.rglob("*.producers"))


def test_clean_restarts_leave_one_snapshot(tmp_path: Path) -> None:
    """Beside those where a segment begins, which a cut goes back to."""
    batches = [from_producer(number, b"x" * 50) for number in range(8)]
    for batch in batches[:7]:
        log = open_log(tmp_path, known=CLEAN, segment_bytes=400)
        add(log, batch)
        log.close()

    assert [int(path.stem) for path in segment_files(tmp_path)] == [0, 3, 6]
    assert snapshots(tmp_path) == [3, 6, 7]
    log = open_log(tmp_path, known=CLEAN, segment_bytes=400)
    assert [known_offset(log, batch) for batch in batches[2:7]] == [2, 3, 4, 5, 6]
    log.truncate_to(5)
    assert snapshots(tmp_path) == [3]
    assert [known_offset(log, batch) for batch in batches[:5]] == [0, 1, 2, 3, 4]
    for batch in batches[5:]:
        add(log, batch)
    assert log.end_offset == 8


def test_a_new_segment_leaves_no_snapshot_within_the_last(tmp_path: Path) -> None:
    """A log that is never closed again would keep it until it is deleted."""
    log = open_log(tmp_path, segment_bytes=400)
    add(log, from_producer(0, b"x" * 50))
    log.close()
    assert snapshots(tmp_path) == [1]

    log = open_log(tmp_path, known=CLEAN, segment_bytes=400)
    for number in range(1, 4):
        add(log, from_producer(number, b"x" * 50))

    assert snapshots(tmp_path) == [3]


def test_a_damaged_snapshot_is_made_up_for_by_the_log(tmp_path: Path) -> None:
    """It only saves time."""
    log = open_log(tmp_path)
    add(log, from_producer(0))
    log.close()
    (snapshot,) = (tmp_path / str(T0)).glob("*.producers")
    # The offsets of the batch; the form is as good as before.
    snapshot.write_bytes(snapshot.read_bytes()[:-2] + b"\x05\x05")

    assert known_offset(open_log(tmp_path, known=CLEAN), from_producer(0)) == 0


def test_a_snapshot_of_what_was_torn_away_is_not_believed(tmp_path: Path) -> None:
    """Otherwise the retry of a lost batch would be answered as stored."""
    log = open_log(tmp_path)
    add(log, from_producer(0), from_producer(1))
    log.close()
    (segment,) = segment_files(tmp_path)
    segment.write_bytes(segment.read_bytes()[:-1])

    again = open_log(tmp_path)

    assert known_offset(again, from_producer(0)) == 0
    assert isinstance(again.admit(from_producer(1)), CheckedBatch)


def test_producers_of_torn_segments_are_forgotten(tmp_path: Path) -> None:
    """Their snapshots stand there still, and tell of batches that are gone."""
    log = open_log(tmp_path, segment_bytes=300)
    batches = [from_producer(number, b"x" * 50) for number in range(9)]
    for batch in batches:
        add(log, batch)
    log.close()
    second = segment_files(tmp_path)[1]
    second.write_bytes(second.read_bytes()[:-1])

    again = open_log(tmp_path, segment_bytes=300)

    assert again.end_offset == 3
    assert [known_offset(again, batch) for batch in batches[:3]] == [0, 1, 2]
    for batch in batches[3:]:
        add(again, batch)
    assert again.end_offset == 9


def test_a_cut_forgets_exactly_what_it_removes(tmp_path: Path) -> None:
    """Otherwise a producer's retry would be answered with a record that is gone."""
    log = open_log(tmp_path, segment_bytes=300)
    batches = [from_producer(number, b"x" * 50) for number in range(12)]
    for batch in batches:
        add(log, batch)

    log.truncate_to(5)

    assert [known_offset(log, batch) for batch in batches[:5]] == [0, 1, 2, 3, 4]
    add(log, batches[5])
    assert [offset for offset, _ in values_from(log)] == [0, 1, 2, 3, 4, 5]


def test_a_follower_learns_of_producers_and_refuses_nothing(tmp_path: Path) -> None:
    """When it becomes leader it must know their retries."""
    log = open_log(tmp_path)

    assert log.append_entries(sent(from_producer(8), 0) + sent(from_producer(3), 1)) is None
    assert known_offset(log, from_producer(3)) == 1


def test_silent_producers_are_forgotten(tmp_path: Path) -> None:
    """Every client that ever was would fill the memory."""
    log = open_log(tmp_path, now_ms=10_000)
    add(log, from_producer(0))
    log.close()

    later = open_log(tmp_path, known=CLEAN, now_ms=11_001, producer_expiration_ms=1_000)
    later.apply_retention(0)

    assert isinstance(later.admit(from_producer(0)), CheckedBatch)


def test_whoever_copies_old_records_is_not_silent(tmp_path: Path) -> None:
    """Its retry comes right after a look at what may go; Kafka stores it twice."""
    log = open_log(tmp_path, now_ms=10_000, producer_expiration_ms=1_000)
    old = from_producer(0)
    assert checked(old).header.max_timestamp == 1_000
    add(log, old)

    log.apply_retention(0)
    assert known_offset(log, old) == 0
    log.abandon()

    again = open_log(tmp_path, now_ms=10_000, producer_expiration_ms=1_000)
    again.apply_retention(0)
    assert known_offset(again, old) == 0


def test_producers_that_damage_hides_are_not_taken_for_unknown(tmp_path: Path) -> None:
    """A cut that could not find out about them is not over until it can."""
    log = open_log(tmp_path, segment_bytes=400)
    for number in range(4):
        add(log, from_producer(number, b"x" * 80))
    for path in tmp_path.rglob("*.producers"):
        path.unlink()
    first = segment_files(tmp_path)[0]
    sound = first.read_bytes()
    first.write_bytes(sound[: len(sound) // 2].ljust(len(sound), b"\0"))

    for _ in range(2):
        with pytest.raises(CorruptLog):
            log.truncate_to(3)
    first.write_bytes(sound)
    log.truncate_to(3)

    assert known_offset(log, from_producer(1, b"x" * 80)) == 1
