"""Journals that are still being written, as a stream of lines.

Spark's own file source reads a file once, when it appears; a segment of a journal grows for as long
as its controller lives. Here the offset of a stream says how far into each segment it has read, so
that nothing is read twice and nothing is left out, whenever the stream is stopped and started.

A line counts once its newline is there. Only when the node has begun its next segment is a torn
last line final: whoever wrote it died.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from regent.errors import BadInput
from regent.journal.writer import SEGMENT_NAME
from regent.pipeline.sources.journal_lines import BATCH_LINES, LINES, batch_of, judge_line

#: What one step of a stream reads at most, all segments together.
STEP_BYTES: Final = 64 * 1024 * 1024
CHUNK_BYTES: Final = 1024 * 1024

#: How far a stream has read: for each segment, `bytes` and the `lines` that these are.
Offset: TypeAlias = dict[str, dict[str, int]]


class Position(Struct, frozen=True):
    """A place in a segment, just after a line."""

    bytes: int = 0
    lines: int = 0


class Slice(InputPartition):
    """Whole lines of one segment."""

    def __init__(self, file: str, start: Position, end: Position) -> None:
        super().__init__(file)
        self.file = file
        self.start = start
        self.end = end


def tail_journals(
    spark: SparkSession, paths: Sequence[str], *, start: Offset | None = None
) -> DataFrame:
    """The lines of these journals, and those yet to be written, as a stream.

    Grain: (file, line), with the columns of `journal_lines.LINES`. Without `start` from the
    beginning; a stream that has a checkpoint goes on from there.
    """
    spark.dataSource.register(JournalTailSource)
    reader = spark.readStream.format(JournalTailSource.name())
    return reader.options(paths=json.dumps(list(paths)), start=json.dumps(start or {})).load()


def end_of_journals(paths: Sequence[str]) -> Offset:
    """How far these journals have been written: where a stream starts that wants no history."""
    return read_further({}, sizes_of(find_segments(paths)), byte_limit=None)


class JournalTailSource(DataSource):
    """`spark.readStream.format("regent_journal_tail")`; use `tail_journals` instead."""

    @classmethod
    def name(cls) -> str:
        """What Spark knows it by."""
        return "regent_journal_tail"

    def schema(self) -> T.StructType:
        """Always the same."""
        return LINES

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's names
        """For the paths and the start in the options."""
        return JournalTailReader(
            json.loads(self.options["paths"]), json.loads(self.options["start"])
        )


class JournalTailReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows segments as they grow and as new ones appear."""

    def __init__(self, paths: Sequence[str], start: Offset) -> None:
        self._paths = paths
        self._start = start
        #: How long each segment was when a stream began that is to end there.
        self._final_sizes: Mapping[Path, int] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Where a new stream starts; the same however often it is asked."""
        return self._start

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Long histories come in steps that fit into memory."""
        return ReadMaxBytes(STEP_BYTES)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read to where the journals end now, and no further."""
        self._final_sizes = sizes_of(find_segments(self._paths))

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        """How far the next step reads."""
        sizes = self._final_sizes
        if sizes is None:
            sizes = sizes_of(find_segments(self._paths))
        refuse_rewritten(start, sizes)
        assert isinstance(limit, ReadMaxBytes | ReadAllAvailable), "no other limit was asked for"
        byte_limit = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        return read_further(start, sizes, byte_limit=byte_limit)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """A task for each segment that has grown."""
        return [
            Slice(file, position_in(start, file), position_in(end, file))
            for file in sorted(end)
            if position_in(start, file) != position_in(end, file)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The lines of one slice."""
        assert isinstance(partition, Slice), "Spark gives back the partitions it was given"
        rows = slice_rows(partition)
        while some := list(islice(rows, BATCH_LINES)):
            yield batch_of(some, LINES)


def slice_rows(part: Slice) -> Iterator[tuple[Any, ...]]:
    """The lines of a slice as rows of `LINES`; blank ones are left out."""
    number, at_bytes = part.start.lines, part.start.bytes
    with Path(part.file).open("rb") as stream:
        stream.seek(at_bytes)
        while at_bytes < part.end.bytes:
            line = stream.readline()
            if not line:
                raise BadInput(_shrank(part.file, part.end.bytes, at_bytes))
            number, at_bytes = number + 1, at_bytes + len(line)
            if not line.isspace():
                yield judge_line(part.file, number, line)


# --- which segments there are -------------------------------------------------------------------


