"""The balance of a cluster over time, from timelines small enough to read (Q5)."""

import pytest
from pyspark.sql import SparkSession

from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.balance import balance
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.settings import Settings
from tests.pipeline.intervals import columns_of, history, interval, timelines_of
from tests.pipeline.rows import record, transitions_of

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE

pytestmark = pytest.mark.requirement("Q5")


def test_counts_are_those_of_each_point_in_time(spark: SparkSession) -> None:
    """Points at 25, 50, 75 and 100; broker 3 comes and holds nothing, broker 2 dies and holds."""
    transitions = transitions_of(
        spark,
        record(1, facts.BrokerUp(BrokerId(1), BrokerEpoch(1)), at_ms=0),
        record(2, facts.BrokerUp(BrokerId(2), BrokerEpoch(2)), at_ms=0),
        record(3, facts.BrokerUp(BrokerId(3), BrokerEpoch(3)), at_ms=60),
        record(4, facts.BrokerDown(BrokerId(2), BrokerEpoch(2)), at_ms=75),
        record(5, facts.BrokerDown(BrokerId(3), BrokerEpoch(3)), at_ms=99),
        record(6, facts.EventFailed("x"), at_ms=100),
    )
    timelines = timelines_of(
        spark,
        # At the very point at which it changes, it has changed.
        interval("t", 0, 50, ONLINE, leader=1, replicas=[1, 2]),
        interval("t", 50, 75, ONLINE, leader=2, replicas=[1, 2]),
        interval("t", 75, 90, OFFLINE, leader=2, replicas=[1, 2]),
        interval("t", 90, None, ONLINE, leader=1, replicas=[1, 2]),
        # What begins and ends between two points is not seen.
        interval("u", 26, 49, ONLINE, leader=2, replicas=[2]),
        # The clock of the next controller is behind; nothing is counted twice at 50.
        interval("v", 20, 60, ONLINE, leader=2, replicas=[2, 1]),
        interval("v", 60, 40, ONLINE, leader=2, replicas=[2, 1]),
        interval("v", 40, None, ONLINE, leader=1, replicas=[1, 2], start_epoch=2),
    )

    table = balance(timelines, broker_lives(transitions), transitions, Settings(balance_points=4))

    rows = table.orderBy("at_ms", "broker_id").collect()
    assert [
        (row.at_ms, row.broker_id, row.leaders, row.replicas, row.preferred) for row in rows
    ] == [
        (25, 1, 1, 2, 1),
        (25, 2, 1, 2, 1),
        (50, 1, 0, 2, 1),
        (50, 2, 2, 2, 1),
        (75, 1, 1, 2, 2),
        (75, 2, 0, 2, 0),
        (75, 3, 0, 0, 0),
        (100, 1, 2, 2, 2),
        (100, 2, 0, 2, 0),
    ]
    assert [row.leader_share for row in rows] == [0.5, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    assert [row.replica_share for row in rows][4:7] == [0.5, 0.5, 0.0]
    assert {(row.at_ms, round(row.leader_gini, 9), round(row.replica_gini, 9)) for row in rows} == {
        (25, 0.0, 0.0),
        (50, 0.5, 0.0),
        (75, round(2 / 3, 9), round(1 / 3, 9)),
        (100, 0.5, 0.0),
    }
    assert columns_of(table) == schemas.BALANCE


def test_a_history_of_one_instant_has_one_point(spark: SparkSession) -> None:
    timelines = timelines_of(spark, interval("t", 7, None, OFFLINE, replicas=[1, 2]))

    transitions = history(spark, from_ms=7, until_ms=7)
    table = balance(timelines, broker_lives(transitions), transitions)

    rows = table.orderBy("broker_id").collect()
    assert [(row.at_ms, row.broker_id, row.leaders, row.leader_share) for row in rows] == [
        (7, 1, 0, None),
        (7, 2, 0, None),
    ]
