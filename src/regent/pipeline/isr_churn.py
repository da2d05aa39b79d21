"""Which replicas go in and out of their ISRs: the brokers to look at when a cluster is restless.

Each interval of a timeline is compared with the one that it follows on. An ISR that was not there
before, as that of a new partition, has been joined by nobody.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.pipeline.observed import with_duration
from regent.pipeline.stretches import in_order, with_life


def isr_churn(timelines: DataFrame, transitions: DataFrame) -> DataFrame:
    """How often each replica left and joined its ISR, and how long it was assigned and out of it.

    Grain: (cluster, broker_id, topic, partition); no row for a replica that was always in it.
    """
    did_leave = F.array_contains("left", F.col("broker_id"))
    did_join = F.array_contains("joined", F.col("broker_id"))
    is_out = F.array_contains("out", F.col("broker_id"))
    position = F.struct("start_epoch", "start_sequence", "controller_id")
    return (
        with_duration(timelines, transitions)
        .transform(with_life)
        .transform(with_isr_changes)
        .withColumn("broker_id", F.explode(F.array_union(F.array_union("left", "joined"), "out")))
        .groupBy("cluster", "broker_id", "topic", "partition")
        .agg(
            F.count_if(did_leave).alias("left"),
            F.count_if(did_join).alias("joined"),
            F.coalesce(F.sum(F.when(is_out, F.col("duration_ms"))), F.lit(0)).alias("out_ms"),
            F.max_by(F.when(did_leave, F.col("start_ms")), F.when(did_leave, position)).alias(
                "last_left_ms"
            ),
        )
        .select(
            "cluster", "broker_id", "topic", "partition", "left", "joined", "out_ms", "last_left_ms"
        )
    )


def with_isr_changes(lives: DataFrame) -> DataFrame:
    """Add who `left` and who `joined` the ISR where an interval begins, and who is `out` of it."""
    nobody = F.array().cast("array<int>")
    before = F.lag(F.struct("life", "isr")).over(in_order())
    was = F.when(F.col("before.life") == F.col("life"), F.col("before.isr"))
    is_known = F.size("isr") > 0
    return (
        lives.withColumn("before", before)
        .withColumn("was", was)
        .withColumn("is_comparable", is_known & (F.size("was") > 0))
        .withColumns(
            {
                "left": F.when(F.col("is_comparable"), F.array_except("was", "isr")),
                "joined": F.when(F.col("is_comparable"), F.array_except("isr", "was")),
                "out": F.when(is_known, F.array_except("replicas", "isr")),
            }
        )
        .withColumns({name: F.coalesce(F.col(name), nobody) for name in ("left", "joined", "out")})
    )
