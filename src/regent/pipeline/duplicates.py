"""The same record twice: a segment that was copied, a log that was collected from two places.

Counting something twice would make every figure wrong, and removing duplicates from a large table
costs as much as a timeline. So whether there are any is found out first, exactly and cheaply: the
sequence numbers of a journal are dense, and a bitmap of them is small.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

WHERE: Final = ("file", "line")
JOURNAL: Final = "journal"


def once(transitions: DataFrame) -> DataFrame:
    """Each record once, as it stands in the first of the files that have it.

    Grain: as before.
    """
    same = Window.partitionBy("cluster", "controller_epoch", "sequence", _content(transitions))
    copy = F.row_number().over(same.orderBy(*WHERE))
    return transitions.withColumn("copy", copy).filter("copy = 1").drop("copy")


def copies(transitions: DataFrame) -> DataFrame:
    """Where something is there more than once; no row at all when nothing is.

    Grain: some thousands of consecutive sequence numbers of a journal, or one line of a log.
    """
    is_journal = F.col("source") == JOURNAL
    journals = _repeated_sequences(transitions.filter(is_journal))
    return journals.unionByName(_repeated_lines(transitions.filter(~is_journal)))


def _repeated_sequences(records: DataFrame) -> DataFrame:
    bucket = F.bitmap_bucket_number("sequence").alias("bucket")
    counts = records.groupBy("cluster", "controller_epoch", "controller_id", bucket).agg(
        F.count(F.lit(1)).alias("records"),
        F.bitmap_count(F.bitmap_construct_agg(F.bitmap_bit_position("sequence"))).alias("distinct"),
    )
    return counts.filter("records > distinct").select("cluster", "controller_epoch", "records")


def _repeated_lines(lines: DataFrame) -> DataFrame:
    """A line of a log can say several things, so all that it says tells it from others."""
    counts = lines.groupBy("cluster", "controller_epoch", _content(lines).alias("content")).agg(
        F.count(F.lit(1)).alias("records")
    )
    return counts.filter("records > 1").select("cluster", "controller_epoch", "records")


def _content(transitions: DataFrame) -> Column:
    return F.xxhash64(*(name for name in transitions.columns if name not in WHERE))
