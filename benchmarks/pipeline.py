"""What the pipeline costs: `python -m benchmarks.pipeline --events 15000000 --json`.

A synthetic journal (`benchmarks.journal_generator`) becomes all tables on `local[2]`, one after the
other in one cold session; `regent pipeline run` makes two at a time, which changes the time and not
the work. DuckDB answers the main questions (`benchmarks.duckdb_answers`) on the same journal with
two threads, and the outputs are compared before anything else is: the number of rows and a sum over
hashes of all columns. The audit must find what was planted.

- `stages`: for each, seconds of the clock and of the processors (Python, Java and all), events of
  the whole journal for each second of the clock, and rows.
- `ratio`: seconds of the processors, Spark's as a multiple of DuckDB's. Spark's ingest also counts
  lines, judges each record and looks for copies, and its audit has more rules and tells them in
  words.
- `java_peak_bytes`: the most memory that Java had at once.
- `small`: a journal of ten thousand events through the command, with the start of Spark.
- `growth`: seconds of the processors for each event, at the largest size as a multiple of the
  smallest; in the long run, when `--events` names two sizes.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import duckdb
from msgspec import Struct
from pyspark.sql import SparkSession

from benchmarks.duckdb_answers import ANSWERS, Answer, answer, connect, fingerprint
from benchmarks.journal_generator import CLUSTER, Written, generate
from benchmarks.process_tree import java_peak_bytes, tree_cpu_s
from benchmarks.report import per_second, show
from regent.pipeline import schemas
from regent.pipeline.inputs import SourceKind, find_inputs
from regent.pipeline.output import OutputFolder
from regent.pipeline.run import TRANSITIONS, Job, run
from regent.pipeline.session import Profile, open_session
from regent.pipeline.tables import TABLES, Table

MASTER: Final = "local[2]"
THREADS: Final = 2
EVENTS: Final = 1_000_000
SMALL_EVENTS: Final = 10_000


class Stage(Struct):
    """What one step took."""

    name: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    rows: int = 0


@contextmanager
def measured(name: str, stages: list[Stage]) -> Iterator[Stage]:
    """Add what happens meanwhile to the stages."""
    stage = Stage(name)
    wall, cpu = perf_counter(), tree_cpu_s()
    yield stage
    stage.wall_s, stage.cpu_s = perf_counter() - wall, tree_cpu_s() - cpu
    stages.append(stage)
    print(f"{name:24}{stage.wall_s:8.1f} s {stage.cpu_s:8.1f} cpu-s", file=sys.stderr)


# --- Spark ----------------------------------------------------------------------------------------


def make_all(journal: Path, out: Path) -> tuple[list[Stage], int]:
    """All tables, stage by stage, and the most memory that it took."""
    stages: list[Stage] = []
    folder = OutputFolder(out)
    with measured("session", stages):
        spark = open_session(MASTER, Profile.FULL, "benchmark")
    try:
        with folder.held():
            job = Job(tuple(find_inputs(SourceKind.JOURNAL, [str(journal)])), folder)
            with measured(TRANSITIONS, stages) as stage:
                stage.rows = run(spark, job, tables=()).tables[TRANSITIONS]
            for table in TABLES:
                with measured(table.name, stages) as stage:
                    stage.rows = make_table(spark, folder, table, job)
            for table in TABLES:
                (out / ".staging" / table.name).rename(out / table.name)
        peak = java_peak_bytes()
    finally:
        spark.stop()
    return stages, peak


def make_table(spark: SparkSession, folder: OutputFolder, table: Table, job: Job) -> int:
    """One table from those that are there, as a run makes it."""
    shapes = {each.name: each.schema for each in TABLES}
    inputs = [
        folder.read(spark, need, schemas.TRANSITIONS)
        if need == TRANSITIONS
        else folder.read_staged(spark, need, shapes[need])
        for need in table.needs
    ]
    extra = {"settings": job.limits} if table.has_limits else {}
    built = table.build(*inputs, **extra).select(*table.schema.fieldNames())
    folder.stage(table.name, built.sortWithinPartitions(*table.key))
    return folder.staged_rows(table.name)


# --- DuckDB ---------------------------------------------------------------------------------------


def answer_all(journal: Path, out: Path) -> list[Stage]:
    """The same questions, stage by stage."""
    stages = []
    connection = connect(THREADS, out / "scratch")
    for one in ANSWERS:
        wall, cpu = perf_counter(), process_time()
        answer(connection, one, journal, out)
        stages.append(Stage(one.name, perf_counter() - wall, process_time() - cpu))
    return stages


def compare(connection: duckdb.DuckDBPyConnection, one: Answer, spark: Path, duck: Path) -> bool:
    """Whether both gave the same."""
    theirs = fingerprint(connection, str(duck / f"{one.name}.parquet"), one)
    ours = fingerprint(connection, f"{spark / one.name}/**/*.parquet", one, one.spark_rows)
    return ours == theirs


def findings(connection: duckdb.DuckDBPyConnection, spark: Path) -> dict[str, int]:
    """How often the audit found each rule broken."""
    found = connection.execute(
        f"SELECT rule, count(*) FROM read_parquet('{spark}/violations/*.parquet')"  # noqa: S608
        " GROUP BY ALL"
    )
    return dict(found.fetchall())


# --- what is measured -----------------------------------------------------------------------------


def measure(events: int) -> dict[str, Any]:
    """Every figure for one size."""
    with tempfile.TemporaryDirectory(prefix="regent-bench-") as name:
        scratch = Path(name)
        journal, spark, duck = scratch / "journal", scratch / "spark", scratch / "duck"
        duck.mkdir()
        start = perf_counter()
        written = generate(journal, events)
        generated_s = perf_counter() - start
        stages, peak = make_all(journal, spark)
        answers = answer_all(journal, duck)
        connection = connect(THREADS, scratch)
        differ = [one.name for one in ANSWERS if not compare(connection, one, spark, duck)]
        found = findings(connection, spark)
    return {
        **figures_of(written, stages, answers),
        "generated_s": round(generated_s, 1),
        "java_peak_bytes": peak,
        "outputs_that_differ": differ,
        "found_what_was_planted": found == dict(written.planted),
    }


def figures_of(
    written: Written, stages: Sequence[Stage], answers: Sequence[Stage]
) -> dict[str, Any]:
    """What two lists of stages come to."""
    duck = {stage.name: stage for stage in answers}
    total = Stage(
        "total",
        sum(stage.wall_s for stage in stages),
        sum(stage.cpu_s for stage in stages),
    )
    both_s = sum(stage.cpu_s for stage in stages if stage.name in duck)
    duck_s = sum(stage.cpu_s for stage in answers)
    return {
        "events": written.events,
        "bytes": written.bytes,
        "partitions": written.partitions,
        "brokers": written.brokers,
        "stages": [_figures(stage, written.events, duck) for stage in (*stages, total)],
        "duckdb_cpu_s": round(duck_s, 2),
        "spark_cpu_s_of_the_same": round(both_s, 2),
        "ratio": round(both_s / duck_s, 2),
        "cpu_us_per_event": round(total.cpu_s / written.events * 1e6, 2),
    }


def _figures(stage: Stage, events: int, duck: dict[str, Stage]) -> dict[str, Any]:
    figures = {
        "name": stage.name,
        "rows": stage.rows,
        "wall_s": round(stage.wall_s, 2),
        "cpu_s": round(stage.cpu_s, 2),
        "events_per_s": per_second(events, stage.wall_s),
    }
    if stage.name in duck:
        figures["duckdb_wall_s"] = round(duck[stage.name].wall_s, 2)
        figures["duckdb_cpu_s"] = round(duck[stage.name].cpu_s, 2)
        figures["ratio"] = round(stage.cpu_s / duck[stage.name].cpu_s, 2)
    return figures


def measure_small(events: int) -> dict[str, Any]:
    """The command on a small journal, from nothing to tables."""
    with tempfile.TemporaryDirectory(prefix="regent-bench-") as name:
        written = generate(Path(name, "journal"), events)
        journal, out = Path(name, "journal", CLUSTER), Path(name, "tables")
        program = "import sys; from benchmarks.pipeline import small; small(*sys.argv[1:])"
        start = perf_counter()
        done = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-c", program, str(journal), str(out)],
            cwd=Path(__file__).parents[1],
            check=True,
            stdout=subprocess.PIPE,
        )
        wall_s = perf_counter() - start
    return {
        "events": written.events,
        "wall_s": round(wall_s, 2),
        "cpu_s": round(float(done.stdout.splitlines()[-1]), 2),
    }


def small(journal: str, out: str) -> None:
    """What the child does: the command, and then what it all took; Java ends only after it."""
    from regent.cli.main import main as regent  # noqa: PLC0415 - only here

    code = regent(
        ["pipeline", "run", "--journal", journal, "--out", out, "--json", "--master", MASTER]
    )
    assert code == 0, "the command must have succeeded"
    print(tree_cpu_s())


def measure_all(sizes: Sequence[int], small_events: int) -> dict[str, Any]:
    """Every figure for every size."""
    measured_sizes = [measure(size) for size in sizes]
    first, last = (size["cpu_us_per_event"] for size in (measured_sizes[0], measured_sizes[-1]))
    return {
        "benchmark": "pipeline",
        "master": MASTER,
        "sizes": measured_sizes,
        "growth": round(last / first, 3),
        "small": measure_small(small_events),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the pipeline.")
    parser.add_argument("--json", action="store_true", help="as always: all is printed as JSON")
    parser.add_argument(
        "--events", default=str(EVENTS), help="sizes, smallest first (default: %(default)s)"
    )
    parser.add_argument("--small-events", type=int, default=SMALL_EVENTS)
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.events.split(",")]
    show(measure_all(sizes, options.small_events), as_json=True)


if __name__ == "__main__":
    main()
