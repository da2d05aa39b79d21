"""Several small clusters in one table: to ask Spark costs more than a case does."""

from collections.abc import Sequence

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from regent.journal.record import Record
from regent.pipeline import schemas
from tests.pipeline.rows import transitions_of


def histories(spark: SparkSession, **clusters: Sequence[Record]) -> DataFrame:
    """Transitions of clusters by name; the cause of each record is its cluster's name."""
    records = [
        msgspec.structs.replace(each, cause=name)
        for name, written in clusters.items()
        for each in written
    ]
    return transitions_of(spark, *records).withColumn("cluster", F.col("cause"))


def schema_of(table: DataFrame) -> object:
    """The columns of a table as schemas state them: all of them may be null."""
    return schemas.table(*((field.name, field.dataType) for field in table.schema.fields))
