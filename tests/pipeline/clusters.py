"""Small clusters as the solver of plans sees them, with no Spark in sight."""

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from regent.pipeline.plans.goals import MovePlan
from regent.pipeline.plans.problem import (
    NOBODY,
    PartitionColumns,
    PlanBroker,
    Problem,
    Weighing,
    make_problem,
)
from regent.pipeline.plans.waves import held

Replicas = tuple[int, ...]


def problem_of(  # noqa: PLR0913 - a cluster has many sides, and most tests name one
    replicas: Sequence[Replicas],
    racks: Mapping[int, str | None],
    *,
    sizes: Sequence[float] | None = None,
    dead: Sequence[int] = (),
    in_sync: Sequence[Replicas] | None = None,
    by: Weighing | None = None,
    capacities: Mapping[int, float] | None = None,
) -> Problem:
    """One topic `t`; balanced by bytes if there are sizes, else by count."""
    width = max(map(len, replicas))
    count = len(replicas)
    nothing = np.full(count, np.nan)
    isrs = replicas if in_sync is None else in_sync
    columns = PartitionColumns(
        ("t",),
        np.zeros(count, dtype=np.int32),
        np.arange(count, dtype=np.int32),
        np.array(
            [[*row, *[NOBODY] * (width - len(row))] for row in replicas], dtype=np.int32
        ).reshape(count, width),
        np.array(
            [
                [i < len(row) and row[i] in isr for i in range(width)]
                for row, isr in zip(replicas, isrs, strict=True)
            ],
            dtype=np.bool_,
        ).reshape(count, width),
        nothing if sizes is None else np.array(sizes, dtype=np.float64),
        nothing if by is not Weighing.RATE or sizes is None else np.array(sizes, np.float64),
        nothing,
    )
    brokers = [PlanBroker(b, rack, b not in dead) for b, rack in racks.items()]
    chosen = by or (Weighing.COUNT if sizes is None else Weighing.BYTES)
    return make_problem(columns, brokers, by=chosen, capacities=capacities)


def replicas_after(plan: MovePlan) -> list[Replicas]:
    """Where the plan puts every partition's replicas, by broker ids."""
    ids = [broker.broker_id for broker in plan.problem.brokers]
    return [tuple(ids[b] for b in held(row)) for row in plan.replicas.tolist()]


def replicas_before(plan: MovePlan) -> list[Replicas]:
    ids = [broker.broker_id for broker in plan.problem.brokers]
    return [tuple(ids[b] for b in held(row)) for row in plan.problem.replicas.tolist()]


def crowding(replicas: Sequence[int], racks: Mapping[int, str | None]) -> int:
    """In how many pairs two replicas share a rack."""
    known = [racks[b] for b in replicas if racks[b] is not None]
    return sum(known[:i].count(rack) for i, rack in enumerate(known))


class SmallCluster:
    """What a random cluster is made of, and how it prints."""

    def __init__(
        self,
        racks: dict[int, str | None],
        replicas: list[Replicas],
        sizes: list[float] | None,
        dead: tuple[int, ...],
    ) -> None:
        self.racks = racks
        self.replicas = replicas
        self.sizes = sizes
        self.dead = dead
        self.problem = problem_of(replicas, racks, sizes=sizes, dead=dead)

    def __repr__(self) -> str:
        return f"SmallCluster({self.racks}, {self.replicas}, {self.sizes}, {self.dead})"


@st.composite
def clusters(draw: st.DrawFn, *, with_dead: bool = False) -> SmallCluster:
    """Three to eight brokers in up to four racks or none, any replicas, any sizes or none."""
    ids = [10 * i for i in range(1, draw(st.integers(3, 8)) + 1)]
    names = draw(st.sampled_from([(None,), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", None)]))
    racks: dict[int, str | None] = {b: draw(st.sampled_from(names)) for b in ids}
    rows = st.lists(st.sampled_from(ids), min_size=1, max_size=min(4, len(ids)), unique=True)
    replicas = [tuple(row) for row in draw(st.lists(rows, min_size=1, max_size=30))]
    size = st.integers(1, 1000).map(float)
    sizes = draw(st.none() | st.lists(size, min_size=len(replicas), max_size=len(replicas)))
    dead: tuple[int, ...] = ()
    if with_dead:
        dead = tuple(draw(st.lists(st.sampled_from(ids), max_size=2, unique=True)))
    return SmallCluster(racks, replicas, sizes, dead)
