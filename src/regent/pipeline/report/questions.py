"""The questions of a report, each a pure function of finished tables.

Each gives its most telling rows first: whoever asks takes only so many.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from regent.pipeline.conditions import is_leaderless, is_under_min_isr, is_under_replicated
from regent.pipeline.settings import Settings

#: How many partitions the timeline shows, and brokers the matrix of blast radii.
PARTITIONS_MAX: Final = 60
BROKERS_MAX: Final = 40
#: Each power of ten of a latency is parted into so many buckets.
BUCKETS_PER_DECADE: Final = 5

HARM: Final = ("leaderless_ms", "under_min_isr_ms", "under_replicated_ms")

# What a partition can be, from bad to good, as the timeline shows it.
LEADERLESS: Final = "leaderless"
UNDER_MIN_ISR: Final = "under_min_isr"
UNDER_REPLICATED: Final = "under_replicated"
ONLINE: Final = "online"


def clusters(availability: DataFrame) -> DataFrame:
    """How every cluster did, the worst first. Grain: (cluster)."""
    return availability.filter(F.col("scope") == "cluster").orderBy("availability", "cluster")


def worst_topics(availability: DataFrame) -> DataFrame:
    """The topics that suffered most. Grain: (cluster, topic)."""
    return availability.filter(F.col("scope") == "topic").orderBy(*_most(*HARM), "cluster", "topic")


def worst_timelines(
    timelines: DataFrame, availability: DataFrame, reigns: DataFrame, settings: Settings
) -> DataFrame:
    """How those partitions were that suffered most, one row while condition and leader last.

    Grain: (cluster, topic, partition, start_ms), the worst partition first.
    """
    worst = (
        availability.filter(F.col("scope") == "partition")
        .select("cluster", "topic", "partition", *HARM)
        .orderBy(*_most(*HARM), "cluster", "topic", "partition")
        .limit(PARTITIONS_MAX)
    )
    last_record = reigns.groupBy("cluster").agg(F.max("last_record_ms").alias("last_record_ms"))
    condition = (
        F.when(is_leaderless(), LEADERLESS)
        .when(is_under_min_isr(settings), UNDER_MIN_ISR)
        .when(is_under_replicated(), UNDER_REPLICATED)
        .when(F.col("state").isNotNull(), ONLINE)
    )
    life = Window.partitionBy("cluster", "topic", "partition").orderBy(
        "start_epoch", "start_sequence", "controller_id"
    )
    until_here = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    shown = F.struct("condition", "leader")
    end = F.coalesce("end_ms", F.greatest("last_record_ms", "start_ms"))
    return (
        timelines.join(F.broadcast(worst), on=["cluster", "topic", "partition"], how="inner")
        .join(F.broadcast(last_record), on="cluster", how="left")
        .withColumn("condition", condition)
        .withColumn("is_new", (~shown.eqNullSafe(F.lag(shown).over(life))).cast("int"))
        .withColumn("stretch", F.sum("is_new").over(until_here))
        .filter(F.col("condition").isNotNull())
        .groupBy("cluster", "topic", "partition", *HARM, "stretch", "condition", "leader")
        .agg(
            F.min("start_ms").alias("start_ms"),
            F.max(end).alias("end_ms"),
            F.min_by("isr", F.struct("start_epoch", "start_sequence")).alias("isr"),
        )
        .filter(F.col("end_ms") > F.col("start_ms"))
        .orderBy(*_most(*HARM), "cluster", "topic", "partition", "stretch")
        .drop(*HARM, "stretch")
    )


def reigns(controller_reigns: DataFrame) -> DataFrame:
    """Who was in office, in order. Grain: (cluster, controller_epoch, controller_id)."""
    return controller_reigns.orderBy("cluster", "controller_epoch", "controller_id")


def election_latency(latency: DataFrame) -> DataFrame:
    """How long elections took. Grain: (cluster, strategy, unclean)."""
    return latency.orderBy("cluster", F.desc("elections"), "strategy", "unclean")


def latency_buckets(elections: DataFrame) -> DataFrame:
    """How many elections after a failure took about how long.

    Grain: (strategy, unclean, bucket); a bucket is a fifth of a power of ten of milliseconds.
    """
    bucket = F.floor(F.log10(F.greatest(F.col("latency_ms"), F.lit(1))) * BUCKETS_PER_DECADE)
    return (
        elections.filter(F.col("latency_ms").isNotNull())
        .groupBy("strategy", "unclean", bucket.alias("bucket"))
        .agg(F.count(F.lit(1)).alias("elections"))
        .orderBy("strategy", "unclean", "bucket")
    )


def outages_by_kind(outages: DataFrame) -> DataFrame:
    """Grain: (kind)."""
    return (
        outages.groupBy("kind")
        .agg(
            F.count(F.lit(1)).alias("outages"),
            F.count_distinct("cluster", "topic", "partition").alias("partitions"),
            F.sum("duration_ms").alias("total_ms"),
            F.max("duration_ms").alias("longest_ms"),
            F.count_if(F.col("end_ms").isNull()).alias("lasting"),
        )
        .orderBy("kind")
    )


def longest_outages(outages: DataFrame) -> DataFrame:
    """The longest times without a leader. Grain: an outage."""
    return outages.filter(F.col("kind") == LEADERLESS).orderBy(
        F.desc("duration_ms"), "cluster", "topic", "partition", "start_epoch", "start_sequence"
    )


def findings_by_rule(violations: DataFrame) -> DataFrame:
    """Grain: (severity, rule)."""
    return (
        violations.groupBy("severity", "rule")
        .agg(
            F.count(F.lit(1)).alias("findings"),
            F.count_distinct("cluster", "topic", "partition").alias("partitions"),
            F.min("at_ms").alias("first_ms"),
            F.max("at_ms").alias("last_ms"),
        )
        .orderBy(_severity(), F.desc("findings"), "rule")
    )


def first_findings(violations: DataFrame) -> DataFrame:
    """The gravest findings, in the order they happened. Grain: a finding."""
    return violations.orderBy(
        _severity(), "cluster", "controller_epoch", "sequence", "rule", "topic", "partition"
    )


def worst_incidents(incidents: DataFrame) -> DataFrame:
    """Grain: (cluster, incident_id)."""
    return incidents.orderBy(F.desc("leaderless_ms"), "rank", "cluster")


def shares_before_and_after(balance: DataFrame) -> DataFrame:
    """What every broker led at the first look at which anybody led, and at the last.

    Grain: (cluster, broker_id).
    """
    look = F.struct("leaders", "preferred", "leader_gini")
    led = F.sum("leaders").over(Window.partitionBy("cluster", "at_ms"))
    return (
        balance.withColumn("led", led)
        .filter(F.col("led") > 0)
        .groupBy("cluster", "broker_id")
        .agg(
            F.min_by(look, "at_ms").alias("before"),
            F.max_by(look, "at_ms").alias("after"),
            F.min("at_ms").alias("before_ms"),
            F.max("at_ms").alias("after_ms"),
        )
        .orderBy("cluster", "broker_id")
    )


def gini_over_time(balance: DataFrame) -> DataFrame:
    """How uneven leadership was. Grain: (cluster, at_ms)."""
    return (
        balance.groupBy("cluster", "at_ms")
        .agg(
            F.first("leader_gini").alias("leader_gini"),
            F.first("replica_gini").alias("replica_gini"),
        )
        .orderBy("cluster", "at_ms")
    )


def churn_by_broker(isr_churn: DataFrame) -> DataFrame:
    """Whose replicas fell out of sync most. Grain: (cluster, broker_id)."""
    return (
        isr_churn.groupBy("cluster", "broker_id")
        .agg(
            F.sum("left").alias("left"),
            F.sum("joined").alias("joined"),
            F.sum("out_ms").alias("out_ms"),
            F.count_if(F.col("left") > 0).alias("partitions"),
        )
        .orderBy(F.desc("left"), F.desc("out_ms"), "cluster", "broker_id")
    )


def flapping(broker_flapping: DataFrame) -> DataFrame:
    """Grain: (cluster, broker_id, start_ms)."""
    return broker_flapping.orderBy(F.desc("deaths"), "cluster", "broker_id", "start_ms")


def reassignments(table: DataFrame) -> DataFrame:
    """How moves ended. Grain: (outcome, is_stalled)."""
    return (
        table.groupBy("outcome", "is_stalled")
        .agg(
            F.count(F.lit(1)).alias("moves"),
            F.max("duration_ms").alias("longest_ms"),
            F.max("longest_pause_ms").alias("longest_pause_ms"),
        )
        .orderBy("outcome", "is_stalled")
    )


def deletions(table: DataFrame) -> DataFrame:
    """The deletions that took longest. Grain: a deletion."""
    return table.orderBy(
        F.desc("is_stalled"), F.desc("duration_ms"), "cluster", "topic", "start_epoch"
    )


def blast_radius(table: DataFrame) -> DataFrame:
    """Racks, and the brokers that would take most along with all pairs of them.

    Grain: (scope, a, b), of the one cluster that has most to lose.
    """
    harm = F.col("offline") + F.col("under_min_isr")
    totals = table.groupBy("cluster").agg(F.sum(harm).alias("harm"))
    most = totals.orderBy(F.desc("harm"), "cluster").limit(1).select("cluster")
    table = table.join(F.broadcast(most), on="cluster", how="left_semi")
    worst = (
        table.filter(F.col("scope") == "broker")
        .orderBy(F.desc(harm), "a")
        .limit(BROKERS_MAX)
        .select(F.col("a").alias("worst"))
    )
    a, b = (
        worst.select(F.col("worst").alias("worst_a")),
        worst.select(F.col("worst").alias("worst_b")),
    )
    return (
        table.join(F.broadcast(a), on=F.col("a") == F.col("worst_a"), how="left")
        .join(F.broadcast(b), on=F.col("b") == F.col("worst_b"), how="left")
        .filter(
            (F.col("scope") == "rack")
            | (F.col("worst_a").isNotNull() & (F.col("b").isNull() | F.col("worst_b").isNotNull()))
        )
        .drop("worst_a", "worst_b")
        .orderBy("scope", F.desc(harm), "a", "b")
    )


def quarantine_reasons(quarantine: DataFrame) -> DataFrame:
    """Grain: (reason)."""
    return (
        quarantine.groupBy("reason")
        .agg(F.count(F.lit(1)).alias("lines"), F.count_distinct("file").alias("files"))
        .orderBy(F.desc("lines"), "reason")
    )


def quarantined_lines(quarantine: DataFrame) -> DataFrame:
    """Grain: a line."""
    return quarantine.select(
        "cluster", "file", "line", "reason", F.substring("text", 1, 400).alias("text")
    ).orderBy("file", "line")


def _most(*names: str) -> tuple[Column, ...]:
    return tuple(F.desc(name) for name in names)


def _severity() -> Column:
    """Errors first, then warnings."""
    return (
        F.when(F.col("severity") == "error", 0)
        .when(F.col("severity") == "warning", 1)
        .otherwise(F.lit(2))
    )
