"""Measured loads, from files that others write (Q1)."""

import gzip
import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.sources.loads import loads_quarantine, per_partition, read_loads

pytestmark = pytest.mark.requirement("Q1")

PAGE = (Path(__file__).parents[2] / "docs" / "loads.md").read_text(encoding="utf-8")


def rows_of(table: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in table.collect()), key=str)


def types_of(table: DataFrame) -> object:
    return schemas.table(*((field.name, field.dataType) for field in table.schema.fields))


def test_every_kind_of_file_is_read(tmp_path: Path, spark: SparkSession) -> None:
    """In any order of columns, with others beside them; Parquet in the types that it has."""
    (tmp_path / "a.csv").write_text(
        ' Partition,bytes_in_per_s,host,topic\n0,1.5,h1,t\n1, 2 ,h2,"a,b"\n', encoding="utf-8"
    )
    packed = b"topic,partition,at_ms,size_bytes\nt,2,5,7\nt,3,,8.0\n"
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "b.csv.gz").write_bytes(gzip.compress(packed))
    table = tmp_path / "table"
    spark.createDataFrame(
        [("t", 4, 9.5, 3)], "topic string, partition long, records_in_per_s double, size_bytes int"
    ).write.parquet(str(table))

    loads = read_loads(spark, str(tmp_path / "a.csv"), str(tmp_path / "packed"), str(table))

    assert types_of(loads) == schemas.LOADS
    assert rows_of(loads) == [
        ("a,b", 1, None, 2.0, None, None, None),
        ("t", 0, None, 1.5, None, None, None),
        ("t", 2, 5, None, None, None, 7),
        ("t", 3, None, None, None, None, 8),
        ("t", 4, None, None, None, 9.5, 3),
    ]


def test_rows_that_cannot_be_are_quarantined_with_the_reason(
    tmp_path: Path, spark: SparkSession
) -> None:
    path = tmp_path / "loads.csv"
    bad = {
        "t,0,-1,": "bytes_in_per_s is -1, which cannot be",
        "t,1,many,5": "bytes_in_per_s is many, which is no such number",
        "t,2,NaN,5": "bytes_in_per_s is NaN, which is no such number",
        "t,3,Infinity,5": "bytes_in_per_s is Infinity, which is no such number",
        "t,4,,-3": "size_bytes is -3, which cannot be",
        "t,-5,1,1": "partition is -5, which cannot be",
        "t,6.5,1,1": "partition is 6.5, which is no such number",
        "t,,1,1": "no partition",
        ",8,1,1": "no topic",
        "t,9,,": "nothing was measured",
        "t,10,1": "not as many values as there are columns",
        "t,11,1,1,1": "not as many values as there are columns",
    }
    good = ["t,20,1,", "t,21,,2", "t,22,0,0"]
    lines = ["topic,partition,bytes_in_per_s,size_bytes", *bad, *good]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    quarantine = loads_quarantine(spark, str(path))
    loads = read_loads(spark, str(path))

    assert types_of(quarantine) == schemas.QUARANTINE
    found = quarantine.collect()
    assert {row.text: row.reason for row in found} == bad
    assert {row.file for row in found} == {str(path)}
    assert sorted(row.partition for row in loads.collect()) == [20, 21, 22]


def test_a_column_that_is_missing_is_named(tmp_path: Path, spark: SparkSession) -> None:
    """With the file, and the columns that are there."""
    path = tmp_path / "loads.csv"
    complaints = {
        "topic,bytes_in_per_s\nt,1\n": "has no column 'partition'; it has topic, bytes_in_per_s",
        "topic,partition,records_in_per_s\nt,0,1\n": "has none of the columns bytes_in_per_s, "
        "bytes_out_per_s, size_bytes; it has topic, partition, records_in_per_s",
        "\n": "has no column 'topic'; it has no columns at all",
    }
    for content, complaint in complaints.items():
        path.write_text(content, encoding="utf-8")
        with pytest.raises(BadInput, match=re.escape(f"{path} {complaint}")):
            read_loads(spark, str(path))

    for nothing in (tmp_path / "nowhere", tmp_path / "nowhere.csv"):
        with pytest.raises(BadInput, match="cannot read loads from"):
            read_loads(spark, str(nothing))
    with pytest.raises(BadInput, match="no loads to read"):
        read_loads(spark)


def test_of_rates_the_mean_counts_and_of_sizes_the_last(spark: SparkSession) -> None:
    rows = [
        ("t", 0, 30, 1.0, None, None, 300),
        ("t", 0, 10, 2.0, 4.0, None, 999),
        ("t", 0, 40, None, None, None, None),
        ("t", 1, None, 5.0, None, 7.0, 11),
        ("u", 0, 20, None, None, None, None),
    ]

    carried = per_partition(spark.createDataFrame(rows, schemas.LOADS))

    assert types_of(carried) == schemas.PARTITION_LOADS
    assert rows_of(carried) == [
        ("t", 0, 1.5, 4.0, None, 300),
        ("t", 1, 5.0, None, 7.0, 11),
        ("u", 0, None, None, None, None),
    ]


def test_the_page_names_every_column_and_its_example_is_read(
    tmp_path: Path, spark: SparkSession
) -> None:
    example = re.search(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (tmp_path / "example.csv").write_text(example[1], encoding="utf-8")

    assert read_loads(spark, str(tmp_path / "example.csv")).count() == 3
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(schemas.LOADS.names)
