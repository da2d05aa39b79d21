"""How long something took, when two clocks may have measured it."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def elapsed_ms(start_ms: Column, end_ms: Column) -> Column:
    """From one time to another; null when either is not known.

    Clocks of two nodes differ, so an end can seem to be before its start: then it took no time.
    """
    is_known = start_ms.isNotNull() & end_ms.isNotNull()
    return F.when(is_known, F.greatest(end_ms - start_ms, F.lit(0)))
