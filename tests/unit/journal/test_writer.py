"""The writer: rolling, continuing, and a disk that fails."""

import errno
import logging
import shutil
from pathlib import Path

import pytest

from regent.errors import BadInput
from regent.journal.reader import read, read_lines
from regent.journal.record import Record, encode
from regent.journal.writer import JournalWriter, MemoryJournal, SegmentFile, open_new
from tests.unit.journal.builders import B1, B2, record

LINE_BYTES = len(encode(record(1))) + 1


class Disk:
    """A disk with so many bytes left, which takes half a line if that is all it has."""

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes

    def open(self, path: Path) -> SegmentFile:
        """A new segment that shares what is left."""
        return FileOnDisk(self, path)


class FileOnDisk:
    """A segment on a `Disk`."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._file = path.open("xb", buffering=0)

    def write(self, content: bytes) -> int:
        """Take what still fits."""
        taken = content[: self._disk.free_bytes]
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._disk.free_bytes -= len(taken)
        return self._file.write(taken)

    def fileno(self) -> int:
        """Of the file beneath."""
        return self._file.fileno()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def records(start: int, end: int) -> list[Record]:
    return [record(seq) for seq in range(start, end + 1)]


def sequence(directory: Path) -> list[int]:
    return [r.seq for r in read([directory])]


def test_append_only_buffers_and_flush_writes(tmp_path: Path) -> None:
    """A decision waits for memory, never for the disk."""
    writer = JournalWriter(tmp_path, B1)

    writer.append(records(1, 3))

    assert list(tmp_path.iterdir()) == []
    writer.flush()
    assert sequence(tmp_path) == [1, 2, 3]
    writer.close()


def test_segments_are_rolled_at_their_size(tmp_path: Path) -> None:
    """No file grows for ever, and no line is spread over two files."""
    writer = JournalWriter(tmp_path, B1, segment_bytes=2 * LINE_BYTES)

    writer.append(records(1, 5))
    writer.close()

    content = {path.name: [r.seq for r in read_lines(path)] for path in tmp_path.iterdir()}
    assert content == {
        "journal-1-00000001.jsonl": [1, 2],
        "journal-1-00000002.jsonl": [3, 4],
        "journal-1-00000003.jsonl": [5],
    }


def test_a_new_process_continues_without_touching_what_is_there(tmp_path: Path) -> None:
    """An earlier life's journal is evidence."""
    for epoch in (1, 2):
        writer = JournalWriter(tmp_path, B1)
        writer.append([record(1, epoch=epoch)])
        writer.close()
    other = JournalWriter(tmp_path, B2)
    other.append([record(1, epoch=3, controller_id=B2)])
    other.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "journal-1-00000001.jsonl",
        "journal-1-00000002.jsonl",
        "journal-2-00000001.jsonl",
    ]
    assert [r.controller_epoch for r in read([tmp_path])] == [1, 2, 3]


def test_an_existing_segment_is_never_opened_again(tmp_path: Path) -> None:
    """Even two processes that believe to be the same node cannot overwrite each other."""
    path = tmp_path / "journal-1-00000001.jsonl"
    path.touch()

    with pytest.raises(FileExistsError):
        open_new(path)