def find_segments(paths: Iterable[str]) -> list[Path]:
    """The segments at these paths; a directory may be there before its first segment is."""
    found: set[Path] = set()
    for path in map(Path, paths):
        if path.is_dir():
            inside = (child for child in path.rglob("*.jsonl") if child.is_file())
            found.update(child.resolve() for child in inside if SEGMENT_NAME.fullmatch(child.name))
        elif path.is_file() and SEGMENT_NAME.fullmatch(path.name):
            found.add(path.resolve())
        elif path.exists():
            raise BadInput(f"{path} is not a segment of a journal; name the directory of one")
        else:
            raise BadInput(f"{path}: there is no such journal, file or directory")
    return sorted(found)


def sizes_of(segments: Iterable[Path]) -> dict[Path, int]:
    """How long each segment is; taken after all were listed, so that those before are complete."""
    return {path: path.stat().st_size for path in segments}


def refuse_rewritten(start: Offset, sizes: Mapping[Path, int]) -> None:
    """A segment is only ever added to; whatever else happened to one, something may be lost."""
    for file in start:
        read = position_in(start, file).bytes
        size = sizes.get(Path(file))
        if size is None:
            raise BadInput(
                f"{file} has vanished, of which {read:,} bytes were read; put it back, or watch"
                " into another --out"
            )
        if size < read:
            raise BadInput(_shrank(file, read, size))


def _shrank(file: str, read: int, size: int) -> str:
    return (
        f"{file} has shrunk from {read:,} to {size:,} bytes: a journal is never rewritten; put the"
        " file back as it was, or watch into another --out"
    )


def position_in(offset: Mapping[str, Mapping[str, int]], file: str) -> Position:
    """How far an offset is in a file."""
    known = offset.get(file)
    return Position(known["bytes"], known["lines"]) if known else Position()


# --- how far to read ----------------------------------------------------------------------------


def read_further(start: Offset, sizes: Mapping[Path, int], *, byte_limit: int | None) -> Offset:
    """The offset after the next step.

    A limit is shared evenly by the nodes that have news, so that none runs ahead of the others by
    more than it must; the segments of a node are read one after the other.
    """
    nodes = [
        node
        for node in _by_node(sizes)
        if any(sizes[path] > position_in(start, str(path)).bytes for path in node)
    ]
    end = dict(start)
    for node in nodes:
        left = None if byte_limit is None else max(byte_limit // len(nodes), 1)
        for path, is_last in zip(node, [*(False for _ in node[1:]), True], strict=True):
            before = position_in(start, str(path))
            after = complete_lines(path, before, sizes[path], is_final=not is_last, limit=left)
            if after != before:
                end[str(path)] = {"bytes": after.bytes, "lines": after.lines}
            if left is not None:
                left -= after.bytes - before.bytes
                if left <= 0:
                    break
    return end


def _by_node(segments: Iterable[Path]) -> list[list[Path]]:
    """The segments of each node, in the order of their numbers."""
    nodes: dict[tuple[str, str], list[tuple[int, Path]]] = {}
    for path in segments:
        name = SEGMENT_NAME.fullmatch(path.name)
        assert name is not None, "only segments were looked for"
        node = (str(path.parent), name["controller_id"])
        nodes.setdefault(node, []).append((int(name["number"]), path))
    return [[path for _, path in sorted(numbered)] for _, numbered in sorted(nodes.items())]


def complete_lines(
    path: Path, start: Position, size: int, *, is_final: bool, limit: int | None
) -> Position:
    """Where the complete lines end: at the first newline past the limit, or else at the last one.

    In a final segment, what follows the last newline is a line as well.
    """
    at_bytes, lines, end = start.bytes, start.lines, start
    with path.open("rb") as stream:
        stream.seek(at_bytes)
        while at_bytes < size:
            chunk = stream.read(min(CHUNK_BYTES, size - at_bytes))
            if not chunk:
                raise BadInput(_shrank(str(path), size, at_bytes))
            wanted = None if limit is None else limit - (at_bytes - start.bytes)
            cut = chunk.find(b"\n", max(wanted - 1, 0)) if wanted is not None else -1
            if cut >= 0:
                return Position(at_bytes + cut + 1, lines + chunk.count(b"\n", 0, cut + 1))
            lines += chunk.count(b"\n")
            if (newline := chunk.rfind(b"\n")) >= 0:
                end = Position(at_bytes + newline + 1, lines)
            at_bytes += len(chunk)
    return Position(size, lines + 1) if is_final and end.bytes < size else end
