"""Files into parsed lines and quarantine, every line accounted for.

What came of one file lies in a folder of its own, so that the next run can take it over.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import md5
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from regent.errors import BadInput
from regent.pipeline.inputs import InputFile, SourceKind
from regent.pipeline.output import OutputFolder
from regent.pipeline.session import LIGHT_BYTES
from regent.pipeline.sources import journal, snapshots, state_change_log
from regent.pipeline.sources.journal_lines import (
    LINES,
    count_lines,
    lines_in,
    read_carefully,
)
from regent.pipeline.sources.log_source import LOG_LINES

#: Transitions as each file by itself tells them.
PARSED: Final = ".parsed"
QUARANTINE: Final = "quarantine"
#: The column that says which folder a row goes to.
INPUT: Final = "input"


class ReadingOptions(Struct, frozen=True):
    """What a reader must be told, because the files do not say it."""

    #: The name of the cluster; None: from the directory of each journal.
    cluster: str | None = None
    #: The zone that the brokers of a log wrote their local time in.
    timezone: str = "UTC"


class LineCount(Struct, frozen=True):
    """What became of the lines of one file."""

    lines: int
    parsed: int
    quarantined: int


Reader: TypeAlias = Callable[
    [SparkSession, OutputFolder, Sequence[str], ReadingOptions], Mapping[str, LineCount]
]


def ingest(
    spark: SparkSession, folder: OutputFolder, files: Sequence[InputFile], options: ReadingOptions
) -> list[InputFile]:
    """Read all these files into the staged tables; gives them back with their counts."""
    counted: list[InputFile] = []
    for kind, read in READERS.items():
        of_kind = [file for file in files if file.kind is kind]
        if not of_kind:
            continue
        counts = read(spark, folder, [file.path for file in of_kind], options)
        for file in of_kind:
            count = counts[file.path]
            if count.lines != count.parsed + count.quarantined:
                raise AssertionError(
                    f"{file.path}: {count.lines} lines, but {count.parsed} parsed and"
                    f" {count.quarantined} quarantined; nothing was written, please report this"
                )
            counted.append(
                replace(
                    file,
                    lines=count.lines,
                    parsed=count.parsed,
                    quarantined=count.quarantined,
                )
            )
    return counted


def folder_of(path: str) -> str:
    """The folder, inside a table's, of what came of one file."""
    return f"{INPUT}={md5(path.encode(), usedforsecurity=False).hexdigest()[:12]}"


def with_input(table: DataFrame) -> DataFrame:
    """Add which folder each row goes to, as `folder_of` says."""
    return table.withColumn(INPUT, F.substring(F.md5(F.col("file").cast("binary")), 1, 12))


# --- journals -------------------------------------------------------------------------------


def _read_journals(
    spark: SparkSession, folder: OutputFolder, paths: Sequence[str], options: ReadingOptions
) -> Mapping[str, LineCount]:
    lines = _lines_of(spark, paths)
    records = journal.read_journal(spark, *paths, cluster=options.cluster)
    folder.add(PARSED, with_input(records), partition_by=INPUT)
    bad = [path for path in paths if lines[path] != folder.staged_rows(PARSED, folder_of(path))]
    if bad:
        folder.drop(PARSED, [folder_of(path) for path in bad])
        _read_again(spark, folder, bad, options)
    return {
        path: LineCount(
            lines[path],
            folder.staged_rows(PARSED, folder_of(path)),
            folder.staged_rows(QUARANTINE, folder_of(path)),
        )
        for path in paths
    }


def _lines_of(spark: SparkSession, paths: Sequence[str]) -> Mapping[str, int]:
    """How many lines each file has. Small ones are counted here before a worker would be there."""
    if sum(Path(path).stat().st_size for path in paths) < LIGHT_BYTES:
        return {path: lines_in(path) for path in paths}
    return {row["file"]: row["lines"] for row in count_lines(spark, paths).collect()}


def _read_again(
    spark: SparkSession, folder: OutputFolder, paths: Sequence[str], options: ReadingOptions
) -> None:
    """Records and bad lines of files that have some of both."""
    folder.stage("careful", read_carefully(spark, paths))
    lines = folder.read_staged(spark, "careful", LINES)
    _refuse_newer(lines)
    records = journal.from_careful_lines(lines, cluster=options.cluster)
    folder.add(PARSED, with_input(records), partition_by=INPUT)
    bad = journal.quarantine(lines, cluster=options.cluster)
    folder.add(QUARANTINE, with_input(bad), partition_by=INPUT)


def _refuse_newer(lines: DataFrame) -> None:
    """Half of a history is worse than none: a journal of a later Regent is not read at all."""
    newer = lines.filter("is_newer").orderBy("file", "line").select("file", "line", "reason")
    for row in newer.head(1):
        raise BadInput(f"{row['file']}, line {row['line']}: {row['reason']}")


# --- Kafka's logs -----------------------------------------------------------------------------


def _read_logs(
    spark: SparkSession, folder: OutputFolder, paths: Sequence[str], options: ReadingOptions
) -> Mapping[str, LineCount]:
    cluster = options.cluster or state_change_log.CLUSTER
    read = state_change_log.read_log_lines(spark, paths, cluster=cluster, timezone=options.timezone)
    folder.stage("log_lines", read)
    lines = folder.read_staged(spark, "log_lines", LOG_LINES)
    counts = state_change_log.line_counts(lines)
    state_change_log.refuse_other_files(counts)
    said = lines.transform(state_change_log.log_transitions)
    folder.add(PARSED, with_input(said), partition_by=INPUT)
    bad = lines.transform(state_change_log.bad_lines)
    folder.add(QUARANTINE, with_input(bad), partition_by=INPUT)
    return _line_counts(paths, counts)


# --- snapshots --------------------------------------------------------------------------------


def _read_snapshots(
    spark: SparkSession, folder: OutputFolder, paths: Sequence[str], options: ReadingOptions
) -> Mapping[str, LineCount]:
    """A snapshot counts as one line: it is good or it is not."""
    shown = snapshots.read_snapshots(spark, *paths, cluster=options.cluster)
    folder.add(PARSED, with_input(shown), partition_by=INPUT)
    bad = snapshots.snapshots_quarantine(spark, *paths, cluster=options.cluster)
    folder.add(QUARANTINE, with_input(bad), partition_by=INPUT)
    quarantined = {path: folder.staged_rows(QUARANTINE, folder_of(path)) for path in paths}
    return {path: LineCount(1, 1 - quarantined[path], quarantined[path]) for path in paths}


def _line_counts(paths: Sequence[str], counts: DataFrame) -> Mapping[str, LineCount]:
    """A file without lines has no row."""
    found = {
        row["file"]: LineCount(row["lines"], row["parsed"], row["quarantined"])
        for row in counts.collect()
    }
    return {path: found.get(path, LineCount(0, 0, 0)) for path in paths}


#: How each kind of file is read.
READERS: Final[Mapping[SourceKind, Reader]] = {
    SourceKind.JOURNAL: _read_journals,
    SourceKind.LOG: _read_logs,
    SourceKind.SNAPSHOT: _read_snapshots,
}
