"""A run told by Regent's journals and by the logs that Kafka would have written is the same run.

The simulator writes both. Nothing of the one is used to make the other, and the logs are read by a
grammar that was made from Kafka's own lines.
"""

from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from regent.pipeline.controller_reigns import controller_reigns
from regent.pipeline.sources.journal import read_journal
from regent.pipeline.sources.state_change_log import (
    complete_from_other_files,
    line_counts,
    log_transitions,
    read_log_lines,
)
from regent.sim.campaign import JournalKeeper
from regent.sim.plan import draw_plan
from regent.sim.run import run
from regent.sim.state_change_log import StateChangeLogKeeper

pytestmark = pytest.mark.requirement("Q1", "Q2")

#: Between them: clocks that jump, also to before 1970, a disk that fails, bounces, moves, and a
#: topic deleted.
SEEDS: Final = (47, 49, 52)
#: What both sources tell of partitions and replicas.
STEPS: Final = ("leader_elected", "partition_moved", "replica_moved", "isr_shrunk")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journals and the logs of some runs."""
    root = tmp_path_factory.mktemp("runs")
    for seed in SEEDS:
        journals = JournalKeeper(root / "journals" / f"seed-{seed}")
        logs = StateChangeLogKeeper(root / "logs" / f"seed-{seed}")
        run(draw_plan(seed), [journals, logs])
        journals.close()
        logs.close()
    return root


@pytest.fixture(scope="module")
def lines(spark: SparkSession, root: Path) -> DataFrame:
    """All lines of all logs, each run a cluster of its own."""
    read = read_log_lines(spark, [str(root / "logs")])
    cluster = F.regexp_extract("file", r"/(seed-\d+)/", 1)
    return read.withColumn("cluster", cluster).localCheckpoint()


@pytest.fixture(scope="module")
def logged(lines: DataFrame) -> DataFrame:
    transitions = lines.transform(log_transitions).transform(complete_from_other_files)
    return transitions.localCheckpoint()


@pytest.fixture(scope="module")
def journalled(spark: SparkSession, root: Path) -> DataFrame:
    return read_journal(spark, str(root / "journals")).localCheckpoint()


def test_every_line_is_parsed(lines: DataFrame, root: Path) -> None:
    counts = {row.file: row for row in lines.transform(line_counts).collect()}
    written = {
        str(path): len(path.read_text("utf-8").splitlines())
        for path in (root / "logs").rglob("*.log")
    }

    assert {file: row.lines for file, row in counts.items()} == written
    assert {file: row.quarantined for file, row in counts.items() if row.quarantined} == {}
    assert sum(written.values()) > 3_000


def test_the_same_steps_in_the_same_order_at_the_same_times(
    logged: DataFrame, journalled: DataFrame
) -> None:
    """Of each partition and its replicas: elections, moves, and ISRs that controllers shrank."""
    by_log, by_journal = steps(logged), steps(journalled)

    assert by_log == by_journal
    assert {step.kind for of in by_log.values() for step in of} == set(STEPS)


def test_the_same_reigns(logged: DataFrame, journalled: DataFrame) -> None:
    by_log, by_journal = reigns(logged), reigns(journalled)

    assert by_log == by_journal
    assert len(by_log) > len(SEEDS)


def test_the_same_brokers_came_and_went(logged: DataFrame, journalled: DataFrame) -> None:
    """But for a broker that bounced: Kafka says that it is back when it notices that it went.

    In which life a broker goes it does not say, so lives are not compared.
    """
    by_log, by_journal = sightings(logged), sightings(journalled)

    assert by_log == by_journal
    assert {(kind, is_bounced) for _, _, _, kind, _, is_bounced, _ in by_log} == {
        ("broker_up", False),
        ("broker_down", False),
        ("broker_down", True),
    }


def steps(transitions: DataFrame) -> dict[tuple[object, ...], list[Row]]:
    """What each partition went through, in order."""
    step = F.struct(
        "controller_epoch",
        "sequence",
        "controller_id",
        "at_ms",
        "kind",
        "before",
        "after",
        "broker_id",
        "replica_before",
        "replica_after",
        "leader",
        "leader_epoch",
        "isr",
        "zk_version",
        F.coalesce("recovering", F.lit(False)).alias("recovering"),
    )
    told = transitions.filter(F.col("kind").isin(*STEPS))
    in_order = F.transform(
        F.sort_array(F.collect_list(step)), lambda each: each.dropFields("sequence")
    )
    rows = told.groupBy("cluster", "topic", "partition").agg(in_order.alias("steps")).collect()
    return {(row.cluster, row.topic, row.partition): row.steps for row in rows}


def reigns(transitions: DataFrame) -> set[tuple[object, ...]]:
    table = controller_reigns(transitions)
    return {
        tuple(row)
        for row in table.select(
            "cluster",
            "controller_epoch",
            "controller_id",
            "elected_ms",
            "resigned_ms",
            "end_ms",
            "interregnum_ms",
            "elections",
        ).collect()
    }


def sightings(transitions: DataFrame) -> set[tuple[object, ...]]:
    """Brokers that came and went, without the returns of those that bounced."""
    seen = transitions.filter(F.col("kind").isin("broker_up", "broker_down"))
    rows = {
        tuple(row)
        for row in seen.select(
            "cluster",
            "controller_epoch",
            "broker_id",
            "kind",
            "at_ms",
            F.coalesce("bounced", F.lit(False)),
            F.coalesce("loaded", F.lit(False)),
        ).collect()
    }
    bounced = {row[:3] for row in rows if row[5]}
    return {row for row in rows if row[3] == "broker_down" or row[6] or row[:3] not in bounced}
