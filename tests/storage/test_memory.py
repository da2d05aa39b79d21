"""A log may be larger than the memory by far: what is in it takes next to none."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from regent.storage import segment as segment_module
from regent.storage.log_loading import LastKnown
from regent.storage.partition_log import OffsetAtTime, PartitionLog
from regent.storage.segment_scan import checked_headers
from tests.storage.batches import T0, add, batch_of, open_log, segment_files, values_from

CLEAN = LastKnown(was_closed_cleanly=True)
#: An entry for each batch, and five batches to a segment.
SMALL: dict[str, Any] = {"segment_bytes": 500, "index_interval_bytes": 1}


def filled(path: Path, count: int, first: int = 0, **config: Any) -> PartitionLog:
    log = open_log(path, known=CLEAN, **config)
    write(log, count, first)
    return log


def write(log: PartitionLog, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        add(log, batch_of(b"x" * 30, timestamp=1_000 + number))


def test_complete_segments_take_no_memory(tmp_path: Path) -> None:
    """One entry of 20 bytes for every batch would be five megabytes for a gigabyte."""
    log = filled(tmp_path, 3_000, segment_bytes=100_000, index_interval_bytes=1)
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        write(log, 10_000, first=3_000)
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()

    assert len(segment_files(tmp_path)) == 13
    grown_bytes = sum(each.size_diff for each in after.compare_to(before, "filename"))
    # The one that grows and the one before it may be larger than they were, by two thousand
    # entries and the places of the latest batches.
    assert grown_bytes < 200_000


def test_an_entry_of_an_index_takes_twenty_bytes(tmp_path: Path) -> None:
    """And not two objects for each number."""
    tracemalloc.start()
    try:
        log = filled(tmp_path, 5_000, index_interval_bytes=1)
        log._segments.active.forget_recent()
        held_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert held_bytes < 5_000 * 20 * 1.25 + 50_000


def test_reading_in_order_leaves_little_behind(tmp_path: Path) -> None:
    """Each read remembers where the next one will begin, but not for ever."""
    log = filled(tmp_path, 5_000)
    max_bytes = 2 * len(batch_of(b"x" * 30))

    for offset in range(0, log.end_offset, 2):
        content = log.read(offset, max_bytes)
        assert content is not None
        assert len(content) == max_bytes

    assert len(log._segments.active._recent) <= segment_module._RECENT_MAX


def test_what_reading_left_behind_goes_with_the_next_segments(tmp_path: Path) -> None:
    log = filled(tmp_path, 40, **SMALL)
    max_bytes = 2 * len(batch_of(b"x" * 30))
    for offset in range(30):
        log.read(offset, max_bytes)
    oldest = log._segments.first
    assert oldest._recent

    write(log, 10, first=40)

    assert not oldest._recent


def test_segments_that_were_let_go_are_read_like_others(tmp_path: Path) -> None:
    """By offset and by time, after a cut too, which makes one of them grow again."""
    log = filled(tmp_path, 40, **SMALL)
    assert len(segment_files(tmp_path)) > 5

    for _ in range(2):
        assert [offset for offset, _ in values_from(log)] == list(range(40))
        found = [log.offset_for_timestamp(1_000 + number) for number in range(40)]
        assert found == [OffsetAtTime(number, 1_000 + number) for number in range(40)]
        log.truncate_to(12)
        write(log, 28, first=12)


def test_an_index_that_was_made_again_is_not_made_a_third_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes as long as reading the whole segment."""
    filled(tmp_path, 40, **SMALL).close()
    for index in (tmp_path / str(T0)).glob("*.index"):
        index.unlink()
    log = filled(tmp_path, 5, first=40, **SMALL)
    before = values_from(log)
    write(log, 20, first=45)
    read: list[int] = []

    def note_and_read(descriptor: int, end: int, first_offset: int) -> Any:
        read.append(first_offset)
        return checked_headers(descriptor, end, first_offset)

    monkeypatch.setattr(segment_module, "checked_headers", note_and_read)

    assert values_from(log)[: len(before)] == before
    assert read == []
