"""The reader: order, torn ends, damage."""

from pathlib import Path

import pytest

from regent.errors import BadInput, CorruptJournal
from regent.journal.reader import read, read_lines
from regent.journal.record import Record, encode
from tests.unit.journal.builders import B2, record

FIRST, SECOND = "journal-1-00000001.jsonl", "journal-1-00000002.jsonl"


def write(path: Path, *records: Record, tail: bytes = b"") -> Path:
    """A segment with these records, and perhaps something after them."""
    path.write_bytes(b"".join(encode(r) + b"\n" for r in records) + tail)
    return path


def test_the_epoch_orders_before_the_sequence_and_the_sequence_before_the_clock(
    tmp_path: Path,
) -> None:
    """What a deposed controller still wrote comes before all that its successor did."""
    write(tmp_path / FIRST, record(1, epoch=1), record(9, epoch=1), record(10, epoch=3))
    write(
        tmp_path / "journal-2-00000001.jsonl",
        record(1, epoch=2, controller_id=B2),
        record(2, epoch=2, controller_id=B2),
    )

    actual = [(r.controller_epoch, r.seq) for r in read([tmp_path])]

    assert actual == [(1, 1), (1, 9), (2, 1), (2, 2), (3, 10)]


def test_segments_are_ordered_by_number_not_by_spelling(tmp_path: Path) -> None:
    """The ninth digit must not send a segment to the front."""
    write(tmp_path / "journal-1-99999999.jsonl", record(1))
    write(tmp_path / "journal-1-100000000.jsonl", record(2))

    assert [r.seq for r in read([tmp_path])] == [1, 2]


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    """A directory and a file in it are easily given together."""
    path = write(tmp_path / FIRST, record(1))

    assert [r.seq for r in read([tmp_path, path])] == [1]


def test_other_files_in_the_directory_are_left_alone(tmp_path: Path) -> None:
    """Only names that the writer gives are segments; a file named outright is always read."""
    other = write(tmp_path / "notes.jsonl", record(5))

    assert list(read([tmp_path])) == []
    assert list(read([other])) == [record(5)]


@pytest.mark.parametrize("cut", [1, 20, len(encode(record(2)))])
def test_a_torn_last_line_is_skipped(tmp_path: Path, cut: int) -> None:
    """Wherever the crash, or the writer at this moment, cut the line."""
    path = write(tmp_path / FIRST, record(1), tail=encode(record(2))[:cut])

    assert list(read([path])) == [record(1)]


def test_a_line_torn_by_a_crash_is_skipped_when_the_node_has_started_again(
    tmp_path: Path,
) -> None:
    """The next process writes a new segment; the torn end stays where it is."""
    write(tmp_path / FIRST, record(1), tail=b'{"v":1,"se')
    write(tmp_path / SECOND, record(1, epoch=2))

    assert list(read([tmp_path])) == [record(1), record(1, epoch=2)]


def test_a_last_line_that_makes_no_sense_is_skipped_in_the_newest_segment_only(
    tmp_path: Path,
) -> None:
    """A lost power supply leaves such lines at the very end, and nowhere else."""
    damaged = write(tmp_path / FIRST, record(1), tail=b"\0\0\0\n")

    assert list(read([tmp_path])) == [record(1)]

    write(tmp_path / SECOND, record(2))
    with pytest.raises(CorruptJournal) as caught:
        list(read([tmp_path]))
    assert (caught.value.where, caught.value.line_number) == (str(damaged.resolve()), 2)


def test_damage_in_the_middle_names_file_and_line(tmp_path: Path) -> None:
    """Reading on would give an answer that looks right."""
    path = write(tmp_path / FIRST, record(1), tail=b"{]\n" + encode(record(3)) + b"\n")

    records = read_lines(path)

    assert next(records) == record(1)
    with pytest.raises(CorruptJournal, match="line 2") as caught:
        next(records)
    assert caught.value.where == str(path)


def test_a_newer_schema_is_not_taken_for_a_torn_line(tmp_path: Path) -> None:
    """Skipping it silently would lose the newest history."""
    path = write(tmp_path / FIRST, record(1), tail=b'{"v":2}\n')

    with pytest.raises(BadInput, match=r"line 2: schema version 2 .* read this journal with"):
        list(read([path]))


def test_a_growing_line_is_not_read_in_two_pieces(tmp_path: Path) -> None:
    """The reader stops at the torn end even if the rest arrives while it looks."""
    line = encode(record(2))
    path = write(tmp_path / FIRST, record(1), tail=line[:9])
    records = read_lines(path)
    assert next(records) == record(1)

    with path.open("ab") as segment:
        segment.write(line[9:] + b"\n" + encode(record(3)) + b"\n")

    assert list(records) in ([], [record(2), record(3)])
    assert [r.seq for r in read_lines(path)] == [1, 2, 3]


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """An empty history would look like a quiet cluster."""
    with pytest.raises(BadInput, match="no such journal"):
        list(read([tmp_path / "absent"]))
