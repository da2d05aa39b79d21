"""The audit: each rule finds its planted fault, with evidence, and nothing else is found (Q4)."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from regent.core import partition_machine, replica_machine
from regent.pipeline import schemas
from regent.pipeline.audit import RULES, violations
from regent.pipeline.audit.document import document
from regent.pipeline.audit.moves import LEGAL_BEFORE, LEGAL_REPLICA_BEFORE
from regent.pipeline.sources.journal import read_journal
from regent.sim.campaign import run_seed
from tests.pipeline.audit_cases import CASES, Case, Expected
from tests.pipeline.rows import FILE, transitions_of

pytestmark = pytest.mark.requirement("Q4")

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


def histories(spark: SparkSession, cases: Mapping[str, Case]) -> DataFrame:
    """All cases in one table, each its own cluster; what is called a log tells as little as one."""
    records = [
        msgspec.structs.replace(each, cause=name)
        for name, case in cases.items()
        for each in case.records
    ]
    is_log = F.col("cluster").startswith("log: ")
    is_hearsay = F.col("cluster").startswith("log: brokers say")
    return (
        transitions_of(spark, *records)
        .withColumn("cluster", F.col("cause"))
        .withColumn("source", F.when(is_log, "log").otherwise(F.col("source")))
        .withColumn("zk_version", F.when(~is_log, F.col("zk_version")))
        .withColumn("reporter_id", F.when(is_hearsay, 9).otherwise(F.col("reporter_id")))
    )


def outage_rows(spark: SparkSession) -> DataFrame:
    cluster = "nobody leads for too long"
    rows = [
        (cluster, "leaderless", "t", 0, 1, 7, 100, None, 30_001, 1, "event 1", FILE, None),
        (cluster, "leaderless", "t", 1, 1, 8, 100, 30_100, 30_000, 1, "event 1", FILE, None),
        (cluster, "offline", "t", 0, 1, 7, 100, None, 30_001, 1, "event 1", FILE, None),
    ]
    return spark.createDataFrame(rows, schemas.OUTAGES)


def reassignment_rows(spark: SparkSession) -> DataFrame:
    cluster, none = "a reassignment is stuck", list[int]()
    rows = [
        (cluster, "t", 0, 1, 2, 0, None, "running", [1], [2], [2], [1], 900_000, 700_000, True),
        (cluster, "t", 1, 1, 2, 0, 5, "finished", [1], [2], none, none, 5, 5, False),
    ]
    return spark.createDataFrame(rows, schemas.REASSIGNMENTS)


def deletion_rows(spark: SparkSession) -> DataFrame:
    cluster, reasons = "a deletion is stuck", ["a replica is offline"]
    rows = [
        (cluster, "t", 1, 2, 0, None, None, 900_000, 1, reasons, 0, True),
        (cluster, "u", 1, 2, 0, 1, 5, 5, 0, [], 0, False),
    ]
    return spark.createDataFrame(rows, schemas.DELETIONS)


def flapping_rows(spark: SparkSession) -> DataFrame:
    rows = [("a broker flaps", 1, 1, 4, 3), ("a broker flaps while nobody looks", 1, 0, 4, 3)]
    return spark.createDataFrame(rows, schemas.BROKER_FLAPPING)


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    return violations(
        histories(spark, CASES),
        outage_rows(spark),
        reassignment_rows(spark),
        deletion_rows(spark),
        flapping_rows(spark),
    )


@pytest.fixture(scope="module")
def findings(table: DataFrame) -> list[Row]:
    """Everything that all rules find in all cases: one run for all tests."""
    return table.collect()


def summary(row: Row) -> Expected:
    evidence = tuple(each.sequence for each in row.evidence)
    return Expected(row.rule, row.controller_epoch, row.sequence, evidence)


@pytest.mark.parametrize("name", CASES)
def test_exactly_what_was_planted_is_found(name: str, findings: list[Row]) -> None:
    found = [summary(row) for row in findings if row.cluster == name]

    assert sorted(found) == sorted(CASES[name].expected)


def test_every_rule_has_a_planted_fault() -> None:
    planted = {expected.rule for case in CASES.values() for expected in case.expected}

    assert planted == {rule.name for rule in RULES}


def test_a_finding_tells_everything_that_is_needed(findings: list[Row]) -> None:
    """Who, where, when, what figures, and in which file."""
    (row,) = (each for each in findings if each.cluster == "a partition leaves where it is not")

    evidence = [Row(file=FILE, line=None, sequence=number) for number in (3, 2)]
    assert row == Row(
        rule="partition_chain_broken",
        severity="error",
        cluster="a partition leaves where it is not",
        topic="t",
        partition=0,
        broker_id=None,
        controller_id=1,
        controller_epoch=1,
        sequence=3,
        at_ms=2,
        detail="the partition left OnlinePartition for OfflinePartition, but its last move had "
        "ended in NewPartition",
        evidence=evidence,
    )


# fmt: off
SENTENCES = {
    "an illegal move of a replica":
        "the replica on 2 went from OnlineReplica to NonExistentReplica, which no machine allows",
    "a partition leaves where it was not started":
        "the partition left OfflinePartition for OfflinePartition, but its controller had started "
        "it in OnlinePartition",
    "an ISR that a deposed controller wrote is found":
        "leader epoch 1, version 2, was written under controller epoch 1 after epoch 2 had seen "
        "leader epoch 1, version 1",
    "a deposed controller writes":
        "controller 1 of epoch 1 wrote leader epoch 1 as version 1 after controller 2 of epoch 2 "
        "had seen leader epoch 0, version 0",
    "log: a deposed controller writes":
        "controller 1 of epoch 1 wrote leader epoch 3 as version unknown after controller 2 of "
        "epoch 2 had seen leader epoch 2, version unknown",
    "an ISR has a stranger":
        "the ISR is [1, 2, 3], assigned are [1, 2], and [3] are in neither this assignment nor "
        "the one before",
    "an epoch is unknown": "nothing is known of controller epoch 2",
    "many records are lost": "89998 records are missing between 1 and 90000",
    "a broker that was never there is elected":
        "broker 3 was elected, which its controller had never seen alive",
    "a dead broker is elected": "broker 1 was elected, which had gone with record 4",
    "a broker flaps": "broker 1 died 3 times within 3 ms",
    "nobody leads for too long": "nobody led it for 30 s, to the end of what is known",
    "a reassignment is stuck":
        "adding [2] and removing [1] stood still for 11 min 40 s; it is running",
    "a deletion is stuck":
        "the deletion took 15 min 0 s so far; in the way: a replica is offline",
}
# fmt: on


def test_sentences_have_the_figures(findings: list[Row]) -> None:
    told = {row.cluster: row.detail for row in findings if row.cluster in SENTENCES}

    assert told == SENTENCES


def test_every_finding_has_a_sentence_and_evidence(findings: list[Row]) -> None:
    assert [row for row in findings if not row.detail or not row.evidence] == []


def test_the_table_has_the_schema_it_says(table: DataFrame) -> None:
    fields = ((field.name, field.dataType) for field in table.schema.fields)

    assert schemas.table(*fields) == schemas.VIOLATIONS


# --- clean runs -------------------------------------------------------------------------------


@pytest.mark.requirement("E5")
def test_clean_runs_have_no_errors(spark: SparkSession, tmp_path: Path) -> None:
    """Clusters that break in every way, and a controller that does no wrong."""
    for seed in range(5):
        run_seed(seed, journal_root=tmp_path / "journals")
    tables = str(tmp_path / "transitions")
    read_journal(spark, str(tmp_path / "journals")).write.parquet(tables)
    transitions = spark.read.schema(schemas.TRANSITIONS).parquet(tables)
    outages, reassignments, deletions, flapping = (
        spark.createDataFrame([], schema)
        for schema in (
            schemas.OUTAGES,
            schemas.REASSIGNMENTS,
            schemas.DELETIONS,
            schemas.BROKER_FLAPPING,
        )
    )

    found = violations(transitions, outages, reassignments, deletions, flapping).collect()

    assert [row for row in found if row.severity == "error"] == []


# --- the rules as data ------------------------------------------------------------------------


def test_legal_moves_are_those_of_the_machines() -> None:
    """What the audit allows and what the controller can do is the same."""
    partitions = {(before, to) for to, origins in LEGAL_BEFORE.items() for before in origins}
    replicas = {(before, to) for to, origins in LEGAL_REPLICA_BEFORE.items() for before in origins}

    assert partitions == set(partition_machine.TRANSITIONS)
    assert replicas == set(replica_machine.TRANSITIONS)


def test_rules_have_names_of_their_own() -> None:
    assert [name for name, count in Counter(rule.name for rule in RULES).items() if count > 1] == []


def test_the_page_on_the_audit_is_fresh() -> None:
    """`make docs` was run after the last change of a rule."""
    assert PAGE.read_text(encoding="utf-8") == document()
