"""Who was elected, how, and how long the partition had waited for it.

A partition waits from when it was seen without the leader that it had. One that a new controller
finds so has waited for longer, at least since that controller was elected: what it took to load the
cluster is part of the wait. A partition that nobody has led yet waits for nothing that it had, so
its first election has no latency.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from regent.model.states import PartitionState
from regent.pipeline.durations import elapsed_ms
from regent.pipeline.schemas import NO_LEADER
from regent.pipeline.steps import STARTED
from regent.pipeline.timelines import PARTITION

#: The leader epoch of a partition that nobody has led yet.
NEVER_LED: Final = -1


def elections(transitions: DataFrame, timelines: DataFrame) -> DataFrame:
    """Every election that was written.

    Grain: (cluster, topic, partition, controller_epoch, sequence).
    """
    place = (*PARTITION, "controller_epoch", "sequence", "controller_id")
    elected = transitions.filter(F.col("kind") == "leader_elected").select(
        *place,
        "at_ms",
        "strategy",
        F.coalesce("unclean", F.lit(False)).alias("unclean"),
        F.col("before").alias("state_before"),
        "leader_before",
        "leader",
        "leader_epoch",
        "isr",
        "cause",
        "file",
        "line",
    )
    waits = failures(timelines, transitions)
    return elected.join(waits, on=list(place), how="left").select(
        *PARTITION,
        "controller_epoch",
        "sequence",
        "at_ms",
        "strategy",
        "unclean",
        "state_before",
        "leader_before",
        "leader",
        "leader_epoch",
        "isr",
        "failed_ms",
        elapsed_ms(F.col("failed_ms"), F.col("at_ms")).alias("latency_ms"),
        "cause",
        "file",
        "line",
    )


def failures(timelines: DataFrame, transitions: DataFrame) -> DataFrame:
    """Since when a partition had been without a leader, for each election that ended such a time.

    Grain: (cluster, topic, partition, controller_epoch, sequence, controller_id).
    """
    in_order = Window.partitionBy(*PARTITION).orderBy(
        "start_epoch", "start_sequence", "controller_id", "kind"
    )
    is_failed = _is_failed()
    was_failed = F.coalesce(F.lag(is_failed).over(in_order), F.lit(False))
    begun = F.struct("start_epoch", "controller_id", "start_ms", "kind")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    ended = (
        timelines.withColumn("was_failed", was_failed)
        .withColumn("failure", F.when(is_failed & ~F.col("was_failed"), begun))
        .withColumn("failure", F.last("failure", ignorenulls=True).over(earlier))
        .filter((F.col("kind") == "leader_elected") & F.col("was_failed"))
        .select(
            *PARTITION,
            F.col("start_epoch").alias("controller_epoch"),
            F.col("start_sequence").alias("sequence"),
            "controller_id",
            "failure",
        )
    )
    took_office = transitions.filter(F.col("kind") == "controller_elected").select(
        F.col("cluster").alias("of"),
        F.col("controller_epoch").alias("in_epoch"),
        F.col("controller_id").alias("by"),
        F.col("at_ms").alias("elected_ms"),
    )
    found = (
        (F.col("cluster") == F.col("of"))
        & (F.col("failure.start_epoch") == F.col("in_epoch"))
        & (F.col("failure.controller_id") == F.col("by"))
        & (F.col("failure.kind") == STARTED)
    )
    return ended.join(took_office, on=found, how="left").select(
        *PARTITION,
        "controller_epoch",
        "sequence",
        "controller_id",
        F.least("failure.start_ms", "elected_ms").alias("failed_ms"),
    )


def _is_failed() -> Column:
    """Whether somebody led the partition once and nobody does now."""
    nobody_leads = F.col("leader") == NO_LEADER
    was_led = F.col("leader_epoch") > NEVER_LED
    return F.coalesce(F.col("state") == PartitionState.OFFLINE, F.lit(False)) | F.coalesce(
        nobody_leads & was_led, F.lit(False)
    )


def election_latency(elections: DataFrame) -> DataFrame:
    """How long partitions waited for a leader: exact percentiles, to the millisecond.

    Grain: (cluster, strategy, unclean).
    """
    waited = F.percentile("latency_ms", F.array(F.lit(0.5), F.lit(0.95), F.lit(0.99)))
    figures = elections.groupBy("cluster", "strategy", "unclean").agg(
        F.count(F.lit(1)).alias("elections"),
        F.count("latency_ms").alias("after_failure"),
        waited.alias("waited_ms"),
        F.max("latency_ms").alias("max_ms"),
    )
    p50, p95, p99 = (
        F.round(F.col("waited_ms")[index]).cast("long").alias(name)
        for index, name in enumerate(("p50_ms", "p95_ms", "p99_ms"))
    )
    return figures.select(
        "cluster", "strategy", "unclean", "elections", "after_failure", p50, p95, p99, "max_ms"
    )
