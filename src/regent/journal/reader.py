"""Reads journals, finished or growing, of one node or of all.

The order is (controller_epoch, seq), never the clock: what a deposed controller still wrote comes
before all that its successor did. Each node's segments are taken in the order of their numbers
and the nodes are merged on that key, one open file per node, so the size of a journal does not
matter.

A line counts once its newline is there. The end of a segment without one is a line that is being
written, or was when the process died, and is skipped. So is a last line that makes no sense in
the newest segment of a node. Anywhere else such a line is damage, and `CorruptJournal` names it.
"""

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from regent.errors import BadInput, CorruptJournal
from regent.journal.record import NewerSchema, Record, decode
from regent.journal.writer import SEGMENT_NAME


def read(paths: Iterable[Path]) -> Iterator[Record]:
    """The records of all these files and directories, in the order of the journal."""
    return heapq.merge(*map(_read_writer, _segments_by_writer(paths)), key=_position)


def read_lines(path: Path, *, is_newest: bool = True) -> Iterator[Record]:
    """The records of one file; `is_newest` when its writer has begun no later one."""
    with path.open("rb") as segment:
        for line_number, line in enumerate(segment, start=1):
            # Stop here for good: a line that grows while we look would come in two pieces.
            if not line.endswith(b"\n"):
                return
            try:
                yield decode(line)
            except NewerSchema as error:
                raise BadInput(f"{path}, line {line_number}: {error}") from error
            except ValueError as error:
                if is_newest and not segment.read(1):
                    return
                raise CorruptJournal(str(path), line_number, str(error)) from error


def _position(record: Record) -> tuple[int, int]:
    return record.controller_epoch, record.seq


def _read_writer(segments: list[Path]) -> Iterator[Record]:
    for segment in segments:
        yield from read_lines(segment, is_newest=segment is segments[-1])


def _segments_by_writer(paths: Iterable[Path]) -> list[list[Path]]:
    """The segments of each node in order; a file with a name of its own stands alone."""
    segments = sorted({segment.resolve() for path in paths for segment in _segments_in(path)})
    writers: dict[tuple[Path, str], list[tuple[int, Path]]] = {}
    for segment in segments:
        match = SEGMENT_NAME.fullmatch(segment.name)
        writer = match["controller_id"] if match else segment.name
        number = int(match["number"]) if match else 0
        writers.setdefault((segment.parent, writer), []).append((number, segment))
    return [[segment for _, segment in sorted(numbered)] for numbered in writers.values()]


def _segments_in(path: Path) -> list[Path]:
    if path.is_dir():
        return [child for child in path.iterdir() if SEGMENT_NAME.fullmatch(child.name)]
    if path.exists():
        return [path]
    raise BadInput(f"{path}: there is no such journal file or directory")
