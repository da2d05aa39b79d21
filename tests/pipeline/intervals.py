"""Builders for timelines: intervals that a test can write down without a journal."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from regent.model import facts
from regent.pipeline import schemas
from tests.pipeline.rows import record, transitions_of


def interval(
    topic: str, start_ms: int, end_ms: int | None, state: str | None, **said: Any
) -> dict[str, object]:
    """An interval of partition 0 of a topic, led by broker 1 alone unless said otherwise.

    Where it stands in the order of the journal follows from its time, unless said otherwise.
    """
    return {
        "cluster": "c",
        "topic": topic,
        "partition": 0,
        "start_epoch": 1,
        "start_sequence": start_ms,
        "start_ms": start_ms,
        "end_ms": end_ms,
        "state": state,
        "leader": 1,
        "isr": [1],
        "replicas": [1],
        "kind": "partition_moved",
        "controller_id": 1,
        **said,
    }


def timelines_of(spark: SparkSession, *rows: Mapping[str, object]) -> DataFrame:
    """These intervals as a table."""
    names = schemas.TIMELINES.fieldNames()
    return spark.createDataFrame(
        [tuple(row.get(name) for name in names) for row in rows], schemas.TIMELINES
    )


def history(
    spark: SparkSession, *, from_ms: int = 0, until_ms: int = 100, cluster: str = "c"
) -> DataFrame:
    """Records that tell nothing but from when to when a cluster was observed."""
    return transitions_of(
        spark,
        record(1, facts.EventFailed("x"), at_ms=from_ms),
        record(2, facts.EventFailed("x"), at_ms=until_ms),
        cluster=cluster,
    )


def columns_of(table: DataFrame) -> object:
    """The table's schema in the form in which `schemas` states them."""
    return schemas.table(*((field.name, field.dataType) for field in table.schema.fields))
