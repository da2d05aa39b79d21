"""Brokers that die again and again.

Whether deaths are close together is a question about time, so this is the one place that goes by
the clock.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from regent.pipeline.settings import DEFAULTS, Settings

BROKER: Final = ("cluster", "broker_id")


def broker_flapping(broker_lives: DataFrame, settings: Settings = DEFAULTS) -> DataFrame:
    """The longest times in which any `flapping_deaths` deaths in a row fit the window.

    Grain: (cluster, broker_id, start_ms).
    """
    in_order = Window.partitionBy(*BROKER).orderBy("down_ms", "up_ms", "broker_epoch")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    until_here = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last_of_row = F.lead("down_ms", settings.flapping_deaths - 1).over(in_order)
    is_dense = last_of_row - F.col("down_ms") <= settings.flapping_window_ms
    deaths = (
        broker_lives.filter(F.col("down_ms").isNotNull())
        .withColumn("reach_ms", F.when(is_dense, last_of_row))
        .withColumn("reached_ms", F.max("reach_ms").over(earlier))
        .withColumn("goes_on", F.coalesce(F.col("down_ms") <= F.col("reached_ms"), F.lit(False)))
    )
    return (
        deaths.filter(F.col("goes_on") | F.col("reach_ms").isNotNull())
        .withColumn("spell", F.count_if(~F.col("goes_on")).over(until_here))
        .groupBy(*BROKER, "spell")
        .agg(
            F.min("down_ms").alias("start_ms"),
            F.max("down_ms").alias("end_ms"),
            F.count(F.lit(1)).alias("deaths"),
        )
        .select(*BROKER, "start_ms", "end_ms", "deaths")
    )
