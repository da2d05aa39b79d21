"""Outages, from timelines small enough to read (Q5)."""

import pytest
from pyspark.sql import SparkSession

from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.outages import outages
from regent.pipeline.settings import Settings
from tests.pipeline.intervals import columns_of, history, interval, timelines_of

NEW, ONLINE, OFFLINE = PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE

pytestmark = pytest.mark.requirement("Q5")


def test_stretches_are_as_long_as_their_condition_holds(spark: SparkSession) -> None:
    timelines = timelines_of(
        spark,
        # Changes meanwhile do not end an outage, and the last leader is looked for before it.
        interval("merged", 0, 10, ONLINE),
        interval("merged", 10, 20, ONLINE, leader=-1),
        interval("merged", 20, 30, OFFLINE, leader=-1),
        interval("merged", 30, None, ONLINE),
        # What still lasts is known to last until the last record of the cluster.
        interval("lasting", 40, None, OFFLINE),
        # A new partition of the same name has nothing to do with the old one.
        interval("recreated", 0, 10, OFFLINE),
        interval("recreated", 50, 60, NEW, leader=-1),
        interval("recreated", 60, None, ONLINE),
        # A log tells that it is new, and nothing of a leader.
        interval("fresh", 0, 10, NEW, leader=None, isr=None),
        interval("fresh", 10, None, ONLINE, leader=None, isr=None),
        # The clock of the next controller is behind: it took no time.
        interval("skewed", 80, 50, OFFLINE),
        interval("skewed", 50, None, ONLINE, start_epoch=2),
        # Fewer in the ISR than this topic wants; a partition that nobody leads is not counted.
        interval("thin", 0, 10, ONLINE, leader=2, isr=[1, 2]),
        interval("thin", 10, 30, ONLINE, leader=1),
        interval("thin", 30, 40, ONLINE, isr=[1, 2]),
        # Nobody has said yet in which state it is.
        interval("unknown", 0, None, None, leader=-1, isr=[]),
    )

    table = outages(timelines, history(spark), Settings(topic_min_isr={"thin": 2}))

    rows = table.orderBy("topic", "kind", "start_sequence").collect()
    assert [
        (row.topic, row.kind, row.start_ms, row.end_ms, row.duration_ms, row.leader_before)
        for row in rows
    ] == [
        ("fresh", "leaderless", 0, 10, 10, None),
        ("lasting", "leaderless", 40, None, 60, None),
        ("lasting", "offline", 40, None, 60, None),
        ("merged", "leaderless", 10, 30, 20, 1),
        ("merged", "offline", 20, 30, 10, 1),
        ("recreated", "leaderless", 0, 10, 10, None),
        ("recreated", "leaderless", 50, 60, 10, None),
        ("recreated", "offline", 0, 10, 10, None),
        ("skewed", "leaderless", 80, 50, 0, None),
        ("skewed", "offline", 80, 50, 0, None),
        ("thin", "under_min_isr", 10, 30, 20, 2),
    ]
    assert columns_of(table) == schemas.OUTAGES
