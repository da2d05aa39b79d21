"""What partitions carry, from one's own metrics: CSV or Parquet with the columns of docs/loads.md.

Some columns are needed, and a file without them is refused. A row with a value that cannot be is
left out here, and told by `loads_quarantine`; an empty value only means that nobody measured it.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.sources.journal import CORRUPT, plain_path

#: Columns that a file must have, and those of which it must have one.
NEEDED: Final = ("topic", "partition")
MEASURES: Final = ("bytes_in_per_s", "bytes_out_per_s", "size_bytes")

#: What files of each kind are called inside a directory.
NAMES: Final = {"parquet": "*.parquet", "csv": "*.csv*"}


def read_loads(spark: SparkSession, *paths: str) -> DataFrame:
    """The measurements at these paths; files or directories, each of one kind.

    Grain: (topic, partition, at_ms), as far as the files keep to it.
    """
    rows = read_load_rows(spark, *paths).filter(F.col("reason").isNull())
    return rows.select(*schemas.LOADS.fieldNames())


def loads_quarantine(spark: SparkSession, *paths: str) -> DataFrame:
    """The rows at these paths that cannot be used.

    Grain: one row.
    """
    rows = read_load_rows(spark, *paths).filter(F.col("reason").isNotNull())
    return rows.select(
        F.lit(None).cast(schemas.STRING).alias("cluster"),
        "file",
        F.lit(None).cast(schemas.LONG).alias("line"),
        "reason",
        "text",
    )


def per_partition(loads: DataFrame) -> DataFrame:
    """What each partition carries: its mean rates, and its size when it was last measured.

    Grain: (topic, partition).
    """
    last = F.max(F.when(F.col("size_bytes").isNotNull(), F.struct("at_ms", "size_bytes")))
    rates = ("bytes_in_per_s", "bytes_out_per_s", "records_in_per_s")
    carried = loads.groupBy("topic", "partition").agg(
        *(F.avg(name).alias(name) for name in rates), last.alias("last")
    )
    return carried.select("topic", "partition", *rates, F.col("last.size_bytes"))


# --- rows ---------------------------------------------------------------------------------------


def read_load_rows(spark: SparkSession, *paths: str) -> DataFrame:
    """Every row at these paths, with `file`, `text`, and the `reason` why it cannot be used."""
    if not paths:
        raise BadInput("there are no loads to read; name a CSV or Parquet file")
    return reduce(DataFrame.unionByName, [_typed(*_read(spark, path)) for path in paths])


def _read(spark: SparkSession, path: str) -> tuple[DataFrame, Mapping[str, str]]:
    """The rows at a path as they stand, and which of their columns is which of ours."""
    try:
        kind, table = _open(spark, path)
    except AnalysisException as error:
        raise BadInput(
            f"cannot read loads from {path}: there is nothing, or neither CSV nor Parquet; "
            "docs/loads.md says what is expected"
        ) from error
    found = {name.strip().lower(): name for name in table.columns}
    _check_columns(found, path)
    if kind == "csv":
        # Again, and now as text: with the header known, a row of another length can be told.
        strings = [T.StructField(name, schemas.STRING) for name in (*table.columns, CORRUPT)]
        table = (
            spark.read.schema(T.StructType(strings))
            .option("header", value=True)
            .option("mode", "PERMISSIVE")
            .option("columnNameOfCorruptRecord", CORRUPT)
            .option("columnPruning", value=False)
            .option("pathGlobFilter", NAMES["csv"])
            .csv(path)
        )
    return table, found


def _open(spark: SparkSession, path: str) -> tuple[str, DataFrame]:
    if ".csv" not in path.rsplit("/", 1)[-1]:
        try:
            return "parquet", spark.read.option("pathGlobFilter", NAMES["parquet"]).parquet(path)
        except AnalysisException as error:
            if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
                raise
    header = spark.read.option("header", value=True).option("pathGlobFilter", NAMES["csv"])
    return "csv", header.csv(path)


def _check_columns(found: Iterable[str], path: str) -> None:
    there = ", ".join(found) or "no columns at all"
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise BadInput(
            f"{path} has no column {missing[0]!r}; it has {there}; name the columns as"
            " docs/loads.md says"
        )
    if not any(name in found for name in MEASURES):
        raise BadInput(
            f"{path} has none of the columns {', '.join(MEASURES)}; it has {there}; add one, as"
            " docs/loads.md says"
        )


def _typed(table: DataFrame, found: Mapping[str, str]) -> DataFrame:
    """Our columns in our types; null where there is none, and where a value is not of the type."""
    types = {field.name: field.dataType for field in schemas.LOADS.fields}
    raw = {
        name: _blank_is_null(F.col(f"`{found[name]}`").cast(schemas.STRING))
        for name in types
        if name in found
    }
    values = {name: _value(text, types[name]) for name, text in raw.items()}
    nothing = {
        name: F.lit(None).cast(types[name]).alias(name) for name in types if name not in found
    }
    given = [name for name in table.columns if name != CORRUPT]
    text = F.concat_ws(
        ",", *(F.coalesce(F.col(f"`{name}`").cast(schemas.STRING), F.lit("")) for name in given)
    )
    corrupt = F.col(CORRUPT) if CORRUPT in table.columns else F.lit(None).cast(schemas.STRING)
    return table.select(
        *(values[name].alias(name) if name in values else nothing[name] for name in types),
        plain_path(F.col("_metadata.file_path")).alias("file"),
        F.coalesce(corrupt, text).alias("text"),
        _reason(raw, values, corrupt).alias("reason"),
    )


def _blank_is_null(text: Column) -> Column:
    trimmed = F.trim(text)
    return F.when(trimmed != "", trimmed)


def _value(text: Column, of: T.DataType) -> Column:
    """A finite value; a program that knows no whole numbers may have written 1.0 for 1."""
    if of == schemas.DOUBLE:
        number = text.try_cast(of)
        return F.when(number < float("inf"), number)
    if of == schemas.LONG:
        return F.coalesce(text.try_cast(of), text.try_cast(schemas.DOUBLE).try_cast(of))
    return text.try_cast(of)


def _reason(raw: Mapping[str, Column], values: Mapping[str, Column], corrupt: Column) -> Column:
    """The first thing that is wrong with a row; null when nothing is."""
    reasons = [F.when(corrupt.isNotNull(), "not as many values as there are columns")]
    reasons += [F.when(raw[name].isNull(), f"no {name}") for name in NEEDED]
    for name, text in raw.items():
        if name == "topic":
            continue
        said = F.concat(F.lit(f"{name} is "), text)
        is_strange = text.isNotNull() & values[name].isNull()
        reasons += [
            F.when(is_strange, F.concat(said, F.lit(", which is no such number"))),
            F.when(values[name] < 0, F.concat(said, F.lit(", which cannot be"))),
        ]
    measured = [raw[name] for name in MEASURES if name in raw]
    reasons.append(F.when(F.coalesce(*measured).isNull(), "nothing was measured"))
    return F.coalesce(*reasons)
