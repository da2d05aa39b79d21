"""A journal that is still being written: every line once, in steps, and nothing goes unnoticed."""

from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from regent.errors import BadInput
from regent.journal.record import encode
from regent.model import facts
from regent.pipeline.sources.journal_tail import (
    JournalTailReader,
    Offset,
    Slice,
    end_of_journals,
    slice_rows,
)
from tests.pipeline.rows import record

pytestmark = pytest.mark.requirement("Q8")

LINE = encode(record(1, facts.ControllerElected())) + b"\n"
TORN = LINE[:20]


def segment(directory: Path, number: int, content: bytes, node: int = 1) -> Path:
    path = directory / f"journal-{node}-{number:08d}.jsonl"
    path.write_bytes(content)
    return path.resolve()


def step(
    directory: Path, start: Offset, *, byte_limit: int | None = None
) -> tuple[list[tuple[str, int, bool]], Offset]:
    """What one step of a stream reads: file, line and whether it is a record; and where it is."""
    reader = JournalTailReader([str(directory)], {})
    limit = ReadAllAvailable() if byte_limit is None else ReadMaxBytes(byte_limit)
    end = reader.latestOffset(start, limit)
    rows = []
    for part in reader.partitions(start, end):
        assert isinstance(part, Slice)
        rows += [(Path(row[0]).name, row[1], row[3] is None) for row in slice_rows(part)]
    return rows, end


def test_a_growing_segment_is_read_on_from_where_it_was_read(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, LINE * 2)
    rows, offset = step(tmp_path, {})
    assert rows == [(first.name, 1, True), (first.name, 2, True)]

    assert step(tmp_path, offset) == ([], offset)

    first.write_bytes(LINE * 3)
    rows, offset = step(tmp_path, offset)
    assert rows == [(first.name, 3, True)]
    assert offset == {str(first): {"bytes": 3 * len(LINE), "lines": 3}}


def test_a_torn_line_waits_for_its_newline(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, LINE + TORN)
    rows, offset = step(tmp_path, {})
    assert rows == [(first.name, 1, True)]

    first.write_bytes(LINE + LINE)
    rows, _ = step(tmp_path, offset)
    assert rows == [(first.name, 2, True)]


def test_a_torn_line_is_final_once_the_node_writes_elsewhere(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, LINE + TORN)
    _, offset = step(tmp_path, {})
    second = segment(tmp_path, 2, LINE)
    segment(tmp_path, 1, TORN, node=2)

    rows, offset = step(tmp_path, offset)

    assert rows == [(first.name, 2, False), (second.name, 1, True)]
    assert step(tmp_path, offset) == ([], offset)


def test_blank_lines_count_and_are_nothing(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, b"\n" + LINE)

    assert step(tmp_path, {})[0] == [(first.name, 2, True)]


def test_a_step_has_a_size_and_every_node_its_share_of_it(tmp_path: Path) -> None:
    one = segment(tmp_path, 1, LINE * 3)
    two = segment(tmp_path, 2, LINE)
    other = segment(tmp_path, 1, LINE * 3, node=2)
    steps = []
    offset: Offset = {}
    for _ in range(5):
        rows, offset = step(tmp_path, offset, byte_limit=2 * len(LINE) + 1)
        steps.append([(name, line) for name, line, _ in rows])

    assert steps == [
        [(one.name, 1), (other.name, 1)],
        [(one.name, 2), (other.name, 2)],
        [(one.name, 3), (other.name, 3)],
        [(two.name, 1)],
        [],
    ]


def test_a_line_that_is_longer_than_a_step_is_read_whole(tmp_path: Path) -> None:
    segment(tmp_path, 1, LINE * 2)

    assert [line for _, line, _ in step(tmp_path, {}, byte_limit=1)[0]] == [1]


def test_a_stream_without_history_starts_at_the_end(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, LINE * 2 + TORN)
    offset = end_of_journals([str(tmp_path)])

    first.write_bytes(LINE * 4)

    assert [line for _, line, _ in step(tmp_path, offset)[0]] == [3, 4]


def test_a_stream_that_is_to_end_reads_nothing_that_came_later(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, LINE)
    reader = JournalTailReader([str(tmp_path)], {})
    reader.prepareForTriggerAvailableNow()
    first.write_bytes(LINE * 2)
    segment(tmp_path, 2, LINE)

    end = reader.latestOffset({}, ReadAllAvailable())

    assert end == {str(first): {"bytes": len(LINE), "lines": 1}}


def test_a_segment_that_shrank_or_vanished_is_named(tmp_path: Path) -> None:
    first = segment(tmp_path, 1, LINE * 2)
    _, offset = step(tmp_path, {})

    first.write_bytes(LINE)
    with pytest.raises(BadInput, match=rf"{first.name} has shrunk"):
        step(tmp_path, offset)
    first.unlink()
    with pytest.raises(BadInput, match=rf"{first.name} has vanished"):
        step(tmp_path, offset)


def test_what_is_no_journal_is_refused_and_an_empty_directory_is_not(tmp_path: Path) -> None:
    assert end_of_journals([str(tmp_path)]) == {}
    other = tmp_path / "notes.txt"
    other.touch()
    with pytest.raises(BadInput, match=r"notes\.txt is not a segment"):
        end_of_journals([str(other)])
    with pytest.raises(BadInput, match="there is no such journal"):
        end_of_journals([str(tmp_path / "nowhere")])
