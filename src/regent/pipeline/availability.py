"""How much of the time partitions could be used, and how fully.

Only time in which a partition's state is known counts. A broker answers for the partitions that
are assigned to it, while they are: it need not be at fault.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.pipeline.conditions import CONDITIONS, with_conditions
from regent.pipeline.observed import with_duration
from regent.pipeline.schemas import BROKERS, INT, STRING
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.stretches import with_life, with_stretches
from regent.pipeline.timelines import PARTITION

TIMES: Final = ("total_ms", *(f"{name}_ms" for name in CONDITIONS))


def availability(
    timelines: DataFrame, transitions: DataFrame, settings: Settings = DEFAULTS
) -> DataFrame:
    """Times that partitions spent in each condition, as durations and as nines.

    Grain: (cluster, scope, topic, partition, broker_id).
    """
    down = F.col("leaderless_ms")
    total = F.col("total_ms")
    return (
        with_duration(timelines.filter(F.col("state").isNotNull()), transitions)
        .transform(with_conditions, settings)
        .transform(with_life)
        .transform(with_stretches, ["leaderless"])
        .transform(per_partition)
        .transform(per_scope)
        .select(
            "cluster",
            "scope",
            "topic",
            "partition",
            "broker_id",
            "partitions",
            *TIMES,
            "outages",
            "longest_outage_ms",
            (F.lit(1) - F.try_divide(down, total)).alias("availability"),
            # -log10(1 - availability), without the loss of digits.
            F.when(down > 0, F.log10(total / down)).alias("nines"),
        )
    )


def per_partition(intervals: DataFrame) -> DataFrame:
    """Times of each partition as a whole, and again for each broker while it was a replica there.

    Grain: (cluster, topic, partition, broker_id), broker_id being null for the whole. Intervals
    are summed for each assignment before they are told out to its brokers.
    """
    times = {
        "total_ms": F.col("duration_ms"),
        **{
            f"{name}_ms": F.when(F.col(name), F.col("duration_ms")).when(~F.col(name), F.lit(0))
            for name in CONDITIONS
        },
    }
    whole = F.array(F.lit(None).cast(INT))
    assigned = F.coalesce(F.array_distinct("replicas"), F.array().cast(BROKERS))
    return (
        intervals.withColumns(times)
        .groupBy(*PARTITION, "replicas", "leaderless_stretch")
        .agg(*_sums(TIMES))
        .withColumn("broker_id", F.explode(F.concat(whole, assigned)))
        .groupBy(*PARTITION, "broker_id", "leaderless_stretch")
        .agg(*_sums(TIMES))
        .groupBy(*PARTITION, "broker_id")
        .agg(
            *_sums(TIMES),
            F.count("leaderless_stretch").alias("outages"),
            F.max("leaderless_ms").alias("longest_outage_ms"),
        )
    )


def per_scope(partitions: DataFrame) -> DataFrame:
    """Times of partitions summed up for partition, topic, cluster and broker.

    Grain: (cluster, scope, topic, partition, broker_id).
    """
    is_whole = F.col("broker_id").isNull()
    scopes = F.when(
        is_whole,
        F.array(
            _scope("partition", "topic", "partition"), _scope("topic", "topic"), _scope("cluster")
        ),
    ).when(~is_whole, F.array(_scope("broker", "broker_id")))
    return (
        partitions.withColumn("of", F.explode(scopes))
        .groupBy("cluster", "of")
        .agg(
            F.count(F.lit(1)).alias("partitions"),
            *_sums((*TIMES, "outages")),
            F.max("longest_outage_ms").alias("longest_outage_ms"),
        )
        .select("*", "of.*")
    )


def _scope(name: str, *applies: str) -> Column:
    """The name of a scope with what applies to it; null for what does not."""
    columns = {"topic": STRING, "partition": INT, "broker_id": INT}
    return F.struct(
        F.lit(name).alias("scope"),
        *(
            (F.col(column) if column in applies else F.lit(None)).cast(of).alias(column)
            for column, of in columns.items()
        ),
    )


def _sums(names: Iterable[str]) -> Iterator[Column]:
    return (F.sum(name).alias(name) for name in names)
