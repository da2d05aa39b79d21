"""Timelines, from journals small enough to read (Q3)."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from regent.model import facts
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.timelines import timelines
from tests.pipeline.rows import brokers, record, transitions_of

NEW, ONLINE, OFFLINE = PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE

pytestmark = pytest.mark.requirement("Q3")


def loaded(*replicas: int) -> facts.TopicLoaded:
    return facts.TopicLoaded("t", (facts.LoadedPartition(0, brokers(*replicas)),))


def moved(before: PartitionState, after: PartitionState) -> facts.PartitionMoved:
    return facts.PartitionMoved("t", 0, before, after)


def elected(leader: int, epoch: int, *isr: int) -> facts.LeaderElected:
    return facts.LeaderElected(
        topic="t",
        partition=0,
        strategy="offline",
        before=NEW,
        leader_before=BrokerId(-1),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(epoch),
        isr=brokers(*isr),
        zk_version=ZkVersion(0),
    )


def told(table: DataFrame) -> list[tuple[object, ...]]:
    rows = table.orderBy("topic", "partition", "start_epoch", "start_sequence").collect()
    return [(row.start_ms, row.end_ms, row.state, row.leader, row.isr) for row in rows]


def test_what_a_record_leaves_unsaid_is_carried_forward(spark: SparkSession) -> None:
    transitions = transitions_of(
        spark,
        record(1, loaded(1, 2), at_ms=10),
        record(2, moved(PartitionState.NON_EXISTENT, NEW), at_ms=20),
        record(3, elected(1, 0, 1, 2), at_ms=30),
        record(4, moved(ONLINE, OFFLINE), at_ms=40),
    )

    assert told(timelines(transitions)) == [
        (10, 20, None, -1, []),
        (20, 30, NEW, -1, []),
        (30, 40, ONLINE, 1, [1, 2]),
        (40, None, OFFLINE, 1, [1, 2]),
    ]


def test_the_order_is_the_controller_epochs_and_not_the_clocks(spark: SparkSession) -> None:
    """The new controller's clock is behind; its records still come after the old one's."""
    transitions = transitions_of(
        spark,
        record(9, elected(1, 0, 1), at_ms=200, epoch=1),
        record(1, moved(ONLINE, OFFLINE), at_ms=150, epoch=2, controller=2),
    )

    assert told(timelines(transitions)) == [
        (200, 150, ONLINE, 1, [1]),
        (150, None, OFFLINE, 1, [1]),
    ]


def test_a_partition_that_the_next_controller_did_not_find_is_gone(spark: SparkSession) -> None:
    transitions = transitions_of(
        spark,
        record(1, loaded(1), at_ms=10),
        record(2, elected(1, 0, 1), at_ms=20),
        record(1, facts.ControllerElected(), at_ms=50, epoch=2, controller=2),
        record(2, facts.PartitionsStarted("u"), at_ms=60, epoch=2, controller=2),
    )

    assert told(timelines(transitions)) == [(10, 20, None, -1, []), (20, 50, ONLINE, 1, [1])]


def test_the_table_has_the_schema_it_says(spark: SparkSession) -> None:
    table = timelines(transitions_of(spark, record(1, loaded(1))))

    assert schemas.table(*((f.name, f.dataType) for f in table.schema.fields)) == schemas.TIMELINES
