"""What would be lost with a broker, a rack, or two brokers at once.

A partition goes *offline* with its last live member of the ISR, and comes to be *under min ISR*
when it still has a leader and fewer members than `min.insync.replicas`. Only what the failure
itself brings about is counted: a partition that is offline or under min ISR already is not.

There are as many pairs as brokers squared, but few of them share a partition. Losing two brokers
costs what losing each of them costs, but for the partitions that both are in sync with; so only
those pairs are looked at, for the difference, and the rest is a sum.

All of a cluster is counted at once, with numpy: a million partitions are arrays of some megabytes,
and in rows each of them would be told out to its brokers, its racks and its pairs.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from pyarrow import compute
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.pipeline.schemas import BLAST_RADIUS, BROKERS, INT

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

FIGURES: Final = ("offline", "under_min_isr")


def blast_radius(layout: DataFrame, brokers: DataFrame) -> DataFrame:
    """How many partitions each broker, rack and pair of brokers would take along.

    Grain: (cluster, scope, a, b). Every broker, every rack and every pair is there, also with
    nothing to lose; `a` is the smaller id of a pair.
    """
    in_sync = layout.filter(F.col("isr").isNotNull()).select("cluster", "isr", _min_isr())
    # Both can come from one snapshot, and Spark must know their columns apart.
    cluster = F.col("cluster").alias("cluster")
    hosts = brokers.select(cluster, "broker_id", "rack", "is_live").groupBy("cluster")
    return in_sync.groupBy("cluster").cogroup(hosts).applyInArrow(_of_cluster, BLAST_RADIUS)


def blast_topics(layout: DataFrame, brokers: DataFrame, lost: Sequence[int]) -> DataFrame:
    """What each topic would lose with all of these brokers at once.

    Grain: (cluster, topic). Topics that would lose nothing are not there.
    """
    gone = F.size(F.array_intersect("members", F.array(*map(F.lit, lost)).cast(BROKERS)))
    losses = _losses(gone, F.col("in_sync"), F.col("min_isr"))
    hit = in_sync_and_alive(layout, brokers).select(
        "cluster",
        "topic",
        *(loss.cast(INT).alias(name) for name, loss in zip(FIGURES, losses, strict=True)),
    )
    return (
        hit.groupBy("cluster", "topic")
        .agg(F.count("*").alias("partitions"), *(F.sum(name).alias(name) for name in FIGURES))
        .filter((F.col("offline") > 0) | (F.col("under_min_isr") > 0))
        .select("cluster", "topic", "partitions", *FIGURES)
    )


def in_sync_and_alive(layout: DataFrame, brokers: DataFrame) -> DataFrame:
    """The live members of each partition's ISR, and how many they are.

    Grain: (cluster, topic, partition), without the partitions that have no such member: they are
    offline.
    """
    per_cluster = brokers.filter(~F.col("is_live")).groupBy("cluster")
    dead = per_cluster.agg(F.collect_set("broker_id").alias("dead"))
    nobody = F.array().cast(BROKERS)
    members = F.array_except("isr", F.coalesce(F.col("dead"), nobody))
    return (
        layout.join(F.broadcast(dead), on="cluster", how="left")
        .select(
            "cluster",
            "topic",
            "partition",
            _min_isr(),
            members.alias("members"),
            F.size(members).alias("in_sync"),
        )
        .filter(F.col("in_sync") > 0)
    )


def _min_isr() -> Any:
    return F.coalesce("min_isr", F.lit(1)).alias("min_isr")


def _losses(gone: Any, in_sync: Any, min_isr: Any) -> tuple[Any, Any]:
    """Whether a partition goes offline, or under min ISR, without so many of its members.

    Of columns or of arrays: the rule is the same.
    """
    left = in_sync - gone
    offline = (gone > 0) & (left <= 0)
    under = (gone > 0) & (in_sync >= min_isr) & (left > 0) & (left < min_isr)
    return offline, under


# --- one cluster, as arrays -------------------------------------------------------------------


class Memberships(Struct, frozen=True):
    """Who is in sync with what: an item for each member of a partition, sorted by both."""

    partition: Numbers
    #: Where the member stands among all brokers.
    broker: Numbers
    #: By partition: how many members it has, and how many it should have.
    in_sync: Numbers
    min_isr: Numbers

    def lost(self, items: Any, gone: Numbers | int) -> list[Numbers]:
        """What the partitions of these items lose without so many members."""
        partition = self.partition[items]
        both = _losses(np.asarray(gone), self.in_sync[partition], self.min_isr[partition])
        return [loss.astype(np.int64) for loss in both]


def _of_cluster(layout: pa.Table, brokers: pa.Table) -> pa.Table:
    """All rows of one cluster."""
    known = brokers["broker_id"].to_numpy()
    is_live = brokers["is_live"].to_numpy(zero_copy_only=False)
    isr = layout["isr"].combine_chunks()
    ids = np.union1d(known, compute.unique(isr.flatten()).to_numpy())
    members = _members(isr, layout["min_isr"].to_numpy(), ids, dead=known[~is_live.astype(bool)])
    alone = _of_brokers(members, len(ids))
    names = [str(broker_id) for broker_id in ids]
    first, second = np.triu_indices(len(ids), k=1)
    of_pairs = [
        both[first * len(ids) + second] + one[first] + one[second]
        for both, one in zip(_of_pairs(members, len(ids)), alone, strict=True)
    ]
    racks, rack_of = _racks(brokers, ids)
    cluster = (layout if len(layout) else brokers)["cluster"][0].as_py()
    a = pa.array(names).take(pa.array(first))
    b = pa.array(names).take(pa.array(second))
    return pa.concat_tables(
        [
            _rows(cluster, "broker", names, None, alone),
            _rows(cluster, "pair", a, b, of_pairs),
            _rows(cluster, "rack", racks, None, _of_racks(members, rack_of, len(racks))),
        ]
    )


def _members(isr: pa.ListArray, min_isr: Numbers, ids: Numbers, dead: Numbers) -> Memberships:
    broker_ids = isr.flatten().to_numpy()
    partition = compute.list_parent_indices(isr).to_numpy().astype(np.int64)
    is_alive = ~np.isin(broker_ids, dead)
    broker = np.searchsorted(ids, broker_ids[is_alive])
    # They are nearly in order already: to sort them is faster than to hash them, as `unique` does.
    ordered = np.sort(partition[is_alive] * len(ids) + broker)
    each_once = ordered[np.diff(ordered, prepend=-1) > 0]
    partition, broker = np.divmod(each_once, max(1, len(ids)))
    return Memberships(partition, broker, np.bincount(partition, minlength=len(isr)), min_isr)


def _of_brokers(members: Memberships, brokers: int) -> list[Numbers]:
    return _counted(members.broker, members.lost(slice(None), 1), brokers)


def _of_pairs(members: Memberships, brokers: int) -> list[Numbers]:
    """By how much losing both differs from losing one and losing the other, as flat matrices."""
    differences = [np.zeros(brokers * brokers, dtype=np.int64) for _ in FIGURES]
    for apart in range(1, members.in_sync.max(initial=0)):
        first = np.flatnonzero(members.partition[:-apart] == members.partition[apart:])
        pair = members.broker[first] * brokers + members.broker[first + apart]
        two, one = members.lost(first, 2), members.lost(first, 1)
        change = [both - 2 * single for both, single in zip(two, one, strict=True)]
        for total, part in zip(differences, _counted(pair, change, brokers**2), strict=True):
            np.add(total, part, out=total)
    return differences


def _racks(brokers: pa.Table, ids: Numbers) -> tuple[list[str], Numbers]:
    """The racks, and which of them each broker is in; -1 for none."""
    of_brokers = brokers["rack"].to_pylist()
    racks = sorted({rack for rack in of_brokers if rack is not None})
    number = {rack: index for index, rack in enumerate(racks)}
    rack_of = np.full(len(ids), -1)
    where = np.searchsorted(ids, brokers["broker_id"].to_numpy())
    rack_of[where] = [number.get(rack, -1) for rack in of_brokers]
    return racks, rack_of


def _of_racks(members: Memberships, rack_of: Numbers, racks: int) -> list[Numbers]:
    rack = rack_of[members.broker]
    has_rack = np.flatnonzero(rack >= 0)
    where = members.partition[has_rack] * racks + rack[has_rack]
    _, first, gone = np.unique(where, return_index=True, return_counts=True)
    items = has_rack[first]
    return _counted(rack[items], members.lost(items, gone), racks)


def _counted(places: Numbers, losses: Sequence[Numbers], length: int) -> list[Numbers]:
    """Sums of losses by place; they are small, so that the sums of floats are exact."""
    return [np.bincount(places, weights=loss, minlength=length).astype(np.int64) for loss in losses]


def _rows(cluster: str, scope: str, a: Any, b: Any, losses: Sequence[Numbers]) -> pa.Table:
    offline, under_min_isr = losses
    text = pa.string()
    return pa.table(
        {
            "cluster": pa.repeat(pa.scalar(cluster, text), len(offline)),
            "scope": pa.repeat(pa.scalar(scope, text), len(offline)),
            "a": pa.array(a, text) if isinstance(a, list) else a,
            "b": pa.nulls(len(offline), text) if b is None else b,
            "offline": offline,
            "under_min_isr": under_min_isr,
        }
    )
