"""Where everything stood when a history ends, and what a failure would have cost just then."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.pipeline.blast_radius import blast_radius
from regent.pipeline.settings import DEFAULTS, Settings, min_isr_of


def last_layout(timelines: DataFrame, settings: Settings = DEFAULTS) -> DataFrame:
    """The partitions as their last intervals, which have no end, show them.

    Grain: (cluster, topic, partition).
    """
    return timelines.filter(F.col("end_ms").isNull() & F.col("isr").isNotNull()).select(
        "cluster",
        "topic",
        "partition",
        "replicas",
        "leader",
        "isr",
        min_isr_of(F.col("topic"), settings).alias("min_isr"),
    )


def last_brokers(broker_lives: DataFrame) -> DataFrame:
    """The brokers that were ever seen, and whether they live.

    Grain: (cluster, broker_id).
    """
    is_alive = F.col("down_ms").isNull()
    return broker_lives.groupBy("cluster", "broker_id").agg(
        F.max_by("rack", F.struct(is_alive, "up_ms")).alias("rack"),
        F.max(is_alive).alias("is_live"),
    )


def last_blast_radius(
    timelines: DataFrame, broker_lives: DataFrame, settings: Settings = DEFAULTS
) -> DataFrame:
    """What each broker, rack and pair of brokers would have taken along at the end.

    Grain: (cluster, scope, a, b).
    """
    return blast_radius(last_layout(timelines, settings), last_brokers(broker_lives))
