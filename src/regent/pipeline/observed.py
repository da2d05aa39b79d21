"""How long a history is, and how long each interval of it.

What still lasts is known to last until the last record of its cluster.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.pipeline.durations import elapsed_ms


def observed_span(transitions: DataFrame) -> DataFrame:
    """When the records of each cluster begin and end, by the clock.

    Grain: (cluster).
    """
    return transitions.groupBy("cluster").agg(
        F.min("at_ms").alias("observed_from_ms"), F.max("at_ms").alias("observed_until_ms")
    )


def observed_until(transitions: DataFrame) -> DataFrame:
    """When the records of each cluster end.

    Grain: (cluster).
    """
    return observed_span(transitions).select("cluster", "observed_until_ms")


def with_duration(intervals: DataFrame, transitions: DataFrame) -> DataFrame:
    """Add `duration_ms` to intervals that have `start_ms` and `end_ms`."""
    end = F.coalesce(F.col("end_ms"), F.col("observed_until_ms"))
    return (
        intervals.join(F.broadcast(observed_until(transitions)), on="cluster", how="left")
        .withColumn("duration_ms", elapsed_ms(F.col("start_ms"), end))
        .drop("observed_until_ms")
    )
