"""A cluster as arrays: where every replica lies, what it weighs, and who may hold what.

The solver is global and runs in one process, because a plan that is made in parts moves far more
than it must. So this is the one place where a row per partition is held outside Spark, and it is
held in plain columns: some 60 bytes for a partition.

Brokers go by their position here, not by their id.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from regent.errors import BadInput

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: Where a row of replicas is shorter than the longest one.
NOBODY: Final = -1


class Weighing(StrEnum):
    """What is balanced."""

    BYTES = "bytes"
    RATE = "rate"
    COUNT = "count"


# fmt: off
UNITS: Final = {
    Weighing.BYTES: "bytes",
    Weighing.RATE:  "bytes/s",
    Weighing.COUNT: "replicas",
}
# fmt: on


class PlanBroker(Struct, frozen=True):
    """A broker as a plan sees it."""

    broker_id: int
    rack: str | None = None
    is_live: bool = True


class PartitionColumns(Struct, frozen=True):
    """What is known of each partition, one array per column, by topic and partition.

    Loads are NaN where nobody measured them.
    """

    topics: tuple[str, ...]
    #: For each partition, the position of its topic in `topics`.
    topic_of: Ints
    partition: Ints
    #: Ids of brokers, a row per partition, with NOBODY at the end of short rows.
    replicas: Ints
    in_sync: Flags
    size_bytes: Floats
    bytes_in_per_s: Floats
    bytes_out_per_s: Floats


class Problem(Struct, frozen=True):
    """All that a plan is made from."""

    columns: PartitionColumns
    brokers: tuple[PlanBroker, ...]
    #: As in `columns`, but positions in `brokers`.
    replicas: Ints
    by: Weighing
    #: What a replica weighs, by partition; and what leading the partition weighs.
    weight: Floats
    leader_weight: Floats
    #: Bytes that a copy of each partition takes; None when nobody has measured any.
    size: Floats | None
    #: A broker without a rack is a rack of its own.
    rack_of: Ints
    is_live: Flags
    #: How many bytes each broker may hold.
    capacity: Floats
    notes: tuple[str, ...] = ()

    @property
    def broker_count(self) -> int:
        """Live or not."""
        return len(self.brokers)

    @property
    def unit(self) -> str:
        """Of weights."""
        return UNITS[self.by]

    def name(self, index: int) -> str:
        """A partition as people write it."""
        topic = self.columns.topics[self.columns.topic_of[index]]
        return f"{topic}-{self.columns.partition[index]}"

    def position(self, broker_id: int) -> int:
        """Where a broker stands."""
        for position, broker in enumerate(self.brokers):
            if broker.broker_id == broker_id:
                return position
        there = ", ".join(str(broker.broker_id) for broker in self.brokers[:20])
        raise BadInput(f"there is no broker {broker_id}; the layout has {there or 'none'}")

    def mask(self, broker_ids: Sequence[int]) -> Flags:
        """These brokers marked among all."""
        marked = np.zeros(self.broker_count, dtype=np.bool_)
        marked[[self.position(broker_id) for broker_id in broker_ids]] = True
        return marked


def make_problem(
    columns: PartitionColumns,
    brokers: Sequence[PlanBroker],
    *,
    by: Weighing = Weighing.COUNT,
    capacities: Mapping[int, float] | None = None,
) -> Problem:
    """Weigh every partition, and find each replica's broker."""
    known = {broker.broker_id: broker for broker in brokers}
    assigned = np.unique(columns.replicas[columns.replicas != NOBODY]).tolist()
    strangers = [PlanBroker(b, is_live=False) for b in assigned if b not in known]
    all_brokers = tuple(sorted([*known.values(), *strangers], key=lambda each: each.broker_id))
    ids = np.array([broker.broker_id for broker in all_brokers], dtype=np.int32)
    replicas = np.where(
        columns.replicas == NOBODY, NOBODY, np.searchsorted(ids, columns.replicas)
    ).astype(np.int32)
    weight, leader_weight, notes = _weigh(columns, by)
    has_sizes = bool(np.isfinite(columns.size_bytes).any())
    if capacities and not has_sizes:
        raise BadInput(
            "capacities are in bytes, and no partition's size is known; give loads with a column"
            " size_bytes, or leave the capacities out"
        )
    problem = Problem(
        columns,
        all_brokers,
        replicas,
        by,
        weight,
        leader_weight,
        _filled(columns.size_bytes)[0] if has_sizes else None,
        _rack_codes(all_brokers),
        np.array([broker.is_live for broker in all_brokers], dtype=np.bool_),
        np.full(len(all_brokers), np.inf),
        notes,
    )
    for broker_id, capacity in (capacities or {}).items():
        problem.capacity[problem.position(broker_id)] = capacity
    return problem


def load_of(problem: Problem, replicas: Ints, weight: Floats) -> Floats:
    """What each broker holds when replicas lie so."""
    held = replicas != NOBODY
    weights = np.broadcast_to(weight[:, None], replicas.shape)[held]
    load = np.bincount(replicas[held], weights=weights, minlength=problem.broker_count)
    return load.astype(np.float64)


def lead_of(problem: Problem, replicas: Ints) -> Floats:
    """What each broker leads when every partition is led by its first replica."""
    load = np.bincount(
        replicas[:, 0], weights=problem.leader_weight, minlength=problem.broker_count
    )
    return load.astype(np.float64)


def _weigh(columns: PartitionColumns, by: Weighing) -> tuple[Floats, Floats, tuple[str, ...]]:
    count = len(columns.partition)
    if by is Weighing.COUNT:
        return np.ones(count), np.ones(count), ()
    measured = columns.size_bytes if by is Weighing.BYTES else columns.bytes_in_per_s
    weight, missing = _filled(measured)
    if missing == count and count:
        column = "size_bytes" if by is Weighing.BYTES else "bytes_in_per_s"
        raise BadInput(
            f"no partition of the layout has a {column}; give loads with that column for its"
            " topics, or balance with --by count, which needs none"
        )
    notes: tuple[str, ...] = ()
    if missing:
        note = f"{missing:,} of {count:,} partitions have no measured load"
        notes = (f"{note} and count as the mean of the others",)
    if by is Weighing.BYTES:
        return weight, weight, notes
    # A follower takes in what is written; a leader also gives out what is read.
    return weight, weight + np.nan_to_num(columns.bytes_out_per_s), notes


def _filled(measured: Floats) -> tuple[Floats, int]:
    """Those that nobody measured as the mean of the others; and how many they are."""
    known = np.isfinite(measured)
    if known.all() or not known.any():
        return np.nan_to_num(measured), int((~known).sum())
    return np.where(known, measured, measured[known].mean()), int((~known).sum())


def _rack_codes(brokers: Sequence[PlanBroker]) -> Ints:
    codes: dict[object, int] = {}
    names = [
        ("rack", broker.rack) if broker.rack is not None else ("alone", broker.broker_id)
        for broker in brokers
    ]
    return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int32)
