"""Kafka's logs as a data source of Spark: one task per file, rows as Arrow.

This is all that runs on the executors. They need the files under the same paths.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from regent.pipeline import schemas
from regent.pipeline.sources.log_clock import zone_of
from regent.pipeline.sources.log_lines import LogLines
from regent.pipeline.sources.log_values import Fields

#: Grain: one thing that a line says, or a line that cannot be used.
LOG_LINES: Final = T.StructType(
    [
        *schemas.TRANSITIONS.fields,
        T.StructField("is_good", T.BooleanType()),
        T.StructField("lines", T.LongType()),  # physical lines that this row stands for
        T.StructField("shape", T.StringType()),  # the row of the grammar
        T.StructField("problem", T.StringType()),  # why it cannot be used
        T.StructField("text", T.StringType()),  # of a line that cannot be used
    ]
)


class LogPartition(InputPartition):
    """One file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class KafkaLogSource(DataSource):
    """`spark.read.format("kafka_controller_log")`; use `state_change_log` instead."""

    @classmethod
    def name(cls) -> str:
        """What Spark knows it by."""
        return "kafka_controller_log"

    def schema(self) -> T.StructType:
        """Always the same."""
        return LOG_LINES

    def reader(self, schema: T.StructType) -> DataSourceReader:  # noqa: ARG002 - Spark passes it
        """For the files, the cluster and the zone in the options."""
        return KafkaLogReader(
            json.loads(self.options["files"]), self.options["cluster"], self.options["zone"]
        )


class KafkaLogReader(DataSourceReader):
    """Reads files, each by itself."""

    def __init__(self, files: Sequence[str], cluster: str, zone: str) -> None:
        self._files = files
        self._cluster = cluster
        self._zone = zone

    def partitions(self) -> Sequence[InputPartition]:
        """One for each file: what a line means depends on those before it."""
        return [LogPartition(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one file."""
        assert isinstance(partition, LogPartition), "Spark gives back the partitions it was given"
        schema = to_arrow_schema(LOG_LINES)
        lines = LogLines(partition.path, self._cluster, zone_of(self._zone))
        for rows in lines.batches():
            if rows:
                yield arrow_batch(rows, schema)


def arrow_batch(rows: Sequence[Fields], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as columns; most columns are empty in most batches, and cost nothing then."""
    used = set().union(*rows)
    columns = [
        pa.array([row.get(field.name) for row in rows], field.type)
        if field.name in used
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
