"""Figures in words, made by Spark: what the sentences of an incident are built of."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def counted(count: Column, noun: str, plural: str | None = None) -> Column:
    """`1 partition`, `1,204 partitions`."""
    many = plural or f"{noun}s"
    return F.concat(
        F.format_number(count, 0), F.lit(" "), F.when(count == 1, noun).otherwise(F.lit(many))
    )


def duration_in_words(duration_ms: Column) -> Column:
    """`120 ms`, `2.1 s`, `41 s`, `4 min 10 s`, `2 h 5 min`: two figures are enough."""
    seconds = F.floor(duration_ms / 1_000)
    minutes = F.floor(duration_ms / 60_000)
    return (
        F.when(duration_ms < 1, F.lit("less than 1 ms"))
        .when(duration_ms < 1_000, joined(duration_ms, " ms"))
        .when(duration_ms < 10_000, joined(F.format_number(duration_ms / 1_000, 1), " s"))
        .when(duration_ms < 60_000, joined(seconds, " s"))
        .when(duration_ms < 3_600_000, joined(minutes, " min ", seconds % 60, " s"))
        .otherwise(joined(F.floor(duration_ms / 3_600_000), " h ", minutes % 60, " min"))
    )


def clock(at_ms: Column) -> Column:
    """The time of day in the session's zone, which is UTC."""
    return F.date_format(F.timestamp_millis(at_ms), "HH:mm:ss.SSS")


def joined(*parts: Column | str) -> Column:
    """One text of columns and words; null when one of the columns is."""
    return F.concat(*(F.lit(part) if isinstance(part, str) else part for part in parts))


def sentences(*parts: Column) -> Column:
    """The sentences that are there, with a space between."""
    return F.concat_ws(" ", *parts)
