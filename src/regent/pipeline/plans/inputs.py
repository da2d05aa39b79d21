"""From tables to the arrays of a problem.

Spark reads and joins; then one compact row for each partition comes to the driver as Arrow
columns, because the solve is global (`problem` says why). It is the one exception to the rule that
no big table is collected: a million partitions are some 60 MB.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.plans.problem import (
    NOBODY,
    Flags,
    Floats,
    Ints,
    PartitionColumns,
    PlanBroker,
    Problem,
    Weighing,
    make_problem,
)


def plan_inputs(layout: DataFrame, carried: DataFrame | None = None) -> DataFrame:
    """All that the solver needs to know of each partition.

    Grain: (topic, partition). `carried` is what `sources.loads.per_partition` gives; without it,
    and for partitions that it does not have, nothing is known of loads.
    """
    measures = ("size_bytes", "bytes_in_per_s", "bytes_out_per_s")
    if carried is None:
        known = layout.withColumns({name: F.lit(None) for name in measures})
    else:
        loads = carried.select("topic", "partition", *measures)
        known = layout.join(loads, on=["topic", "partition"], how="left")
    in_sync = F.transform("replicas", lambda broker: F.array_contains("isr", broker))
    return known.select(
        "topic",
        "partition",
        "replicas",
        in_sync.alias("in_sync"),
        *(F.col(name).cast(schemas.DOUBLE).alias(name) for name in measures),
    )


def collect_problem(
    inputs: DataFrame,
    brokers: DataFrame,
    *,
    by: Weighing = Weighing.COUNT,
    capacities: Mapping[int, float] | None = None,
) -> Problem:
    """Fetch the partitions and brokers of a layout, and weigh them."""
    found = [PlanBroker(row["broker_id"], row["rack"], row["is_live"]) for row in brokers.collect()]
    table = inputs.select(*schemas.PLAN_INPUTS.fieldNames()).toArrow()
    if not table.num_rows:
        raise BadInput("the layout has no partitions; there is nothing to plan")
    return make_problem(to_columns(table), found, by=by, capacities=capacities)


def to_columns(table: pa.Table) -> PartitionColumns:
    """Arrow's columns as arrays, by topic and partition."""
    table = table.sort_by([("topic", "ascending"), ("partition", "ascending")]).combine_chunks()
    names = pc.unique(table["topic"])
    codes = pc.index_in(table["topic"], names)
    return PartitionColumns(
        tuple(names.to_pylist()),
        codes.to_numpy().astype(np.int32),
        table["partition"].to_numpy().astype(np.int32),
        _to_ints(table["replicas"]),
        _to_flags(table["in_sync"]),
        _to_floats(table["size_bytes"]),
        _to_floats(table["bytes_in_per_s"]),
        _to_floats(table["bytes_out_per_s"]),
    )


def _to_ints(column: pa.ChunkedArray) -> Ints:
    lists = column.combine_chunks()
    at, shape = _cells(lists)
    rows = np.full(shape, NOBODY, dtype=np.int32)
    rows[at] = lists.flatten().to_numpy()
    return rows


def _to_flags(column: pa.ChunkedArray) -> Flags:
    lists = column.combine_chunks()
    at, shape = _cells(lists)
    rows = np.zeros(shape, dtype=np.bool_)
    rows[at] = lists.flatten().to_numpy(zero_copy_only=False)
    return rows


def _cells(lists: pa.ListArray) -> tuple[Flags, tuple[int, int]]:
    """Which cells of a matrix lists of different length fill, row by row."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    width = int(lengths.max(initial=1))
    filled: Flags = np.arange(width)[None, :] < lengths[:, None]
    return filled, (len(lengths), width)


def _to_floats(column: pa.ChunkedArray) -> Floats:
    """Null is NaN."""
    floats: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return floats
