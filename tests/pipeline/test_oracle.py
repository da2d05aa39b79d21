"""The tables against a plain Python answer and the simulator's own truth, to the millisecond.

The journals of more than fifty simulated clusters are read as one. Neither the oracle nor the
ground truth shares a line with the pipeline: they know the journal's words and what tables mean.
"""

import shutil
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from regent.pipeline import schemas
from regent.pipeline.audit import violations
from regent.pipeline.availability import availability
from regent.pipeline.broker_flapping import broker_flapping
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.controller_reigns import controller_reigns
from regent.pipeline.deletions import deletions
from regent.pipeline.duplicates import once
from regent.pipeline.elections import election_latency, elections
from regent.pipeline.isr_churn import isr_churn
from regent.pipeline.outages import outages
from regent.pipeline.reassignments import reassignments
from regent.pipeline.replica_timelines import replica_timelines
from regent.pipeline.settings import Settings
from regent.pipeline.sources.journal import read_journal
from regent.pipeline.timelines import timelines
from regent.sim.campaign import journal_directory
from tests.pipeline import oracle
from tests.pipeline.comparing import comparable, differences
from tests.pipeline.ground_truth import (
    GroundTruth,
    partitions_wrong,
    replicas_wrong,
    rest_wrong,
    simulate,
)
from tests.pipeline.oracle.history import History, read_history
from tests.pipeline.oracle.replica_timelines import ReplicaInterval
from tests.pipeline.oracle.timelines import Interval

#: In 66 an ISR comes back in another order; in 242 a topic is gone that nobody was seen to delete.
SEEDS = (*range(50), 66, 242)
#: Topics with different demands, and little patience: every condition comes true somewhere.
SETTINGS = Settings(
    min_isr=2, topic_min_isr={"topic0": 1, "topic2": 3}, offline_longer_than_ms=3_000
)
SHOWN = 5


class Cluster(NamedTuple):
    """One simulated cluster: what it wrote, what the oracle makes of that, what really was."""

    history: History
    intervals: list[Interval]
    truth: GroundTruth


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journals")


@pytest.fixture(scope="module")
def clusters(journals: Path) -> list[Cluster]:
    found = []
    for seed in SEEDS:
        truth = simulate(seed, journals)
        history = read_history(journal_directory(journals, seed))
        found.append(Cluster(history, oracle.timelines.timelines(history), truth))
    return found


