"""When partitions could not be used, from when to when.

A partition that nobody leads may change in other ways meanwhile, so the intervals of its timeline
that follow on each other are merged into one stretch for as long as the condition holds.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from regent.pipeline.conditions import with_conditions
from regent.pipeline.observed import with_duration
from regent.pipeline.schemas import NO_LEADER
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.stretches import in_order, with_life, with_stretches

#: The conditions that make an outage.
KINDS: Final = ("offline", "leaderless", "under_min_isr")


def outages(
    timelines: DataFrame, transitions: DataFrame, settings: Settings = DEFAULTS
) -> DataFrame:
    """The longest stretches in which a partition was offline, leaderless or under min ISR.

    Grain: (cluster, kind, topic, partition, start_epoch, start_sequence). A duration is the sum of
    the merged intervals' own, so that it agrees with availability when clocks do not agree.
    """
    stretches = (
        with_duration(timelines, transitions)
        .transform(with_conditions, settings)
        .transform(with_life)
        .transform(with_leader_before)
        .transform(with_stretches, KINDS)
    )
    which = F.array(
        *(
            F.when(
                F.col(f"{kind}_stretch").isNotNull(),
                F.struct(F.lit(kind).alias("kind"), F.col(f"{kind}_stretch").alias("stretch")),
            )
            for kind in KINDS
        )
    )
    begun = ("start_epoch", "start_sequence", "start_ms", "leader_before", "cause", "file", "line")
    position = ("start_epoch", "start_sequence", "controller_id")
    return (
        stretches.withColumn("which", F.explode(F.array_compact(which)))
        .groupBy("cluster", "which", "topic", "partition")
        .agg(
            F.min_by(F.struct(*begun), F.struct(*position)).alias("first"),
            F.max_by("end_ms", F.struct(*position)).alias("end_ms"),
            F.sum("duration_ms").alias("duration_ms"),
        )
        .select(
            "cluster",
            "which.kind",
            "topic",
            "partition",
            "first.start_epoch",
            "first.start_sequence",
            "first.start_ms",
            "end_ms",
            "duration_ms",
            "first.leader_before",
            "first.cause",
            "first.file",
            "first.line",
        )
    )


def with_leader_before(lives: DataFrame) -> DataFrame:
    """Add who led last before an interval, in the same life; null when nobody is known."""
    led = F.when(F.col("leader") != NO_LEADER, F.struct("leader", "life"))
    earlier = in_order().rowsBetween(Window.unboundedPreceding, -1)
    return lives.withColumn("last_led", F.last(led, ignorenulls=True).over(earlier)).withColumn(
        "leader_before",
        F.when(F.col("last_led.life") == F.col("life"), F.col("last_led.leader")),
    )
