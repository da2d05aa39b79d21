"""Who goes in and out of ISRs, from timelines small enough to read (Q5)."""

import pytest
from pyspark.sql import SparkSession

from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.isr_churn import isr_churn
from tests.pipeline.intervals import columns_of, history, interval, timelines_of

NEW, ONLINE = PartitionState.NEW, PartitionState.ONLINE

pytestmark = pytest.mark.requirement("Q5")


def test_exactly_those_who_left_and_joined_are_counted(spark: SparkSession) -> None:
    timelines = timelines_of(
        spark,
        interval("t", 0, 10, ONLINE, isr=[1, 2, 3], replicas=[1, 2, 3]),
        interval("t", 10, 30, ONLINE, isr=[1, 3], replicas=[1, 2, 3]),
        interval("t", 30, 90, ONLINE, isr=[3, 2, 1], replicas=[1, 2, 3]),
        interval("t", 90, 35, ONLINE, isr=[1, 3], replicas=[1, 2, 3]),
        # The next controller's clock is behind: this is still the last that happened.
        interval("t", 35, 40, ONLINE, isr=[1, 2, 3], replicas=[1, 2, 3], start_epoch=2),
        interval("t", 40, None, ONLINE, isr=[1], replicas=[1, 2, 3], start_epoch=2),
        # The first ISR of a new partition is no churn.
        interval("born", 0, 10, NEW, leader=-1, isr=[], replicas=[1, 2]),
        interval("born", 10, None, ONLINE, isr=[1, 2], replicas=[1, 2]),
        # Neither is that of another partition of the same name, nor one that is not known.
        interval("again", 0, 10, ONLINE, isr=[1, 2], replicas=[1, 2]),
        interval("again", 50, None, ONLINE, isr=[3], replicas=[3]),
        interval("unsaid", 0, 10, ONLINE, isr=None, replicas=[1, 2]),
        interval("unsaid", 10, None, ONLINE, isr=[1, 2], replicas=None),
    )

    table = isr_churn(timelines, history(spark))

    rows = table.orderBy("topic", "partition", "broker_id").collect()
    assert [tuple(row) for row in rows] == [
        ("c", 2, "t", 0, 3, 2, 20 + 0 + 60, 40),
        ("c", 3, "t", 0, 1, 0, 60, 40),
    ]
    assert columns_of(table) == schemas.ISR_CHURN
