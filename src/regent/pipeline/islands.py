"""Gaps and islands: steps in, intervals out.

A step says something of a thing (a partition, a replica) and leaves the rest as it was. What it
leaves unsaid is carried forward, steps that change nothing are dropped, and each interval ends
where the next begins. The order is that of the journal, so what a deposed controller still wrote
comes before all that its successor did, whatever their clocks say.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F


def islands(steps: DataFrame, *, key: Sequence[str], said: Sequence[str]) -> DataFrame:
    """Steps as intervals in which nothing of what is `said` about the thing of this key changed.

    Grain: key and (controller_epoch, sequence) of the step that began the interval. `end_ms` is
    null for the last one of a thing.
    """
    return (
        steps.transform(with_last_said, key=key, said=said)
        .transform(only_changes, key=key, said=said)
        .transform(with_end, key=key)
    )


def with_last_said(steps: DataFrame, *, key: Sequence[str], said: Sequence[str]) -> DataFrame:
    """Carry forward what the last step that said it has said."""
    until_here = life_of(key).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return steps.withColumns(
        {name: F.last(name, ignorenulls=True).over(until_here) for name in said}
    )


def only_changes(steps: DataFrame, *, key: Sequence[str], said: Sequence[str]) -> DataFrame:
    """Drop the steps after which everything is as it was before."""
    now = F.struct(*said)
    before = F.lag(now).over(life_of(key))
    return (
        steps.withColumn("is_change", ~now.eqNullSafe(before)).filter("is_change").drop("is_change")
    )


def with_end(steps: DataFrame, *, key: Sequence[str]) -> DataFrame:
    """Add when the thing's next interval begins, null for the last one."""
    return steps.withColumn("end_ms", F.lead("at_ms").over(life_of(key)))


def life_of(key: Sequence[str]) -> WindowSpec:
    """The steps of one thing in the order of the journal, never by the clock.

    Two controllers can share an epoch only by a fault; their order is then arbitrary but fixed.
    """
    return Window.partitionBy(*key).orderBy("controller_epoch", "sequence", "controller_id", "kind")
