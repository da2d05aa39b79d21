"""Intervals of a partition's timeline that follow on each other.

Consecutive rows are not enough: between two intervals the partition may not have existed, and what
came before that has nothing to do with what came after.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from regent.pipeline.timelines import PARTITION


def with_life(timelines: DataFrame) -> DataFrame:
    """Number the lives of each partition, from 1, in `life`.

    A new one begins where an interval does not begin when the one before it ended.
    """
    follows = F.coalesce(F.lag("end_ms").over(in_order()) == F.col("start_ms"), F.lit(False))
    return timelines.withColumn("begins_life", (~follows).cast("long")).withColumn(
        "life", F.sum("begins_life").over(until_here())
    )


def with_stretches(lives: DataFrame, conditions: Sequence[str]) -> DataFrame:
    """Number the stretches in which each condition holds, in `<condition>_stretch`.

    Null where it does not hold. A stretch does not reach from one life into another.
    """
    before = F.lag(F.struct("life", *conditions)).over(in_order())
    begins = {f"{name}_begins": _begins(name).cast("long") for name in conditions}
    number = {
        f"{name}_stretch": F.when(F.col(name), F.sum(f"{name}_begins").over(until_here()))
        for name in conditions
    }
    return lives.withColumn("before", before).withColumns(begins).withColumns(number)


def _begins(condition: str) -> Column:
    """Whether the condition holds from here on, and not just before in the same life."""
    goes_on = F.col(f"before.{condition}") & (F.col("before.life") == F.col("life"))
    return F.col(condition) & ~F.coalesce(goes_on, F.lit(False))


def in_order() -> WindowSpec:
    """The intervals of a partition in the order of the journal."""
    return Window.partitionBy(*PARTITION).orderBy(
        "start_epoch", "start_sequence", "controller_id", "kind"
    )


def until_here() -> WindowSpec:
    """All intervals of a partition up to this one."""
    return in_order().rowsBetween(Window.unboundedPreceding, Window.currentRow)
