"""Who was controller, for how long, and how each of them took office.

The times inside one reign are one clock's. Those between two reigns are not, so an interregnum is
as good as the clocks of the two nodes.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from regent.model.ids import NO_CONTROLLER_EPOCH
from regent.pipeline.durations import elapsed_ms

REIGN: Final = ("cluster", "controller_epoch", "controller_id")

#: With the first of these a controller has loaded all that there was.
FIRST_WORDS: Final = ("partitions_started", "request_sent")


def controller_reigns(transitions: DataFrame) -> DataFrame:
    """Each controller's time in office, and the steps of its failover.

    Grain: (cluster, controller_epoch, controller_id).
    """
    records = transitions.filter(F.col("controller_epoch") > NO_CONTROLLER_EPOCH)
    reigns = records.transform(per_reign).join(
        records.transform(per_load), on=list(REIGN), how="left"
    )
    in_order = Window.partitionBy("cluster").orderBy("controller_epoch", "controller_id")
    began = F.coalesce(F.col("elected_ms"), F.col("first_record_ms"))
    return (
        reigns.withColumn("next_began_ms", F.lead(began).over(in_order))
        .withColumn("end_ms", F.least("resigned_ms", "next_began_ms"))
        .withColumn("before", F.lag(F.struct("resigned_ms", "end_ms")).over(in_order))
        .select(
            *REIGN,
            "elected_ms",
            "loaded_ms",
            "replicas_started_ms",
            "partitions_started_ms",
            "first_request_ms",
            "last_record_ms",
            "resigned_ms",
            "resigned_because",
            "end_ms",
            F.when(
                F.col("before.resigned_ms").isNotNull(),
                elapsed_ms(F.col("before.end_ms"), F.col("elected_ms")),
            ).alias("interregnum_ms"),
            "records",
            "records_lost",
            F.coalesce("topics_loaded", F.lit(0)).alias("topics_loaded"),
            F.coalesce("partitions_loaded", F.lit(0)).alias("partitions_loaded"),
            "elections",
            "requests",
        )
    )


def per_reign(transitions: DataFrame) -> DataFrame:
    """What one look at a reign's records tells.

    A controller process counts its records over several reigns, so only what is missing between
    the first and the last number of this one is known to be missing from it.
    """
    records = F.count(F.lit(1))
    span = F.max("sequence") - F.min("sequence") + 1
    kind = F.col("kind")
    return transitions.groupBy(*REIGN).agg(
        _first("controller_elected").alias("elected_ms"),
        F.min_by("at_ms", "sequence").alias("first_record_ms"),
        _last("replicas_started").alias("replicas_started_ms"),
        _last("partitions_started").alias("partitions_started_ms"),
        _first("request_sent").alias("first_request_ms"),
        F.max_by("at_ms", "sequence").alias("last_record_ms"),
        _first("controller_resigned").alias("resigned_ms"),
        _first("controller_resigned", "reason").alias("resigned_because"),
        records.alias("records"),
        F.when(F.max("source") == "journal", span - records).alias("records_lost"),
        F.count_if(kind == "leader_elected").alias("elections"),
        F.count_if(kind == "request_sent").alias("requests"),
    )


def per_load(transitions: DataFrame) -> DataFrame:
    """What each controller found as it took office.

    Grain: (cluster, controller_epoch, controller_id).
    """
    loads = transitions.filter(F.col("kind") == "topic_loaded").select(
        *REIGN, "sequence", "at_ms", "topic", F.size("partitions").alias("count")
    )
    spoke = first_words(transitions).select(*REIGN, F.col("sequence").alias("first_word"))
    return (
        loads.join(spoke, on=list(REIGN), how="left")
        .filter(F.coalesce(F.col("sequence") < F.col("first_word"), F.lit(True)))
        .groupBy(*REIGN)
        .agg(
            F.max_by("at_ms", "sequence").alias("loaded_ms"),
            F.count_distinct("topic").alias("topics_loaded"),
            F.sum("count").alias("partitions_loaded"),
        )
    )


def first_words(transitions: DataFrame) -> DataFrame:
    """Where each controller had loaded everything; those who never got there have no row.

    Grain: (cluster, controller_epoch, controller_id).
    """
    return (
        transitions.filter(F.col("kind").isin(*FIRST_WORDS))
        .groupBy(*REIGN)
        .agg(F.min("sequence").alias("sequence"), F.min_by("at_ms", "sequence").alias("at_ms"))
    )


def _first(kind: str, column: str = "at_ms") -> Column:
    """What the first record of a kind says."""
    is_kind = F.col("kind") == kind
    return F.min_by(F.when(is_kind, F.col(column)), F.when(is_kind, F.col("sequence")))


def _last(kind: str) -> Column:
    """When the last record of a kind was written."""
    is_kind = F.col("kind") == kind
    return F.max_by(F.when(is_kind, F.col("at_ms")), F.when(is_kind, F.col("sequence")))
