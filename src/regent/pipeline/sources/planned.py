"""What plans want, as a table. Their files are read elsewhere; here they are values."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import astuple
from pyspark.sql import DataFrame, SparkSession

from regent.pipeline import schemas


class PlannedReplicas(Struct, frozen=True):
    """Where a plan wants one partition to be."""

    plan: str
    topic: str
    partition: int
    wanted: tuple[int, ...]


def planned_table(spark: SparkSession, planned: Iterable[PlannedReplicas]) -> DataFrame:
    """One row for each wish. Grain: (plan, topic, partition)."""
    return spark.createDataFrame([astuple(each) for each in planned], schemas.PLANNED)
