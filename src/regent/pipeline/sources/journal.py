"""Regent's journals as transitions.

Spark's own JSON reader with the journal's schema does the bulk. It can tell that a line is bad but
not where it stands nor what is wrong with it, so files that have bad lines are read again by
`journal_lines`, one line after the other, and `from_careful_lines` makes the same table of that.

The cluster of a record is the name of the directory that its segment lies in, unless given.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.journal.record import FIELDS, KINDS, SCHEMA_VERSION
from regent.model.facts import LoadedPartition
from regent.model.states import PartitionState, ReplicaState
from regent.pipeline import schemas

CORRUPT: Final = "_corrupt_record"
#: What segments are called, compressed or not; what else lies in a directory is not the journal's.
SEGMENTS: Final = "*.jsonl*"

#: Fields whose words are a closed list.
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "before": tuple(PartitionState),
    "after": tuple(PartitionState),
    "replica_before": tuple(ReplicaState),
    "replica_after": tuple(ReplicaState),
}


def read_journal(spark: SparkSession, *paths: str, cluster: str | None = None) -> DataFrame:
    """Transitions of all journals at these paths; files or directories, of any number of clusters.

    Grain: one record. Lines that cannot be used are left out: see `journal_lines`.
    """
    return read_lines(spark, paths, cluster=cluster).filter("is_good").transform(transitions)


def read_lines(
    spark: SparkSession, paths: Sequence[str], *, cluster: str | None = None
) -> DataFrame:
    """Every line of these journals, parsed, with its file and cluster, and whether it `is_good`."""
    with_corrupt = T.StructType(
        [*schemas.JOURNAL_LINE.fields, T.StructField(CORRUPT, T.StringType())]
    )
    lines = (
        spark.read.schema(with_corrupt)
        .option("columnNameOfCorruptRecord", CORRUPT)
        .option("mode", "PERMISSIVE")
        # What a broken file still gives is kept; that something is missing shows in the count.
        .option("ignoreCorruptFiles", value=True)
        .option("pathGlobFilter", SEGMENTS)
        .option("recursiveFileLookup", value=True)
        .json(list(paths))
    )
    path = plain_path(F.col("_metadata.file_path"))
    return lines.select(
        *schemas.JOURNAL_LINE.fieldNames(),
        path.alias("file"),
        F.lit(None).cast(T.LongType()).alias("line"),
        (F.lit(cluster) if cluster else directory_of(path)).alias("cluster"),
        is_good().alias("is_good"),
    )


def from_careful_lines(lines: DataFrame, *, cluster: str | None = None) -> DataFrame:
    """Transitions of the good among carefully read lines.

    Grain: one record.
    """
    parsed = F.from_json("text", schemas.JOURNAL_LINE).alias("parsed")
    good = lines.filter(F.col("reason").isNull()).select(
        "file",
        "line",
        (F.lit(cluster) if cluster else directory_of(F.col("file"))).alias("cluster"),
        parsed,
    )
    return good.select("file", "line", "cluster", "parsed.*").transform(transitions)


def quarantine(lines: DataFrame, *, cluster: str | None = None) -> DataFrame:
    """The bad among carefully read lines.

    Grain: (file, line).
    """
    return lines.filter(F.col("reason").isNotNull()).select(
        (F.lit(cluster) if cluster else directory_of(F.col("file"))).alias("cluster"),
        "file",
        "line",
        "reason",
        "text",
    )


def directory_of(path: Column) -> Column:
    """The name of the directory that a file lies in."""
    return F.element_at(F.split(path, "/"), -2)


def plain_path(uri: Column) -> Column:
    """A file as people name it; Spark names it by a URI, in which a plus is a plus."""
    return F.url_decode(
        F.replace(F.regexp_replace(uri, "^file:(//)?", ""), F.lit("+"), F.lit("%2B"))
    )


def is_good() -> Column:
    """Whether a parsed line is a record of a known version and kind, with all that it must have."""
    whole = F.col(CORRUPT).isNull() & F.col("v").between(1, SCHEMA_VERSION)
    envelope = (F.col(name).isNotNull() for name in schemas.JOURNAL_LINE.fieldNames())
    ordinary = (
        F.col(f"fact.{name}").isNull() | F.col(f"fact.{name}").isin(list(words))
        for name, words in WORDS.items()
    )
    return F.coalesce(reduce(and_, [whole, *envelope, *ordinary, _is_complete()]), F.lit(False))


def _is_complete() -> Column:
    """Whether all that a fact of its kind cannot do without is there; no if nobody knows the kind.

    One look at the kind, and then only at what that one requires: every line goes through this.
    """
    return F.coalesce(
        *(
            F.when(F.col("fact.kind") == kind, _has_all_of(fact_class))
            for kind, fact_class in KINDS.items()
        ),
        F.lit(False),
    )


def _has_all_of(fact_class: type[msgspec.Struct]) -> Column:
    required = [field.name for field in msgspec.structs.fields(fact_class) if field.required]
    there = (F.col(f"fact.{name}").isNotNull() for name in required)
    return reduce(and_, there, F.lit(True))


def transitions(lines: DataFrame) -> DataFrame:
    """Good lines of journals as transitions.

    Grain: one record.
    """
    defaults = _defaults()
    columns = [
        _with_default(field.name, defaults.get(field.name, {})).alias(
            schemas.RENAMED.get(field.name, field.name)
        )
        for field in FIELDS.values()
    ]
    return lines.select(
        "cluster",
        F.lit("journal").alias("source"),
        "controller_epoch",
        F.col("seq").alias("sequence"),
        "at_ms",
        "controller_id",
        F.col("controller_id").alias("reporter_id"),
        "cause",
        F.col("fact.kind").alias("kind"),
        *columns,
        F.lit(None).cast(T.IntegerType()).alias("correlation_id"),
        "file",
        "line",
    )


def _defaults() -> dict[str, dict[object, list[str]]]:
    """What a record means by leaving a field out: field → value → the kinds where it is so."""
    defaults: dict[str, dict[object, list[str]]] = {}
    for kind, fact_class in KINDS.items():
        for field in msgspec.structs.fields(fact_class):
            if not field.required and field.default is not None:
                defaults.setdefault(field.name, {}).setdefault(field.default, []).append(kind)
    return defaults


def _with_default(name: str, defaults: Mapping[object, Iterable[str]]) -> Column:
    column = F.col(f"fact.{name}")
    if name == "partitions":
        return F.transform(column, _loaded_partition)
    kind = F.col("fact.kind")
    arms = [F.when(kind.isin(list(kinds)), _literal(value)) for value, kinds in defaults.items()]
    return F.coalesce(column, *arms) if arms else column


def _loaded_partition(loaded: Column) -> Column:
    """A partition inside a `topic_loaded`, with what its record left out."""
    defaults = {
        field.name: field.default
        for field in msgspec.structs.fields(LoadedPartition)
        if not field.required and field.default is not None
    }
    return F.struct(
        *(
            (
                F.coalesce(loaded[name], _literal(defaults[name]))
                if name in defaults
                else loaded[name]
            ).alias(name)
            for name in schemas.LOADED_PARTITION.fieldNames()
        )
    )


def _literal(value: object) -> Column:
    if value == ():
        return F.array().cast(T.ArrayType(T.IntegerType()))
    return F.lit(value)
