"""Availability, from timelines small enough to read (Q5)."""

import math

import pytest
from pyspark.sql import Row, SparkSession

from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.availability import TIMES, availability
from regent.pipeline.settings import Settings
from tests.pipeline.intervals import columns_of, history, interval, timelines_of

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE

pytestmark = pytest.mark.requirement("Q5")


def told(row: Row) -> tuple[object, ...]:
    who = (row.scope, row.topic, row.partition, row.broker_id)
    times = tuple(row[name] for name in TIMES)
    return (*who, row.partitions, *times, row.outages, row.longest_outage_ms)


def test_times_are_summed_for_partitions_topics_brokers_and_the_cluster(
    spark: SparkSession,
) -> None:
    timelines = timelines_of(
        spark,
        interval("t", 0, 60, ONLINE, isr=[1, 2], replicas=[1, 2]),
        interval("t", 60, 80, ONLINE, isr=[1], replicas=[1, 2]),
        interval("t", 80, None, OFFLINE, isr=[1], replicas=[1, 2]),
        interval("t", 10, 20, None, partition=1, leader=-1, isr=[], replicas=[2]),
        interval("t", 20, None, ONLINE, partition=1, isr=[2], replicas=[2]),
        interval("u", 0, None, ONLINE, isr=[2], replicas=None),
        interval("unknown", 0, None, None, replicas=[9]),
    )

    table = availability(timelines, history(spark), Settings(topic_min_isr={"u": 2}))

    rows = table.orderBy("scope", "topic", "partition", "broker_id").collect()
    # fmt: off
    assert list(map(told, rows)) == [
        #                              of  total off less under at under-r. outages
        ("broker",    None, None, 1,    1, 100, 20, 20,   0, 20, 20, 1, 20),
        ("broker",    None, None, 2,    2, 180, 20, 20,   0, 100, 20, 1, 20),
        ("cluster",   None, None, None, 3, 280, 20, 20, 100, 100, 20, 1, 20),
        ("partition", "t",  0,    None, 1, 100, 20, 20,   0, 20, 20, 1, 20),
        ("partition", "t",  1,    None, 1,  80,  0,  0,   0, 80,  0, 0, 0),
        ("partition", "u",  0,    None, 1, 100,  0,  0, 100,  0,  0, 0, 0),
        ("topic",     "t",  None, None, 2, 180, 20, 20,   0, 100, 20, 1, 20),
        ("topic",     "u",  None, None, 1, 100,  0,  0, 100,  0,  0, 0, 0),
    ]
    # fmt: on
    first, second = rows[3:5]
    assert (first.availability, first.nines) == pytest.approx((0.8, -math.log10(0.2)))
    assert (second.availability, second.nines) == (1.0, None)
    assert columns_of(table) == schemas.AVAILABILITY


def test_a_broker_answers_for_a_partition_while_it_is_a_replica_of_it(spark: SparkSession) -> None:
    """The partition moves while it is offline: one outage, of which each broker has its part."""
    timelines = timelines_of(
        spark,
        interval("t", 0, 10, ONLINE, replicas=[1, 2]),
        interval("t", 10, 50, OFFLINE, replicas=[1, 2]),
        interval("t", 50, 80, OFFLINE, replicas=[2, 3]),
        interval("t", 80, 90, ONLINE, replicas=[2, 3]),
        interval("t", 90, None, OFFLINE, replicas=[2, 3]),
    )

    rows = availability(timelines, history(spark)).filter("scope in ('broker', 'partition')")

    assert [
        (row.broker_id, row.total_ms, row.leaderless_ms, row.outages, row.longest_outage_ms)
        for row in rows.orderBy("broker_id").collect()
    ] == [
        (None, 100, 80, 2, 70),
        (1, 50, 40, 1, 40),
        (2, 100, 80, 2, 70),
        (3, 50, 40, 2, 30),
    ]
