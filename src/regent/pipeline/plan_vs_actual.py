"""What a plan wanted, and what became of it: which moves ran, how long, and how even it is now.

A wish is met by the last move of its partition to just those replicas, in that order. The balance
is that of all replicas of the cluster over all brokers that hold any, or would: as if no move of
the plan had been, as if all were done, and as it is. What moved beside the plan is in all three.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.pipeline.balance import with_gini
from regent.pipeline.timelines import PARTITION

WISH: Final = ("plan", "topic", "partition")
#: Of which the balance is told.
PLACEMENTS: Final = ("before", "wanted", "now")


def plan_vs_actual(planned: DataFrame, reassignments: DataFrame, timelines: DataFrame) -> DataFrame:
    """Every wish of every plan, held against each cluster of the history.

    Grain: (cluster, plan, topic, partition).
    """
    placed = last_replicas(timelines)
    clusters = timelines.select("cluster").distinct()
    wishes = (
        planned.crossJoin(F.broadcast(clusters))
        .join(moves_to_wanted(planned, reassignments), on=["cluster", *WISH], how="left")
        .join(placed, on=list(PARTITION), how="left")
    )
    is_as_wanted = F.coalesce(F.col("now") == F.col("wanted"), F.lit(False))
    return wishes.join(balance_of(wishes, placed), on=["cluster", "plan"], how="left").select(
        "cluster",
        *WISH,
        "wanted",
        F.col("move.replicas_before").alias("replicas_before"),
        F.col("now").alias("replicas_now"),
        is_as_wanted.alias("is_as_wanted"),
        _outcome(is_as_wanted).alias("outcome"),
        F.col("move.start_ms").alias("start_ms"),
        F.col("move.end_ms").alias("end_ms"),
        F.col("move.duration_ms").alias("duration_ms"),
        *(F.col(f"{name}_gini").alias(f"replica_gini_{name}") for name in PLACEMENTS),
    )


def _outcome(is_as_wanted: Column) -> Column:
    return F.coalesce(
        F.col("move.outcome"),
        F.when(F.col("now").isNull(), "no such partition")
        .when(is_as_wanted, "already there")
        .otherwise(F.lit("not started")),
    )


def last_replicas(timelines: DataFrame) -> DataFrame:
    """Where each partition is when its history ends; not those that were deleted.

    Grain: (cluster, topic, partition).
    """
    lasting = F.col("end_ms").isNull() & F.col("replicas").isNotNull()
    return timelines.filter(lasting).select(*PARTITION, F.col("replicas").alias("now"))


def moves_to_wanted(planned: DataFrame, reassignments: DataFrame) -> DataFrame:
    """The last move of each partition to what a plan wants. Grain: (cluster, plan, topic, ...)."""
    told = F.struct("replicas_before", "outcome", "start_ms", "end_ms", "duration_ms")
    begun = F.struct("start_epoch", "start_sequence")
    return (
        reassignments.join(F.broadcast(planned), on=["topic", "partition"], how="inner")
        .filter(F.col("replicas_after") == F.col("wanted"))
        .groupBy("cluster", *WISH)
        .agg(F.max_by(told, begun).alias("move"))
    )


def balance_of(wishes: DataFrame, placed: DataFrame) -> DataFrame:
    """The Gini coefficients of a cluster, for each plan. Grain: (cluster, plan)."""
    plans = wishes.select("cluster", "plan").distinct()
    moved = wishes.select("cluster", *WISH, "wanted", F.col("move.replicas_before").alias("before"))
    everywhere = placed.join(plans, on="cluster", how="inner").join(
        moved, on=["cluster", *WISH], how="left"
    )
    placements = everywhere.select(
        "cluster",
        "plan",
        "now",
        *(F.coalesce(name, "now").alias(name) for name in ("before", "wanted")),
    )
    holders = F.array_union(F.array_union("before", "wanted"), F.col("now"))
    counts = (
        placements.withColumn("broker_id", F.explode(holders))
        .groupBy("cluster", "plan", "broker_id")
        .agg(*(F.count_if(_holds(name)).alias(name) for name in PLACEMENTS))
    )
    for name in PLACEMENTS:
        counts = counts.transform(with_gini, name, ("cluster", "plan"))
    return counts.groupBy("cluster", "plan").agg(
        *(F.first(f"{name}_gini").alias(f"{name}_gini") for name in PLACEMENTS)
    )


def _holds(placement: str) -> Column:
    return F.array_contains(placement, F.col("broker_id"))
