"""How long all blast radii take: `python -m benchmarks.blast_radius --json`.

A layout of N partitions (three replicas in three racks, everybody in sync, min ISR 2) on 500
brokers in ten racks lies in a Parquet file. The table has a row for each broker, each rack and
each of the 124,750 pairs, and is written to Parquet too. In seconds of the clock:

- `session_s`: until there is a Spark session.
- `cold_s`: the first table that the session makes; nothing is compiled yet.
- `warm_s`: the second one.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession

from benchmarks.report import show
from regent.pipeline import schemas
from regent.pipeline.blast_radius import blast_radius
from regent.pipeline.session import open_session

BROKERS: Final = 500
RACKS: Final = 10
SIZES: Final = (1_000_000,)


def write_layout(folder: Path, partition_count: int, broker_count: int) -> None:
    """A layout and its brokers as Parquet, the same at each run."""
    dice = np.random.default_rng(7)
    per_rack = broker_count // RACKS
    racks = dice.random((partition_count, RACKS)).argpartition(3, axis=1)[:, :3]
    replicas = racks + RACKS * dice.integers(per_rack, size=racks.shape)
    offsets = np.arange(0, 3 * partition_count + 1, 3, dtype=np.int32)
    members = pa.ListArray.from_arrays(offsets, replicas.astype(np.int32).ravel())
    numbers = np.arange(partition_count, dtype=np.int32)
    layout = pa.table(
        {
            "cluster": pa.array(["bench"]).take(pa.array(np.zeros(partition_count, dtype=np.int8))),
            "topic": pa.array([f"topic-{i}" for i in range(partition_count // 50 + 1)]).take(
                pa.array(numbers // 50)
            ),
            "partition": numbers % 50,
            "replicas": members,
            "leader": replicas[:, 0].astype(np.int32),
            "isr": members,
            "min_isr": np.full(partition_count, 2, dtype=np.int32),
        }
    )
    # In pieces, so that every core has something to read.
    parquet.write_table(
        layout, folder / "layout.parquet", row_group_size=max(1, partition_count // 8)
    )
    brokers = pa.table(
        {
            "cluster": ["bench"] * broker_count,
            "broker_id": np.arange(broker_count, dtype=np.int32),
            "rack": [f"rack-{i % RACKS}" for i in range(broker_count)],
            "is_live": [True] * broker_count,
        }
    )
    parquet.write_table(brokers, folder / "brokers.parquet")


def make_table(spark: SparkSession, folder: Path) -> float:
    """Read, compute, write; in how many seconds."""
    start = perf_counter()
    layout = spark.read.schema(schemas.LAYOUT).parquet(str(folder / "layout.parquet"))
    brokers = spark.read.schema(schemas.BROKERS_TABLE).parquet(str(folder / "brokers.parquet"))
    table = blast_radius(layout, brokers)
    table.write.mode("overwrite").parquet(str(folder / "blast_radius"))
    return perf_counter() - start


def measure(partition_count: int, broker_count: int) -> dict[str, Any]:
    """Every figure for one size, in a session of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_layout(folder, partition_count, broker_count)
        start = perf_counter()
        spark = open_session("local[2]", name="blast radius")
        session_s = perf_counter() - start
        try:
            cold_s = make_table(spark, folder)
            warm_s = make_table(spark, folder)
            rows = spark.read.parquet(str(folder / "blast_radius")).count()
        finally:
            spark.stop()
    return {
        "partitions": partition_count,
        "brokers": broker_count,
        "rows": rows,
        "session_s": round(session_s, 3),
        "cold_s": round(cold_s, 3),
        "warm_s": round(warm_s, 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure blast radii.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--partitions",
        default=",".join(map(str, SIZES)),
        help="sizes to measure (default: %(default)s)",
    )
    parser.add_argument("--brokers", type=int, default=BROKERS, help="a multiple of ten")
    options = parser.parse_args(arguments)
    sizes = [measure(int(size), options.brokers) for size in options.partitions.split(",")]
    show({"benchmark": "blast_radius", "sizes": sizes}, as_json=options.json)


if __name__ == "__main__":
    main()
