"""Work that goes on over many events and outlives controllers: reassignments and deletions.

Both are told as words, each a record that says something of one piece of work. A successor takes
up what it finds and says so again, so pieces are not cut at failovers but after the words that end
one. What shows that work goes on is a sign; the time between two signs is a pause.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from regent.pipeline.durations import elapsed_ms

#: Where a word stands in the order of things. A line of a log can say two things.
POSITION: Final = ("controller_epoch", "sequence", "controller_id", "kind")


def with_segment(words: DataFrame, key: Sequence[str]) -> DataFrame:
    """Number the stretches of words, in `segment`; each reaches up to a word that `ends` one."""
    earlier = in_order(*key).rowsBetween(Window.unboundedPreceding, -1)
    ended = F.count_if(F.col("ends")).over(earlier)
    return words.withColumn("segment", ended)


def with_pause(words: DataFrame, key: Sequence[str]) -> DataFrame:
    """Add how long each word that `is_sign` had been waited for; null for others and the first."""
    earlier = in_order(*key).rowsBetween(Window.unboundedPreceding, -1)
    sign_ms = F.when(F.col("is_sign"), F.col("at_ms"))
    before_ms = F.last(sign_ms, ignorenulls=True).over(earlier)
    return words.withColumn("pause_ms", elapsed_ms(before_ms, sign_ms))


def pauses() -> tuple[Column, Column]:
    """Of all words of a piece of work: the longest pause, and when the last sign was."""
    last = F.max_by("at_ms", F.when(F.col("is_sign"), position()))
    return F.max("pause_ms").alias("longest_pause_ms"), last.alias("last_sign_ms")


def longest_pause_ms(until_ms: Column) -> Column:
    """The longest pause of a piece of work, the time since its last sign included."""
    return F.greatest(
        F.col("longest_pause_ms"), elapsed_ms(F.col("last_sign_ms"), until_ms), F.lit(0)
    )


def in_order(*key: str) -> WindowSpec:
    """The words of one thing in the order of the journal."""
    return Window.partitionBy(*key).orderBy(*POSITION)


def until_here(*key: str) -> WindowSpec:
    """The words of one thing up to this one."""
    return in_order(*key).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def position() -> Column:
    """Where a word stands, as one value."""
    return F.struct(*POSITION)
