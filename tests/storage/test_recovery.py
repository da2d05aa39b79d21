"""After a crash: what was whole is there, what was torn is gone, and what is damaged is said."""

import logging
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regent.errors import CorruptLog
from regent.storage.leader_epochs import EPOCH_FILE_NAME
from regent.storage.log_loading import LastKnown
from regent.storage.partition_log import OffsetAtTime, PartitionLog
from regent.storage.segment import Segment
from tests.storage.batches import (
    E1,
    E2,
    T0,
    add,
    batch_of,
    open_log,
    segment_files,
    values_from,
)

CLEAN = LastKnown(was_closed_cleanly=True)


def filled(path: Path, count: int = 12, **config: Any) -> PartitionLog:
    """A log with a batch of two records for each number, in two epochs."""
    log = open_log(path, **config)
    for number in range(count):
        epoch = E1 if number < count // 2 else E2
        content = batch_of(b"%d" % number, b"x" * 40, timestamp=100 * number)
        add(log, content, leader_epoch=epoch)
    return log


def spoil(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def test_a_torn_last_batch_is_cut_off_wherever_it_was_torn(tmp_path: Path) -> None:
    """At every byte: a process may be killed within any write."""
    log = filled(tmp_path / "whole", count=3)
    log.abandon()
    content = segment_files(tmp_path / "whole")[0].read_bytes()
    last_begins = len(content) // 3 * 2
    for size in range(last_begins, len(content)):
        path = tmp_path / "torn"
        shutil.copytree(tmp_path / "whole", path)
        segment_files(path)[0].write_bytes(content[:size])

        again = open_log(path)

        assert (again.end_offset, len(values_from(again))) == (4, 4), size
        assert segment_files(path)[0].stat().st_size == last_begins
        assert add(again, batch_of(b"next"), leader_epoch=E2) == 4
        assert values_from(again)[-1] == (4, b"next")
        again.abandon()
        shutil.rmtree(path)


@pytest.mark.parametrize("behind", [1, 30, 60])
def test_a_last_batch_with_a_wrong_byte_is_cut_off(tmp_path: Path, behind: int) -> None:
    """Its pages reached the disk only in part."""
    filled(tmp_path, count=3).abandon()
    (segment,) = segment_files(tmp_path)
    spoil(segment, segment.stat().st_size - behind)

    again = open_log(tmp_path)

    assert values_from(again)[-1] == (3, b"x" * 40)


@pytest.mark.parametrize(
    ("position", "word"), [(16, "magic"), (8, "claims"), (11, "claims"), (40, "checksum")]
)
def test_what_is_cut_off_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, position: int, word: str
) -> None:
    """Somebody may want to know how much was lost, and why."""
    filled(tmp_path, count=1).abandon()
    (segment,) = segment_files(tmp_path)
    spoil(segment, position)

    with caplog.at_level(logging.WARNING):
        again = open_log(tmp_path)

    assert again.end_offset == 0
    assert word in caplog.text
    assert str(segment) in caplog.text


def test_zeroes_at_the_end_are_cut_off(tmp_path: Path) -> None:
    """As some file systems leave them after a loss of power."""
    filled(tmp_path, count=2).abandon()
    (segment,) = segment_files(tmp_path)
    segment.write_bytes(segment.read_bytes() + bytes(5_000))

    assert open_log(tmp_path).end_offset == 4


def test_a_batch_that_was_there_before_is_cut_off(tmp_path: Path) -> None:
    """Sound bytes at the wrong place are as bad as torn ones."""
    filled(tmp_path, count=2).abandon()
    (segment,) = segment_files(tmp_path)
    content = segment.read_bytes()
    segment.write_bytes(content + content)

    again = open_log(tmp_path)

    assert (again.end_offset, again.size_bytes) == (4, len(content))


