"""The lives of replicas, from journals small enough to read (Q3)."""

import pytest
from pyspark.sql import SparkSession

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerId
from regent.model.states import ReplicaState
from regent.pipeline import schemas
from regent.pipeline.replica_timelines import replica_timelines
from tests.pipeline.intervals import columns_of
from tests.pipeline.rows import brokers, record, transitions_of

ONLINE, OFFLINE = ReplicaState.ONLINE, ReplicaState.OFFLINE
ABSENT, NEW = ReplicaState.NON_EXISTENT, ReplicaState.NEW
INELIGIBLE = ReplicaState.DELETION_INELIGIBLE

pytestmark = pytest.mark.requirement("Q3")


def loaded(topic: str, *replicas: int) -> facts.TopicLoaded:
    return facts.TopicLoaded(topic, (facts.LoadedPartition(0, brokers(*replicas)),))


def moved(topic: str, broker: int, before: ReplicaState, after: ReplicaState) -> facts.ReplicaMoved:
    return facts.ReplicaMoved(topic, 0, BrokerId(broker), before, after)


def first_reign() -> list[Record]:
    return [
        record(1, facts.ControllerElected(), at_ms=1),
        record(2, loaded("t", 1, 2), at_ms=10),
        record(3, loaded("deleted", 1), at_ms=10),
        record(4, loaded("lost", 1), at_ms=10),
        record(5, facts.ReplicasStarted("t", brokers(2)), at_ms=20),
        record(6, facts.ReplicasStarted("deleted"), at_ms=20),
        record(7, facts.ReplicasStarted("lost"), at_ms=20),
        record(8, moved("t", 2, INELIGIBLE, OFFLINE), at_ms=30),
        record(9, facts.PartitionsStarted("t"), at_ms=30),
        record(10, facts.TopicForgotten("deleted"), at_ms=40),
        record(11, loaded("deleted", 1), at_ms=50),
        record(12, moved("deleted", 1, ABSENT, NEW), at_ms=60),
        record(13, moved("t", 3, ABSENT, NEW), at_ms=70),
        record(14, moved("t", 3, NEW, ABSENT), at_ms=80),
        # A partition that came later was not there when the replica machine started.
        record(15, facts.TopicLoaded("t", (facts.LoadedPartition(1, brokers(1)),)), at_ms=90),
    ]


def second_reign() -> list[Record]:
    """Of a controller whose clock is behind; it does not find `lost`, nor broker 2 for `t`."""
    return [
        record(1, facts.ControllerElected(), at_ms=55, epoch=2, controller=2),
        record(2, loaded("t", 1, 4), at_ms=65, epoch=2, controller=2),
        record(3, loaded("deleted", 1), at_ms=65, epoch=2, controller=2),
        record(4, facts.ReplicasStarted("t"), at_ms=75, epoch=2, controller=2),
        record(5, facts.PartitionsStarted("t"), at_ms=75, epoch=2, controller=2),
    ]


def test_the_life_of_each_replica_over_two_reigns(spark: SparkSession) -> None:
    table = replica_timelines(transitions_of(spark, *first_reign(), *second_reign()))

    rows = table.orderBy("topic", "broker_id", "start_epoch", "start_sequence").collect()
    assert [
        (row.topic, row.broker_id, row.start_epoch, row.start_ms, row.end_ms, row.state)
        for row in rows
    ] == [
        ("deleted", 1, 1, 20, 40, ONLINE),
        ("deleted", 1, 1, 60, None, NEW),
        ("lost", 1, 1, 20, 55, ONLINE),
        ("t", 1, 1, 20, None, ONLINE),
        ("t", 2, 1, 20, 30, INELIGIBLE),
        ("t", 2, 1, 30, 65, OFFLINE),
        ("t", 3, 1, 70, 80, NEW),
        ("t", 4, 2, 75, None, ONLINE),
    ]
    assert columns_of(table) == schemas.REPLICA_TIMELINES
