"""Journals read line by line in Python: slowly, and with the decoder of the journal itself.

Spark's own JSON reader does the bulk, but it cannot say where a bad line stands nor what is wrong
with it. So all lines are counted here, and the few files in which Spark found fewer records than
lines are read again by `read_carefully`.
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from regent.journal.record import NewerSchema, decode
from regent.pipeline import schemas
from regent.pipeline.schemas import BOOLEAN, LONG, STRING

GZIP_MAGIC: Final = b"\x1f\x8b"
BATCH_LINES: Final = 10_000
#: Of a line that is no record nobody wants megabytes.
TEXT_MAX: Final = 2_000

FILES: Final = schemas.table(("file", STRING))
LINE_COUNTS: Final = schemas.table(("file", STRING), ("lines", LONG))
LINES: Final = schemas.table(
    ("file", STRING),
    ("line", LONG),
    ("text", STRING),
    ("reason", STRING),  # why it is no record; null for a good one
    ("is_newer", BOOLEAN),  # whether a later Regent may know better
)


def count_lines(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """How many lines each file has, blank ones left out.

    Grain: (file). The place where a compressed file breaks off counts as one line more.
    """
    return _one_by_one(spark, files).mapInArrow(_count_each, LINE_COUNTS)


def read_carefully(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Every line of these files, blank ones left out, and why it is no record if it is none.

    Grain: (file, line).
    """
    return _one_by_one(spark, files).mapInArrow(_read_each, LINES)


def _one_by_one(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """A table of files, one to a task: they differ in size."""
    return spark.createDataFrame([(file,) for file in files], FILES).repartition(len(files), "file")


def lines_in(file: str) -> int:
    """How many lines one file has, as `count_lines` counts them."""
    lines = 0
    try:
        with open_lines(file) as stream:
            for line in stream:
                lines += not line.isspace()
    except (OSError, EOFError, zlib.error):
        lines += 1
    return lines


def _count_each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for file in _files_in(batches):
        yield batch_of([(file, lines_in(file))], LINE_COUNTS)


def _read_each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for file in _files_in(batches):
        lines = judged_lines(file)
        while rows := list(islice(lines, BATCH_LINES)):
            yield batch_of(rows, LINES)


def _files_in(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        yield from batch.column("file").to_pylist()


def batch_of(rows: Sequence[tuple[object, ...]], schema: T.StructType) -> pa.RecordBatch:
    """Rows as Arrow has them."""
    columns = zip(*rows, strict=True)
    arrow = to_arrow_schema(schema)
    arrays = [pa.array(values, of.type) for values, of in zip(columns, arrow, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def judged_lines(file: str) -> Iterator[tuple[str, int, str, str | None, bool]]:
    """The lines of one file as rows of `LINES`."""
    number = 0
    try:
        with open_lines(file) as stream:
            for line in stream:
                number += 1
                if not line.isspace():
                    yield judge_line(file, number, line)
    except (OSError, EOFError, zlib.error) as error:
        reason = f"the file breaks off here ({error}); copy it again from where it was written"
        yield file, number + 1, "", reason, False


def judge_line(file: str, number: int, line: bytes) -> tuple[str, int, str, str | None, bool]:
    """One line as a row of `LINES`."""
    text = line.decode(errors="replace").rstrip("\n")
    try:
        decode(line)
    except NewerSchema as error:
        return file, number, text[:TEXT_MAX], str(error), True
    except ValueError as error:
        torn = "" if line.endswith(b"\n") else "; the line was still being written"
        return file, number, text[:TEXT_MAX], f"{error}{torn}", False
    return file, number, text, None, False


@contextmanager
def open_lines(file: str) -> Iterator[BinaryIO]:
    """A file to read lines from; its first bytes tell whether it is compressed."""
    with Path(file).open("rb") as stream:
        if stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
            with gzip.GzipFile(fileobj=stream) as unpacked:
                yield io.BufferedReader(cast("io.RawIOBase", unpacked))
        else:
            yield stream
