"""Controllers' times in office (Q5)."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.controller_reigns import controller_reigns
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.rows import brokers, record

pytestmark = pytest.mark.requirement("Q5")

TOLD = facts.RequestSent(BrokerId(1), BrokerEpoch(1), "UpdateMetadata", 0)


def loaded(topic: str, *partitions: int) -> facts.TopicLoaded:
    return facts.TopicLoaded(
        topic, tuple(facts.LoadedPartition(each, brokers(1)) for each in partitions)
    )


def election() -> facts.LeaderElected:
    return facts.LeaderElected(
        topic="t",
        partition=0,
        strategy="offline",
        before=PartitionState.NEW,
        leader_before=BrokerId(-1),
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(0),
        isr=brokers(1),
        zk_version=ZkVersion(0),
    )


def won(sequence: int, at_ms: int, epoch: int, controller: int) -> Record:
    return record(
        sequence, facts.ControllerElected(), at_ms=at_ms, epoch=epoch, controller=controller
    )


def test_a_reign_and_the_anatomy_of_its_failover(spark: SparkSession) -> None:
    """Records 10 and 11 were lost; what node 1 wrote before it was elected is of no reign."""
    transitions = histories(
        spark,
        c=[
            record(1, facts.ZnodeIsolated("/controller", "not JSON"), at_ms=5, epoch=0),
            won(2, 10, 1, 1),
            record(3, loaded("t", 0, 1), at_ms=12),
            record(4, loaded("u", 0), at_ms=14),
            record(5, TOLD, at_ms=15),
            record(6, facts.ReplicasStarted("t"), at_ms=16),
            record(7, facts.PartitionsStarted("t", new=(0, 1)), at_ms=18),
            record(8, election(), at_ms=20),
            record(9, loaded("later", 0), at_ms=30),
            record(12, TOLD, at_ms=40),
            record(13, facts.ControllerResigned("asked to resign"), at_ms=50),
        ],
    )

    table = controller_reigns(transitions)

    (row,) = table.collect()
    assert row.asDict() == {
        "cluster": "c",
        "controller_epoch": 1,
        "controller_id": 1,
        "elected_ms": 10,
        "loaded_ms": 14,
        "replicas_started_ms": 16,
        "partitions_started_ms": 18,
        "first_request_ms": 15,
        "last_record_ms": 50,
        "resigned_ms": 50,
        "resigned_because": "asked to resign",
        "end_ms": 50,
        "interregnum_ms": None,
        "records": 10,
        "records_lost": 2,
        "topics_loaded": 2,
        "partitions_loaded": 3,
        "elections": 1,
        "requests": 2,
    }
    assert schema_of(table) == schemas.CONTROLLER_REIGNS


def test_a_reign_ends_with_resignation_or_the_next_election(spark: SparkSession) -> None:
    resigned = facts.ControllerResigned("asked")
    transitions = histories(
        spark,
        # The second one died in office; its own process had counted on from an earlier reign.
        served=[
            won(1, 10, 1, 1),
            record(2, resigned, at_ms=50),
            won(7, 80, 2, 2),
            record(8, TOLD, at_ms=90, epoch=2, controller=2),
            won(1, 200, 3, 3),
        ],
        # It learned of its successor only afterwards.
        deposed=[won(1, 10, 1, 1), record(2, resigned, at_ms=150), won(1, 100, 2, 2)],
        log=[won(5, 10, 1, 1), record(900, TOLD, at_ms=20)],
    ).withColumn("source", F.when(F.col("cluster") == "log", "log").otherwise(F.col("source")))

    rows = controller_reigns(transitions).orderBy("cluster", "controller_epoch").collect()

    assert [
        (row.cluster, row.end_ms, row.interregnum_ms, row.records_lost, row.topics_loaded)
        for row in rows
    ] == [
        ("deposed", 100, None, 0, 0),
        ("deposed", None, 0, 0, 0),
        ("log", None, None, None, 0),
        ("served", 50, None, 0, 0),
        ("served", 200, 30, 0, 0),
        ("served", None, None, 0, 0),
    ]
