"""How evenly leaders and replicas lie on the brokers, over time.

A cluster's history is looked at where each of so many equal parts of it ends. What an interval
adds to its brokers' counts it takes away again when it ends, so the counts at any point are the sum
of all changes up to there; an interval between two points is never seen.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from regent.pipeline.conditions import is_led
from regent.pipeline.observed import observed_span
from regent.pipeline.schemas import BROKERS
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.stretches import until_here

#: What is counted on each broker; `lives` only says whether it was there.
COUNTS: Final = ("leaders", "replicas", "preferred", "lives")
#: What is compared with each other: the brokers of a cluster, at one time.
POINT: Final = ("cluster", "at_ms")


def balance(
    timelines: DataFrame,
    broker_lives: DataFrame,
    transitions: DataFrame,
    settings: Settings = DEFAULTS,
) -> DataFrame:
    """What each broker led and held at evenly spaced times.

    Grain: (cluster, at_ms, broker_id), for the brokers that lived then or held a replica.
    """
    span = observed_span(transitions)
    placed = per_placement(timelines, span, settings.balance_points)
    lived = per_life(broker_lives, span, settings.balance_points)
    changes = changes_of(placed.unionByName(lived))
    here = F.col("leaders") + F.col("replicas") + F.col("lives") > 0
    counts = with_counts(changes, points_of(span, settings.balance_points)).filter(here)
    shared = counts.transform(with_gini, "leaders").transform(with_gini, "replicas")
    return shared.select(
        "cluster",
        "at_ms",
        "broker_id",
        "leaders",
        "replicas",
        "preferred",
        F.try_divide("leaders", F.sum("leaders").over(_all_brokers())).alias("leader_share"),
        F.try_divide("replicas", F.sum("replicas").over(_all_brokers())).alias("replica_share"),
        F.col("leaders_gini").alias("leader_gini"),
        F.col("replicas_gini").alias("replica_gini"),
    )


# --- the points in time -----------------------------------------------------------------------


def points_of(span: DataFrame, parts: int) -> DataFrame:
    """When each part of a cluster's history ends; the last is the end of it all.

    Grain: (cluster, at_ms). A history of few milliseconds has fewer points.
    """
    ends = F.transform(F.sequence(F.lit(1), F.lit(parts)), lambda nth: _end_of(nth, parts))
    return span.select("cluster", F.explode(F.array_distinct(ends)).alias("at_ms"))


def _end_of(nth: Column, parts: int) -> Column:
    length = F.col("observed_until_ms") - F.col("observed_from_ms")
    return F.col("observed_from_ms") + _whole_part(length * nth, F.lit(parts))


def _first_point_from(at_ms: Column, parts: int) -> Column:
    """The first point that is not before this time; null when there is no such time."""
    length = F.col("observed_until_ms") - F.col("observed_from_ms")
    parts_before = (at_ms - F.col("observed_from_ms")) * parts
    # Divided and rounded up: no point lies in a part, only at its end.
    nth = _whole_part(parts_before + length - 1, F.greatest(length, F.lit(1)))
    return F.when(at_ms.isNotNull(), _end_of(F.greatest(nth, F.lit(1)), parts))


def _whole_part(dividend: Column, divisor: Column) -> Column:
    return F.call_function("div", dividend, divisor)


# --- what is counted, from which point to which -----------------------------------------------


def per_placement(timelines: DataFrame, span: DataFrame, parts: int) -> DataFrame:
    """How many partitions were led by this one and held by those, from one point until another.

    Grain: (cluster, from_ms, until_ms, broker_id). Counted by assignment and leader first, and told
    out to brokers then.
    """
    replicas = F.coalesce(F.array_distinct("replicas"), F.array().cast(BROKERS))
    leader = F.array_compact(F.array(F.when(is_led(), F.col("leader"))))
    alike = (
        timelines.transform(with_clock_that_never_goes_back)
        .transform(_with_points, span, parts)
        .withColumns({"replicas": replicas, "leader": leader})
        .groupBy("cluster", "from_ms", "until_ms", "leader", "replicas")
        .agg(F.count(F.lit(1)).alias("partitions"))
        .withColumn("broker_id", F.explode(F.array_union("leader", "replicas")))
    )
    broker = F.col("broker_id")
    return _counted(
        alike,
        {
            "leaders": F.array_contains("leader", broker),
            "replicas": F.array_contains("replicas", broker),
            "preferred": F.coalesce(F.get("replicas", F.lit(0)) == broker, F.lit(False)),
            "lives": F.lit(False),
        },
    )


def per_life(lives: DataFrame, span: DataFrame, parts: int) -> DataFrame:
    """Which brokers lived from one point until another.

    Grain: (cluster, from_ms, until_ms, broker_id).
    """
    known = (
        lives.filter(F.col("up_ms").isNotNull())
        .withColumns({"start_ms": F.col("up_ms"), "end_ms": F.col("down_ms")})
        .transform(_with_points, span, parts)
        .withColumn("partitions", F.lit(1))
    )
    return _counted(known, {name: F.lit(name == "lives") for name in COUNTS})


def with_clock_that_never_goes_back(timelines: DataFrame) -> DataFrame:
    """Let no interval of a partition begin before the one that it follows on.

    Otherwise, where the next controller's clock is behind, a partition would be counted twice.
    """
    start = F.max("start_ms").over(until_here())
    return timelines.withColumn("start_ms", start).withColumn(
        "end_ms", F.when(F.col("end_ms").isNotNull(), F.greatest("end_ms", "start_ms"))
    )


def _with_points(intervals: DataFrame, span: DataFrame, parts: int) -> DataFrame:
    """Add the first point that sees an interval and the first that does not; drop the unseen."""
    points = {
        "from_ms": _first_point_from(F.col("start_ms"), parts),
        "until_ms": _first_point_from(F.col("end_ms"), parts),
    }
    is_seen = F.col("until_ms").isNull() | (F.col("from_ms") < F.col("until_ms"))
    return (
        intervals.join(F.broadcast(span), on="cluster", how="inner")
        .withColumns(points)
        .filter(is_seen)
    )


def _counted(rows: DataFrame, conditions: Mapping[str, Column]) -> DataFrame:
    counts = (
        F.when(conditions[name], F.col("partitions")).otherwise(F.lit(0)).cast("long").alias(name)
        for name in COUNTS
    )
    return rows.select("cluster", "broker_id", "from_ms", "until_ms", *counts)


# --- the counts at each point -----------------------------------------------------------------


def changes_of(counted: DataFrame) -> DataFrame:
    """By how much the counts of a broker differ from the point before.

    Grain: (cluster, broker_id, at_ms).
    """
    begins = F.struct(F.col("from_ms").alias("at_ms"), F.lit(1).alias("sign"))
    ends = F.struct(F.col("until_ms").alias("at_ms"), F.lit(-1).alias("sign"))
    return (
        counted.withColumn("change", F.explode(F.array(begins, ends)))
        .filter(F.col("change.at_ms").isNotNull())
        .groupBy("cluster", "broker_id", F.col("change.at_ms").alias("at_ms"))
        .agg(*(F.sum(F.col(name) * F.col("change.sign")).alias(name) for name in COUNTS))
    )


def with_counts(changes: DataFrame, points: DataFrame) -> DataFrame:
    """The counts of every broker of a cluster at every point.

    Grain: (cluster, broker_id, at_ms).
    """
    so_far = (
        Window.partitionBy("cluster", "broker_id")
        .orderBy("at_ms")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    brokers = changes.select("cluster", "broker_id").distinct()
    return (
        brokers.join(points, on="cluster", how="inner")
        .join(changes, on=["cluster", "broker_id", "at_ms"], how="left")
        .withColumns(
            {name: F.coalesce(F.sum(name).over(so_far), F.lit(0)) for name in COUNTS},
        )
    )


def with_gini(counts: DataFrame, name: str, within: Sequence[str] = POINT) -> DataFrame:
    """Add how uneven a count is over the brokers of a point: 0 when all have the same.

    With x sorted upwards, of n brokers, it is (2 Σ i·xᵢ - (n + 1) Σ x) / (n Σ x).
    """
    upwards = Window.partitionBy(*within).orderBy(name, "broker_id")
    weighted = F.sum(F.col("place") * F.col(name)).over(_all_brokers(within))
    brokers = F.count(F.lit(1)).over(_all_brokers(within))
    total = F.sum(name).over(_all_brokers(within))
    gini = F.try_divide(weighted * 2 - (brokers + 1) * total, brokers * total)
    return (
        counts.withColumn("place", F.row_number().over(upwards))
        .withColumn(f"{name}_gini", gini)
        .drop("place")
    )


def _all_brokers(within: Sequence[str] = POINT) -> WindowSpec:
    """All brokers of a cluster at one point."""
    return Window.partitionBy(*within).rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