@pytest.fixture(scope="module")
def transitions(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, clusters: list[Cluster]
) -> DataFrame:
    """All records of all clusters."""
    paths = sorted({str(Path(c.history.lines[0].file).parent) for c in clusters})
    return kept(read_journal(spark, *paths), tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def intervals(transitions: DataFrame) -> DataFrame:
    return timelines(transitions).localCheckpoint()


def kept(transitions: DataFrame, directory: Path) -> DataFrame:
    """The table on disk, as a run has it: what is made from it does not read the journal again."""
    path = str(directory / "transitions")
    transitions.write.parquet(path)
    return transitions.sparkSession.read.schema(schemas.TRANSITIONS).parquet(path)


def every(
    clusters: Iterable[Cluster], answer: Callable[[History, list[Interval]], Iterable[Any]]
) -> list[Any]:
    """The oracle's answer for all clusters."""
    return [row for each in clusters for row in answer(each.history, each.intervals)]


@pytest.mark.requirement("Q3")
def test_timelines_are_the_oracles_and_the_controllers(
    intervals: DataFrame, clusters: list[Cluster]
) -> None:
    rows = [Interval(*comparable(row)) for row in intervals.collect()]

    assert not differences(rows, every(clusters, lambda _history, known: known))
    for cluster in clusters:
        told = [row for row in rows if row.cluster == cluster.history.cluster]
        assert not list(islice(partitions_wrong(cluster.truth, told), SHOWN))
        assert not list(islice(rest_wrong(cluster.truth, told), SHOWN))


@pytest.mark.requirement("Q3")
def test_replica_timelines_are_the_oracles_and_the_controllers(
    transitions: DataFrame, clusters: list[Cluster]
) -> None:
    table = replica_timelines(transitions).collect()
    rows = [ReplicaInterval(*comparable(row)) for row in table]

    assert not differences(
        rows,
        every(clusters, lambda history, _: oracle.replica_timelines.replica_timelines(history)),
    )
    for cluster in clusters:
        told = [row for row in rows if row.cluster == cluster.history.cluster]
        assert not list(islice(replicas_wrong(cluster.truth, told), SHOWN))


@pytest.mark.requirement("Q5")
def test_outages_are_the_oracles(
    intervals: DataFrame, transitions: DataFrame, clusters: list[Cluster]
) -> None:
    table = outages(intervals, transitions, SETTINGS)

    assert not differences(
        table.collect(),
        every(clusters, lambda h, known: oracle.availability.outages(known, h.until_ms, SETTINGS)),
    )


@pytest.mark.requirement("Q5")
def test_availability_is_the_oracles(
    intervals: DataFrame, transitions: DataFrame, clusters: list[Cluster]
) -> None:
    table = availability(intervals, transitions, SETTINGS)

    assert not differences(
        table.collect(),
        every(
            clusters, lambda h, known: oracle.availability.availability(known, h.until_ms, SETTINGS)
        ),
    )


@pytest.mark.requirement("Q5")
def test_elections_and_their_latency_are_the_oracles(
    intervals: DataFrame, transitions: DataFrame, clusters: list[Cluster]
) -> None:
    table = elections(transitions, intervals).localCheckpoint()
    held = every(clusters, oracle.elections.elections)

    assert not differences(table.collect(), held)
    assert not differences(
        election_latency(table).collect(), oracle.elections.election_latency(held)
    )


@pytest.mark.requirement("Q5")
def test_reigns_are_the_oracles(transitions: DataFrame, clusters: list[Cluster]) -> None:
    table = controller_reigns(transitions)

    assert not differences(
        table.collect(), every(clusters, lambda history, _: oracle.reigns.reigns(history))
    )


@pytest.mark.requirement("Q5")
def test_isr_churn_is_the_oracles(
    intervals: DataFrame, transitions: DataFrame, clusters: list[Cluster]
) -> None:
    table = isr_churn(intervals, transitions)

    assert not differences(
        table.collect(),
        every(clusters, lambda h, known: oracle.isr_churn.isr_churn(known, h.until_ms)),
    )


@pytest.mark.requirement("Q5")
def test_the_brokers_that_live_in_the_end_are_those_in_zookeeper(
    transitions: DataFrame, clusters: list[Cluster]
) -> None:
    living = broker_lives(transitions).filter("down_ms is null")

    assert not differences(
        living.select("cluster", "broker_id", "broker_epoch").collect(),
        [
            (cluster.history.cluster, broker_id, broker_epoch)
            for cluster in clusters
            for broker_id, broker_epoch in cluster.truth.brokers_at_rest.items()
        ],
    )


@pytest.mark.requirement("Q4")
def test_findings_are_the_oracles_and_none_of_them_is_an_error(
    intervals: DataFrame, transitions: DataFrame, clusters: list[Cluster]
) -> None:
    """The simulator's own checkers found nothing wrong in these runs; nor may the audit."""
    table = violations(
        transitions,
        outages(intervals, transitions, SETTINGS),
        reassignments(transitions, SETTINGS),
        deletions(transitions, SETTINGS),
        broker_flapping(broker_lives(transitions), SETTINGS),
        settings=SETTINGS,
    )
    rows = table.collect()
    judged = {*oracle.findings.RULES, oracle.findings.TOO_LONG}

    assert not [row for row in rows if row.severity == "error"][:SHOWN]
    assert not differences(
        [
            (r.rule, r.cluster, r.topic, r.partition, r.controller_epoch, r.sequence)
            for r in rows
            if r.rule in judged
        ],
        every(clusters, lambda h, known: oracle.findings.findings(h, known, SETTINGS)),
    )


@pytest.mark.requirement("Q2", "Q3", "Q5")
def test_shuffled_and_doubled_input_gives_the_same_tables(
    spark: SparkSession, tmp_path: Path, clusters: list[Cluster]
) -> None:
    """Each line stands in two files, and all lines come in any order, in several partitions."""
    some = clusters[:6]
    for segment in {Path(line.file) for each in some for line in each.history.lines}:
        directory = tmp_path / "journals" / segment.parent.name
        directory.mkdir(parents=True, exist_ok=True)
        shutil.copy(segment, directory / segment.name)
        shutil.copy(segment, directory / segment.name.replace("-0", "-9"))
    doubled = read_journal(spark, str(tmp_path / "journals")).orderBy(F.rand(seed=7)).repartition(5)
    transitions = kept(once(doubled).orderBy(F.rand(seed=8)).repartition(3), tmp_path)

    assert not differences(
        timelines(transitions).drop("file").collect(),
        every(some, lambda _, rows: map(without_file, rows)),
    )
    assert not differences(
        replica_timelines(transitions).drop("file").collect(),
        every(
            some,
            lambda history, _: map(
                without_file, oracle.replica_timelines.replica_timelines(history)
            ),
        ),
    )
    assert not differences(
        controller_reigns(transitions).collect(),
        every(some, lambda history, _: oracle.reigns.reigns(history)),
    )


def without_file(row: Any) -> tuple[Any, ...]:
    """A row but for its file: of two copies, either may be named."""
    return tuple(value for name, value in row._asdict().items() if name != "file")


def test_the_oracle_answers_with_the_columns_of_the_tables() -> None:
    pairs: list[tuple[Any, StructType]] = [
        (oracle.timelines.Interval, schemas.TIMELINES),
        (oracle.replica_timelines.ReplicaInterval, schemas.REPLICA_TIMELINES),
        (oracle.availability.Outage, schemas.OUTAGES),
        (oracle.availability.Availability, schemas.AVAILABILITY),
        (oracle.elections.Election, schemas.ELECTIONS),
        (oracle.elections.Latency, schemas.ELECTION_LATENCY),
        (oracle.reigns.Reign, schemas.CONTROLLER_REIGNS),
        (oracle.isr_churn.Churn, schemas.ISR_CHURN),
    ]

    for row, schema in pairs:
        assert list(row._fields) == schema.fieldNames()
