"""Builders for the records that tests are made of: a journal small enough to read."""

import msgspec
from pyspark.sql import DataFrame, SparkSession

from regent.journal.record import SCHEMA_VERSION, Record, encode
from regent.model.facts import Fact
from regent.model.ids import BrokerId, ControllerEpoch
from regent.pipeline import schemas
from regent.pipeline.sources.journal import transitions

FILE = "journal-1-00000001.jsonl"


def brokers(*ids: int) -> tuple[BrokerId, ...]:
    """Plain numbers as broker ids."""
    return tuple(map(BrokerId, ids))


def record(  # noqa: PLR0913 - an envelope has six parts, and most tests name one
    sequence: int,
    fact: Fact,
    *,
    at_ms: int = 0,
    epoch: int = 1,
    controller: int = 1,
    cause: str = "event 1",
) -> Record:
    """A fact in its envelope."""
    return Record(
        SCHEMA_VERSION, sequence, at_ms, BrokerId(controller), ControllerEpoch(epoch), cause, fact
    )


def transitions_of(spark: SparkSession, *records: Record, cluster: str = "c") -> DataFrame:
    """What the journal source would make of these records."""
    lines = [
        {**msgspec.json.decode(encode(each)), "cluster": cluster, "file": FILE, "line": None}
        for each in records
    ]
    schema = schemas.table(
        *((field.name, field.dataType) for field in schemas.JOURNAL_LINE.fields),
        ("cluster", schemas.STRING),
        ("file", schemas.STRING),
        ("line", schemas.LONG),
    )
    # Cut off from how it was made, as a table on disk is: plans stay small and tests quick.
    return transitions(spark.createDataFrame(lines, schema)).localCheckpoint()
