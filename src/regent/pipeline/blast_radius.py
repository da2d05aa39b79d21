"""What would be lost with a broker, a rack, or two brokers at once.

A partition goes *offline* with its last live member of the ISR, and comes to be *under min ISR*
when it still has a leader and fewer members than `min.insync.replicas`. Only what the failure
itself brings about is counted: a partition that is offline or under min ISR already is not.

There are as many pairs as brokers squared, but few of them share a partition. Losing two brokers
costs what losing each of them costs, but for the partitions that both are in sync with; so only
those pairs are looked at, for the difference, and the rest is a sum.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

FIGURES: Final = ("offline", "under_min_isr")


def blast_radius(layout: DataFrame, brokers: DataFrame) -> DataFrame:
    """How many partitions each broker, rack and pair of brokers would take along.

    Grain: (cluster, scope, a, b). Every broker, every rack and every pair is there, also with
    nothing to lose; `a` is the smaller id of a pair.
    """
    partitions = in_sync_and_alive(layout, brokers)
    of_brokers = per_pair(partitions).unionByName(all_pairs(brokers))
    of_racks = per_rack(partitions, brokers).unionByName(all_racks(brokers))
    pairs = of_brokers.groupBy("cluster", "a", "b").agg(*_sums()).transform(with_losses_of_each)
    is_pair = F.col("a") != F.col("b")
    return (
        pairs.select(
            "cluster",
            F.when(is_pair, "pair").otherwise("broker").alias("scope"),
            F.col("a").cast("string").alias("a"),
            F.when(is_pair, F.col("b").cast("string")).alias("b"),
            *FIGURES,
        )
        .unionByName(
            of_racks.groupBy("cluster", "rack")
            .agg(*_sums())
            .select(
                "cluster",
                F.lit("rack").alias("scope"),
                F.col("rack").alias("a"),
                F.lit(None).cast("string").alias("b"),
                *FIGURES,
            )
        )
        .select("cluster", "scope", "a", "b", *FIGURES)
    )


def blast_topics(layout: DataFrame, brokers: DataFrame, lost: Sequence[int]) -> DataFrame:
    """What each topic would lose with all of these brokers at once.

    Grain: (cluster, topic). Topics that would lose nothing are not there.
    """
    gone = F.size(F.array_intersect("members", F.array(*map(F.lit, lost)).cast("array<int>")))
    hit = in_sync_and_alive(layout, brokers).select("cluster", "topic", *_losses(gone))
    return (
        hit.groupBy("cluster", "topic")
        .agg(F.count("*").alias("partitions"), *_sums())
        .filter((F.col("offline") > 0) | (F.col("under_min_isr") > 0))
        .select("cluster", "topic", "partitions", *FIGURES)
    )


def in_sync_and_alive(layout: DataFrame, brokers: DataFrame) -> DataFrame:
    """The live members of each partition's ISR, and how many they are.

    Grain: (cluster, topic, partition), without the partitions that have no such member: they are
    offline.
    """
    per_cluster = brokers.filter(~F.col("is_live")).groupBy("cluster")
    dead = per_cluster.agg(F.collect_set("broker_id").alias("dead"))
    nobody = F.array().cast("array<int>")
    members = F.array_except("isr", F.coalesce(F.col("dead"), nobody))
    return (
        layout.join(F.broadcast(dead), on="cluster", how="left")
        .select(
            "cluster",
            "topic",
            "partition",
            F.coalesce("min_isr", F.lit(1)).alias("min_isr"),
            members.alias("members"),
            F.size(members).alias("in_sync"),
        )
        .filter(F.col("in_sync") > 0)
    )


# --- brokers and pairs of them ----------------------------------------------------------------


def per_pair(partitions: DataFrame) -> DataFrame:
    """What each partition would lose with each of its members, and with each two of them.

    A broker is paired with itself. The row of two holds only by how much losing both differs from
    losing one and losing the other.
    """
    offline_by_one, under_by_one = _losses(F.lit(1))
    offline_by_two, under_by_two = _losses(F.lit(2))
    is_one = F.col("a") == F.col("b")
    return (
        partitions.select(
            "cluster",
            "members",
            offline_by_one.alias("offline_by_one"),
            under_by_one.alias("under_by_one"),
            (offline_by_two - 2 * offline_by_one).alias("offline_by_two"),
            (under_by_two - 2 * under_by_one).alias("under_by_two"),
        )
        .filter("offline_by_one + under_by_one != 0 OR offline_by_two != 0 OR under_by_two != 0")
        .withColumn("a", F.explode("members"))
        .withColumn("b", F.explode("members"))
        .filter(F.col("a") <= F.col("b"))
        .select(
            "cluster",
            "a",
            "b",
            F.when(is_one, F.col("offline_by_one"))
            .otherwise(F.col("offline_by_two"))
            .alias("offline"),
            F.when(is_one, F.col("under_by_one"))
            .otherwise(F.col("under_by_two"))
            .alias("under_min_isr"),
        )
    )


def all_pairs(brokers: DataFrame) -> DataFrame:
    """Every broker with itself and with each later one, and nothing to lose yet."""
    a = brokers.select("cluster", F.col("broker_id").alias("a"))
    b = brokers.select("cluster", F.col("broker_id").alias("b"))
    return (
        a.join(F.broadcast(b), on="cluster", how="inner")
        .filter(F.col("a") <= F.col("b"))
        .select("cluster", "a", "b", *_nothing())
    )


def with_losses_of_each(pairs: DataFrame) -> DataFrame:
    """Add to each pair what either of its brokers would cost alone."""
    is_one = F.col("a") == F.col("b")
    all_with = Window.partitionBy("cluster", "member").rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
    alone = {f"{name}_alone": F.max(F.when(is_one, F.col(name))).over(all_with) for name in FIGURES}
    return (
        pairs.withColumn("member", F.explode(F.array_distinct(F.array("a", "b"))))
        .withColumns(alone)
        .groupBy("cluster", "a", "b")
        .agg(
            *(
                F.when(is_one, F.max(name))
                .otherwise(F.max(name) + F.sum(f"{name}_alone"))
                .alias(name)
                for name in FIGURES
            )
        )
    )


# --- racks ------------------------------------------------------------------------------------


def per_rack(partitions: DataFrame, brokers: DataFrame) -> DataFrame:
    """What each partition would lose with each rack that has a member of it.

    As with pairs: what each member alone would cost, and the difference where a rack has several.
    """
    racks = brokers.filter(F.col("rack").isNotNull()).select("cluster", "broker_id", "rack")
    members = (
        partitions.withColumn("number", F.monotonically_increasing_id())
        .withColumn("broker_id", F.explode("members"))
        .join(F.broadcast(racks), on=["cluster", "broker_id"], how="inner")
    )
    alone = members.select("cluster", "rack", *_losses(F.lit(1)))
    return alone.unionByName(neighbours(members, racks))


def neighbours(members: DataFrame, racks: DataFrame) -> DataFrame:
    """By how much losing all members in a rack differs from losing each of them, where several are.

    They are found as pairs: of n members there are n (n - 1) / 2 pairs.
    """
    pairs = (
        members.withColumnRenamed("broker_id", "first")
        .withColumn("broker_id", F.explode("members"))
        .filter(F.col("first") < F.col("broker_id"))
        .join(F.broadcast(racks), on=["cluster", "broker_id", "rack"], how="left_semi")
        .groupBy("cluster", "number", "rack", "in_sync", "min_isr")
        .agg(F.count("*").alias("pairs"))
        .withColumn("gone", ((F.sqrt(F.col("pairs") * 8 + 1) + 1) / 2).cast("int"))
    )
    both = zip(FIGURES, _losses(F.col("gone")), _losses(F.lit(1)), strict=True)
    differences = ((all_of - F.col("gone") * one).alias(name) for name, all_of, one in both)
    return pairs.select("cluster", "rack", *differences)


def all_racks(brokers: DataFrame) -> DataFrame:
    """Every rack, and nothing to lose yet."""
    return brokers.filter(F.col("rack").isNotNull()).select("cluster", "rack", *_nothing())


# --- a partition's loss -----------------------------------------------------------------------


def _losses(gone: Column) -> tuple[Column, Column]:
    """Whether a partition goes offline, or under min ISR, without so many of its members."""
    in_sync, min_isr = F.col("in_sync"), F.col("min_isr")
    left = in_sync - gone
    offline = (gone > 0) & (left <= 0)
    under = (gone > 0) & (in_sync >= min_isr) & (left > 0) & (left < min_isr)
    return offline.cast("int").alias("offline"), under.cast("int").alias("under_min_isr")


def _nothing() -> tuple[Column, ...]:
    return tuple(F.lit(0).alias(name) for name in FIGURES)


def _sums() -> tuple[Column, ...]:
    return tuple(F.sum(name).alias(name) for name in FIGURES)
