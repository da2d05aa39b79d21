"""A batch run: files in, a folder of tables out.

Only files that are new or have changed are parsed; what was made of the others is taken over. All
further tables are made anew from all transitions, because a single late record can change any of
them. When nothing has changed at all, nothing is done.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeAlias

from msgspec import Struct, json
from msgspec.structs import asdict
from pyspark.sql import DataFrame, SparkSession

from regent.pipeline import schemas
from regent.pipeline.clock_skew import clock_offsets, with_corrected_times
from regent.pipeline.duplicates import copies, once
from regent.pipeline.ingest import PARSED, QUARANTINE, ReadingOptions, folder_of, ingest
from regent.pipeline.inputs import InputFile, SourceKind
from regent.pipeline.output import Counts, Manifest, OutputFolder
from regent.pipeline.session import LIGHT_BYTES
from regent.pipeline.settings import Settings
from regent.pipeline.sources.planned import PlannedReplicas, planned_table
from regent.pipeline.sources.state_change_log import complete_from_other_files
from regent.pipeline.tables import PLAN_TABLE, PLANNED, TABLES, Table

#: Raised whenever the same input would give other tables, so that old folders are made anew.
PIPELINE_VERSION: Final = 2

TRANSITIONS: Final = "transitions"
CLOCK_OFFSETS: Final = "clock_offsets"

Progress: TypeAlias = Callable[[str], None]


class Job(Struct, frozen=True):
    """What a run is asked to do."""

    inputs: tuple[InputFile, ...]
    folder: OutputFolder
    reading: ReadingOptions = ReadingOptions()
    limits: Settings = Settings()
    #: What plans wanted, to be held against what happened.
    planned: tuple[PlannedReplicas, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether all of it is little enough for one task and for memory."""
        return sum(file.bytes for file in self.inputs) < LIGHT_BYTES

    def options(self) -> dict[str, Any]:
        """All that the result depends on beside the input."""
        return {
            "pipeline_version": PIPELINE_VERSION,
            "reading": asdict(self.reading),
            "limits": asdict(self.limits),
            **({"planned": _as_in_json(self.planned)} if self.planned else {}),
        }


def _as_in_json(value: Any) -> Any:
    """What a manifest gives back of this: lists where there were tuples."""
    return json.decode(json.encode(value))


def is_done(job: Job) -> bool:
    """Whether the folder already holds exactly what this job would make."""
    before = job.folder.manifest()
    return (
        before is not None
        and before.finished
        and before.options == job.options()
        and len(before.inputs) == len(job.inputs) == len(_unchanged(job, before))
    )


def run(
    spark: SparkSession,
    job: Job,
    on_progress: Progress = lambda _: None,
    tables: Sequence[Table] = TABLES,
) -> Manifest:
    """Make all tables, put them in place, and say what there is."""
    folder = job.folder
    before = folder.manifest()
    kept = _reusable(job, before) if before is not None else {}
    fresh = [file for file in job.inputs if file.path not in kept]
    on_progress(f"reading {len(fresh)} of {len(job.inputs)} files")
    for table in (PARSED, QUARANTINE):
        folder.begin(table)
        folder.take_over(table, [folder_of(path) for path in kept])
    counted = sorted(
        [*kept.values(), *ingest(spark, folder, fresh, job.reading)], key=lambda file: file.path
    )
    transitions, rows = _make_transitions(spark, job, on_progress)
    wanted = (*tables, PLAN_TABLE) if job.planned else tables
    rows |= _make_tables(spark, job, transitions, wanted, on_progress)
    rows[QUARANTINE] = folder.staged_rows(QUARANTINE)
    counts = Counts(
        sum(file.lines for file in counted),
        sum(file.parsed for file in counted),
        sum(file.quarantined for file in counted),
    )
    manifest = Manifest(
        finished=True,
        options=job.options(),
        inputs=tuple(counted),
        counts=counts,
        tables=dict(sorted(rows.items())),
    )
    on_progress("putting the tables in place")
    folder.publish(manifest, beside=[PARSED])
    return manifest