def test_a_full_disk_is_reported_once_and_survived(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The half-written line is finished, and nothing is lost that fitted into memory."""
    disk = Disk(free_bytes=LINE_BYTES + 5)
    writer = JournalWriter(tmp_path, B1, open_segment=disk.open)

    with caplog.at_level(logging.ERROR):
        writer.append(records(1, 2))
        writer.flush()
        writer.append(records(3, 3))
        writer.flush()

    assert "No space left on device" in str(writer.trouble)
    assert len(caplog.records) == 1
    assert sequence(tmp_path) == [1]

    disk.free_bytes = 10**6
    writer.append(records(4, 4))
    writer.close()

    assert writer.trouble is None
    assert sequence(tmp_path) == [1, 2, 3, 4]
    assert writer.dropped_count == 0
    assert len(list(tmp_path.iterdir())) == 1


def test_a_half_written_line_is_finished_in_its_own_segment(tmp_path: Path) -> None:
    """Even if the segment has reached its size: half a line in each of two is damage in both."""
    disk = Disk(free_bytes=LINE_BYTES + 5)
    writer = JournalWriter(tmp_path, B1, segment_bytes=LINE_BYTES + 2, open_segment=disk.open)

    writer.append(records(1, 3))
    writer.flush()
    disk.free_bytes = 10**6
    writer.close()

    content = {path.name: [r.seq for r in read_lines(path)] for path in tmp_path.iterdir()}
    assert content == {"journal-1-00000001.jsonl": [1, 2], "journal-1-00000002.jsonl": [3]}


def test_what_does_not_fit_into_memory_is_counted_and_shows_as_a_gap(tmp_path: Path) -> None:
    """The sequence numbers say how much is missing, and where."""
    disk = Disk(free_bytes=LINE_BYTES + 5)
    writer = JournalWriter(tmp_path, B1, buffer_bytes_max=2 * LINE_BYTES, open_segment=disk.open)

    for number in range(1, 8):
        writer.append(records(number, number))
        writer.flush()
    dropped_count = writer.dropped_count
    disk.free_bytes = 10**6
    writer.append(records(8, 8))
    writer.close()

    surviving = sequence(tmp_path)
    assert dropped_count > 0
    assert len(surviving) == 8 - dropped_count
    assert surviving == [*range(1, 8 - dropped_count), 8]


def test_a_device_that_is_always_full_never_raises(tmp_path: Path) -> None:
    """The same with the operating system's own full disk."""
    with Path("/dev/full").open("wb", buffering=0) as device:
        writer = JournalWriter(tmp_path, B1, open_segment=lambda _: device)

        writer.append(records(1, 2))
        writer.close()

    assert "No space left on device" in str(writer.trouble)


def test_a_deleted_folder_is_made_again_and_shows_as_a_gap(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is written into a file without a name is lost, and nobody would be told."""
    folder = tmp_path / "data" / "journal"
    writer = JournalWriter(folder, B1)
    writer.append(records(1, 2))
    writer.flush()

    shutil.rmtree(tmp_path / "data")
    writer.append(records(3, 3))
    writer.flush()
    writer.append(records(4, 4))
    writer.close()

    assert writer.trouble is None
    assert sequence(folder) == [3, 4]
    assert [path.name for path in folder.iterdir()] == ["journal-1-00000002.jsonl"]
    (told,) = caplog.messages
    assert f"segment 1 of the journal in {folder} has been deleted" in told


def test_a_folder_that_cannot_be_made_again_is_trouble_until_it_can(tmp_path: Path) -> None:
    """Nothing is lost meanwhile that fits into memory."""
    folder = tmp_path / "journal"
    writer = JournalWriter(folder, B1)
    writer.append(records(1, 1))
    writer.flush()

    shutil.rmtree(folder)
    folder.touch()
    writer.append(records(2, 2))
    writer.flush()
    assert "File exists" in str(writer.trouble)

    folder.unlink()
    writer.append(records(3, 3))
    writer.close()
    assert writer.trouble is None
    assert sequence(folder) == [2, 3]


def test_half_a_line_is_dropped_with_the_segment_that_had_the_other_half(tmp_path: Path) -> None:
    """The rest of it would be damage in the next one."""
    disk = Disk(free_bytes=LINE_BYTES + 5)
    writer = JournalWriter(tmp_path, B1, open_segment=disk.open)
    writer.append(records(1, 2))
    writer.flush()

    (segment,) = tmp_path.iterdir()
    segment.unlink()
    disk.free_bytes = 10**6
    writer.flush()
    assert (writer.trouble, writer.dropped_count) == (None, 1)

    writer.append(records(3, 4))
    writer.close()
    assert sequence(tmp_path) == [3, 4]


def test_one_huge_event_does_not_fill_the_buffer_of_a_healthy_disk(tmp_path: Path) -> None:
    """`append` writes by itself before it would have to drop anything."""
    writer = JournalWriter(tmp_path, B1, buffer_bytes_max=4 * LINE_BYTES)

    writer.append(records(1, 50))
    writer.close()

    assert writer.dropped_count == 0
    assert sequence(tmp_path) == list(range(1, 51))


def test_a_directory_that_cannot_be_is_refused_at_the_start(tmp_path: Path) -> None:
    """A mistyped path is better found before the first decision than after."""
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match="cannot keep a journal in"):
        JournalWriter(tmp_path / "file" / "journal", B1)


def test_the_journal_in_memory_keeps_the_lines_of_the_one_on_disk(tmp_path: Path) -> None:
    """A simulation's journal can be compared with a real one byte by byte."""
    memory, disk = MemoryJournal(), JournalWriter(tmp_path, B1)

    memory.append(records(1, 3))
    disk.append(records(1, 3))
    disk.close()

    (segment,) = tmp_path.iterdir()
    assert b"".join(line + b"\n" for line in memory.lines) == segment.read_bytes()
