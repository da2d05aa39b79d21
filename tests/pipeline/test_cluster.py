"""A run on a cluster of a master and two workers makes the tables that one machine makes (Q9)."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from regent.sim.campaign import JournalKeeper
from regent.sim.plan import draw_plan
from regent.sim.run import run as simulate
from tests.pipeline import small_run
from tests.pipeline.spark_processes import (
    LOOPBACK,
    PATIENCE_S,
    python_without_regent,
    server,
    surroundings,
)

pytestmark = [pytest.mark.requirement("Q9"), pytest.mark.cluster]

ROOT: Final = Path(__file__).parents[2]
TABLES: Final = ("transitions", *(table.name for table in small_run.SOME_TABLES))
ANYWHERE: Final = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
SMALL: Final = ("--cores", "1", "--memory", "1g")
WORKERS: Final = ("worker-1", "worker-2")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master that has two workers."""
    package = "org.apache.spark.deploy"
    with ExitStack() as running:
        master_class, worker_class = f"{package}.master.Master", f"{package}.worker.Worker"
        command: tuple[str, ...] = ("spark-class", master_class, *ANYWHERE)
        ready = r"Starting Spark master at (\S+)"
        address = running.enter_context(server(tmp_path / "master.log", *command, said=ready))
        for name in WORKERS:
            work = ("--work-dir", str(tmp_path / name))
            command = ("spark-class", worker_class, *ANYWHERE, *SMALL, *work, address)
            ready = r"(Successfully registered) with master"
            running.enter_context(server(tmp_path / f"{name}.log", *command, said=ready))
        yield address


def test_two_workers_without_the_package_make_the_same_tables(
    spark: SparkSession, master: str, tmp_path: Path
) -> None:
    journals = tmp_path / "journals" / "seed-0"
    keeper = JournalKeeper(journals)
    simulate(draw_plan(0), [keeper])
    keeper.close()
    here, there = tmp_path / "here", tmp_path / "there"
    bare = python_without_regent(tmp_path / "bare")

    subprocess.run(  # noqa: S603 - it is us
        [sys.executable, "-m", small_run.__name__, master, str(journals), str(there)],
        env=surroundings({"PYSPARK_PYTHON": str(bare)}),
        cwd=ROOT,
        timeout=3 * PATIENCE_S,
        check=True,
    )
    small_run.small_run(spark, journals, here)

    for table in TABLES:
        assert rows(there / table) == rows(here / table), table
        assert rows(here / table), f"{table} has no rows, and shows nothing"
    assert {name for name in WORKERS if has_run_tasks(tmp_path / name)} == set(WORKERS)


def rows(table: Path) -> Counter[tuple[Any, ...]]:
    """What is in a table, in whatever order."""
    return Counter(map(plain, parquet.read_table(table).to_pylist()))


def plain(value: Any) -> Any:
    """A row or a part of it, so that it can be counted."""
    if isinstance(value, dict):
        return tuple((name, plain(part)) for name, part in value.items())
    return tuple(map(plain, value)) if isinstance(value, list) else value


def has_run_tasks(work: Path) -> bool:
    """Whether an executor of this worker says that it has finished a task."""
    return any(
        "Finished task" in log.read_text("utf-8", errors="replace")
        for log in work.glob("app-*/*/stderr")
    )