def test_a_damaged_older_segment_refuses_the_log(tmp_path: Path) -> None:
    """Serving what is around the hole would hide that acknowledged records are gone."""
    filled(tmp_path, segment_bytes=300).abandon()
    segment = segment_files(tmp_path)[1]
    spoil(segment, 70)
    sizes = [path.stat().st_size for path in segment_files(tmp_path)]

    with pytest.raises(CorruptLog) as refused:
        open_log(tmp_path, segment_bytes=300, known=LastKnown(recovery_point=5))

    assert str(segment) in str(refused.value)
    assert (refused.value.position, refused.value.offset) == (0, int(segment.stem))
    assert [path.stat().st_size for path in segment_files(tmp_path)] == sizes, "nothing is cut off"


def spoil_second_batch(segment: Path) -> None:
    spoil(segment, segment.stat().st_size // 2 + 70)


def zero_second_batch(segment: Path) -> None:
    content = segment.read_bytes()
    segment.write_bytes(content[: len(content) // 2].ljust(len(content), b"\0"))


def tear_second_batch(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[:-20])


@pytest.mark.parametrize("tear", [spoil_second_batch, zero_second_batch, tear_second_batch])
@pytest.mark.parametrize("recovery_point", [0, 4, 6])
def test_a_torn_segment_that_was_not_synced_ends_the_log(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    tear: Callable[[Path], None],
    recovery_point: int,
) -> None:
    """The power failed: of files that were written one after the other, any may be torn."""
    config: dict[str, Any] = {"segment_bytes": 300, "index_interval_bytes": 100}
    log = filled(tmp_path, **config)
    before = values_from(log)
    log.abandon()
    segments = segment_files(tmp_path)
    later_bytes = sum(path.stat().st_size for path in segments[2:])
    tear(segments[1])

    again = open_log(tmp_path, known=LastKnown(recovery_point=recovery_point), **config)

    assert values_from(again) == before[:6]
    assert (again.end_offset, again.recovery_point) == (6, recovery_point)
    assert segment_files(tmp_path) == segments[:2]
    assert f"{len(segments) - 2} segments after it, with {later_bytes} bytes" in caplog.text
    files = sorted(path.name for path in (tmp_path / str(T0)).iterdir() if path.stem.isdigit())
    assert max(files) < f"{5:020}", "no index or snapshot of what is gone is left"
    assert again._epochs.entries == ((1, 0),)
    assert add(again, batch_of(b"next", timestamp=900), leader_epoch=E2) == 6
    again.close()
    again = open_log(tmp_path, known=CLEAN, **config)
    assert values_from(again) == [*before[:6], (6, b"next")]
    assert again._epochs.entries == ((1, 0), (2, 6))
    assert again.offset_for_timestamp(201) == OffsetAtTime(6, 900)


def test_later_segments_go_before_the_damage_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in between must leave a log that is cut again, and not one with a hole."""
    filled(tmp_path, segment_bytes=300).abandon()
    segments = segment_files(tmp_path)
    spoil_second_batch(segments[1])

    def be_killed(_segment: Segment, _position: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Segment, "cut", be_killed)
        with pytest.raises(KeyboardInterrupt):
            open_log(tmp_path, segment_bytes=300)

    assert segment_files(tmp_path) == segments[:2]
    assert open_log(tmp_path, segment_bytes=300).end_offset == 6


def test_damage_below_the_recovery_point_refuses_the_log(tmp_path: Path) -> None:
    """What was synced cannot have been torn by a crash: the disk has lost it."""
    log = filled(tmp_path, count=4)
    log.flush()
    known = LastKnown(recovery_point=log.recovery_point)
    log.abandon()
    (segment,) = segment_files(tmp_path)
    size = segment.stat().st_size
    spoil(segment, size // 2 + 70)

    with pytest.raises(CorruptLog):
        open_log(tmp_path, known=known)
    assert segment.stat().st_size == size
    assert open_log(tmp_path, known=LastKnown(recovery_point=4)).end_offset == 4


def test_damage_that_a_reader_meets_is_met_by_all_who_come_later(tmp_path: Path) -> None:
    """Else they would go on in the next segment, and never know that records are missing."""
    filled(tmp_path, segment_bytes=400).close()
    spoil(segment_files(tmp_path)[0], 10)
    for index in (tmp_path / str(T0)).glob("*.index"):
        index.unlink()

    again = open_log(tmp_path, known=CLEAN, segment_bytes=400)

    for _ in range(2):
        with pytest.raises(CorruptLog, match=r"byte 0, at offset 0: .* claims"):
            again.read(0, 1_000)
    assert values_from(again, 6)[0] == (6, b"3")
    assert again.end_offset == 24


def test_damage_that_retention_meets_is_met_the_next_time_too(tmp_path: Path) -> None:
    """The indexes are whole, but the first batch is not: its time cannot be known."""
    config: dict[str, Any] = {"segment_bytes": 400, "index_interval_bytes": 100}
    filled(tmp_path, **config).close()
    spoil(segment_files(tmp_path)[0], 9)

    again = open_log(tmp_path, known=CLEAN, now_ms=100_000, retention_ms=1, **config)

    for _ in range(3):
        with pytest.raises(CorruptLog, match="byte 0, at offset 0"):
            again.apply_retention(again.end_offset)
    assert again.start_offset == 0


def test_segments_before_the_recovery_point_are_not_read(tmp_path: Path) -> None:
    """A crash must not cost the reading of a terabyte."""
    log = filled(tmp_path, segment_bytes=300)
    log.flush_rolled()
    known = LastKnown(recovery_point=log.recovery_point)
    log.abandon()
    spoil(segment_files(tmp_path)[0], 70)

    assert open_log(tmp_path, known=known, segment_bytes=300).end_offset == 24


def test_a_crash_between_two_segments_is_survived(tmp_path: Path) -> None:
    """The new file is there, and nothing is in it."""
    log = filled(tmp_path, count=3)
    log.abandon()
    (tmp_path / str(T0) / f"{6:020d}.log").touch()

    again = open_log(tmp_path)

    assert (again.end_offset, len(values_from(again))) == (6, 6)
    assert add(again, batch_of(b"y"), leader_epoch=E2) == 6


def test_overlapping_segments_refuse_the_log(tmp_path: Path) -> None:
    """Two records of one offset: nobody can say which was acknowledged."""
    filled(tmp_path, count=3).abandon()
    (segment,) = segment_files(tmp_path)
    shutil.copy(segment, segment.with_name(f"{4:020d}.log"))

    with pytest.raises(CorruptLog, match="begins at offset 4"):
        open_log(tmp_path)


def with_one_more(content: bytes, position: int) -> bytes:
    """The number at a position is greater by one: still in order, and wrong."""
    if len(content) < position + 4:
        return content
    (number,) = struct.unpack_from(">i", content, position)
    return content[:position] + struct.pack(">i", number + 1) + content[position + 4 :]


# fmt: off
INDEX_FAULTS: dict[str, Callable[[Path], object]] = {
    "missing":             lambda path: path.unlink(),
    "empty":               lambda path: path.write_bytes(b""),
    "torn":                lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "one entry less":      lambda path: path.write_bytes(path.read_bytes()[:-24]),
    "zeroes":              lambda path: path.write_bytes(bytes(len(path.read_bytes()))),
    "ones":                lambda path: path.write_bytes(b"\xff" * len(path.read_bytes())),
    "beyond the end":      lambda path: path.write_bytes(struct.pack(">ii", 1, 2**30) * 3),
    "inside of a batch":   lambda path: path.write_bytes(struct.pack(">iiii", 2, 150, 8, 333)),
    "the wrong batch":     lambda path: path.write_bytes(struct.pack(">ii", 1, 4 * 117)),
    "reversed":            lambda path: path.write_bytes(path.read_bytes()[::-1]),
    "one wrong position":  lambda path: path.write_bytes(with_one_more(path.read_bytes(), 12)),
}
# fmt: on


@pytest.mark.parametrize("fault", INDEX_FAULTS)
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("number", [0, -1], ids=["first", "last"])
def test_an_index_that_is_wrong_is_made_again(
    tmp_path: Path, fault: str, suffix: str, number: int
) -> None:
    """It is a convenience, and must never decide what is read or deleted."""
    config: dict[str, Any] = {"segment_bytes": 1_300, "index_interval_bytes": 100}
    log = filled(tmp_path, count=24, **config)
    before = values_from(log)
    log.close()
    index = sorted((tmp_path / str(T0)).glob("*" + suffix))[number]
    INDEX_FAULTS[fault](index)

    again = open_log(tmp_path, known=CLEAN, now_ms=3_000, retention_ms=1_000, **config)

    assert values_from(again) == before
    assert [again.offset_for_timestamp(100 * each) for each in range(24)] == [
        OffsetAtTime(2 * each, 100 * each) for each in range(24)
    ]
    again.apply_retention(again.end_offset)
    assert again.start_offset == 22
    assert add(again, batch_of(b"y"), leader_epoch=E2) == 48


def test_an_index_that_helps_nobody_is_made_again(tmp_path: Path) -> None:
    """Zeroes are right for every offset, but every read would begin at the beginning."""
    filled(tmp_path, index_interval_bytes=100).close()
    (index,) = (tmp_path / str(T0)).glob("*.index")
    before = index.read_bytes()
    index.write_bytes(bytes(len(before)))

    open_log(tmp_path, known=CLEAN, index_interval_bytes=100).close()

    assert index.read_bytes() == before


def test_an_index_without_a_segment_is_swept_up(tmp_path: Path) -> None:
    """A deletion was interrupted."""
    filled(tmp_path, count=1).close()
    stray = tmp_path / str(T0) / f"{900:020d}.index"
    stray.touch()

    assert open_log(tmp_path).end_offset == 2
    assert not stray.exists()


@pytest.mark.parametrize("content", [None, "", "0\n1\n", "nonsense"])
def test_lost_leader_epochs_are_read_from_the_batches(tmp_path: Path, content: str | None) -> None:
    """Without them a follower would be cut too far, or not far enough."""
    log = filled(tmp_path, segment_bytes=300)
    before = log._epochs.entries
    log.close()
    path = tmp_path / str(T0) / EPOCH_FILE_NAME
    if content is None:
        path.unlink()
    else:
        path.write_text(content)

    again = open_log(tmp_path, known=CLEAN, segment_bytes=300)

    assert again._epochs.entries == before == ((1, 0), (2, 12))


def test_epochs_that_were_not_saved_are_read_from_the_batches(tmp_path: Path) -> None:
    """An old file is as good as none: the batches know better."""
    log = filled(tmp_path, count=4)
    log.abandon()
    (tmp_path / str(T0) / EPOCH_FILE_NAME).write_text("0\n1\n1 0\n")

    assert open_log(tmp_path).end_offset_for(E1) == (1, 4)


def test_epochs_of_torn_records_are_forgotten(tmp_path: Path) -> None:
    log = filled(tmp_path, count=2)
    log.abandon()
    (segment,) = segment_files(tmp_path)
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 4])

    assert open_log(tmp_path)._epochs.entries == ((1, 0),)
    assert open_log(tmp_path).latest_epoch == 1


def test_a_deleted_beginning_stays_deleted(tmp_path: Path) -> None:
    """Even if everything after it was torn away."""
    log = filled(tmp_path, count=3)
    log.abandon()
    (segment,) = segment_files(tmp_path)
    segment.write_bytes(segment.read_bytes()[:-1])

    again = open_log(tmp_path, known=LastKnown(start_offset=5))

    assert (again.start_offset, again.end_offset) == (5, 5)
    assert add(again, batch_of(b"y"), leader_epoch=E2) == 5