def _reusable(job: Job, before: Manifest) -> Mapping[str, InputFile]:
    """The files whose parsed lines can be taken over.

    None when they would be read in another way now; no snapshot, because what one shows depends on
    the one before it.
    """
    same_reading = before.options.get("reading") == asdict(job.reading)
    same_version = before.options.get("pipeline_version") == PIPELINE_VERSION
    if not (before.finished and same_reading and same_version):
        return {}
    unchanged = _unchanged(job, before)
    return {path: file for path, file in unchanged.items() if file.kind is not SourceKind.SNAPSHOT}


def _unchanged(job: Job, before: Manifest) -> Mapping[str, InputFile]:
    """The files that are as they were."""
    known = {file.path: file for file in before.inputs}
    return {
        file.path: known[file.path]
        for file in job.inputs
        if file.path in known and file.is_unchanged_since(known[file.path])
    }


def _make_transitions(
    spark: SparkSession, job: Job, on_progress: Progress
) -> tuple[DataFrame, dict[str, int]]:
    """All that the files say together: nothing twice, and by one clock.

    Journals without copies, by far the most common, are taken as they were parsed.
    """
    folder = job.folder
    parsed = _at_hand(folder.read_staged(spark, PARSED, schemas.TRANSITIONS), job)
    has_logs = any(file.kind is SourceKind.LOG for file in job.inputs)
    has_copies = bool(copies(parsed).head(1))
    if not has_logs and not has_copies:
        folder.stage_links(TRANSITIONS, of=PARSED)
        return parsed, {TRANSITIONS: folder.staged_rows(TRANSITIONS)}
    on_progress("bringing the files together")
    together = once(parsed) if has_copies else parsed
    made = {}
    if has_logs:
        folder.stage("together", complete_from_other_files(together))
        together = folder.read_staged(spark, "together", schemas.TRANSITIONS)
        folder.stage(CLOCK_OFFSETS, clock_offsets(together))
        offsets = folder.read_staged(spark, CLOCK_OFFSETS, schemas.CLOCK_OFFSETS)
        made[CLOCK_OFFSETS] = folder.staged_rows(CLOCK_OFFSETS)
        together = with_corrected_times(together, offsets)
    folder.stage(TRANSITIONS, together)
    transitions = _at_hand(folder.read_staged(spark, TRANSITIONS, schemas.TRANSITIONS), job)
    return transitions, {**made, TRANSITIONS: folder.staged_rows(TRANSITIONS)}


def _at_hand(transitions: DataFrame, job: Job) -> DataFrame:
    """All transitions, to be read again and again: few of them are kept in memory."""
    return _in_one_piece(transitions).localCheckpoint() if job.is_small else transitions


# --- the tables -------------------------------------------------------------------------------


def _make_tables(
    spark: SparkSession,
    job: Job,
    transitions: DataFrame,
    tables: Sequence[Table],
    on_progress: Progress,
) -> dict[str, int]:
    """Build every table from what it needs, two at a time.

    Planning a query is work for one core, carrying it out for all of them.
    """
    folder = job.folder
    shapes = {table.name: table.schema for table in tables}
    made: dict[str, Future[int]] = {}

    def read(name: str) -> DataFrame:
        if name == TRANSITIONS:
            return transitions
        if name == PLANNED:
            return planned_table(spark, job.planned)
        made[name].result()
        table = folder.read_staged(spark, name, shapes[name])
        return _in_one_piece(table) if job.is_small else table

    def make(table: Table) -> int:
        extra = {"settings": job.limits} if table.has_limits else {}
        built = table.build(*map(read, table.needs), **extra).select(*table.schema.fieldNames())
        folder.stage(table.name, built.sortWithinPartitions(*table.key))
        on_progress(table.name)
        return folder.staged_rows(table.name)

    with ThreadPoolExecutor(max_workers=2) as pool:
        for table in tables:
            made[table.name] = pool.submit(make, table)
        return {name: future.result() for name, future in made.items()}


def _in_one_piece(table: DataFrame) -> DataFrame:
    """A small table for one task alone, which then has nothing to exchange with others."""
    return table.coalesce(1)
