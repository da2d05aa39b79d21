"""More or fewer replicas of every partition."""

import numpy as np

from regent.pipeline.plans.draft import Draft
from regent.pipeline.plans.placing import Placed, place_all
from regent.pipeline.plans.problem import NOBODY, Flags, Ints


def add_replicas(draft: Draft, wanted: int, receiving: Flags, ceiling: float) -> Placed:
    """Fill up the partitions with fewer replicas than wanted, where their racks are freest."""
    short = (draft.replicas[:, :wanted] == NOBODY) & (_count(draft) < wanted)[:, None]
    partitions, slots = np.nonzero(short)
    order = np.argsort(-draft.problem.weight[partitions], kind="stable")
    items = zip(partitions[order].tolist(), slots[order].tolist(), strict=True)
    return place_all(draft, items, receiving, ceiling=ceiling, must=True)


def drop_replicas(draft: Draft, wanted: int) -> None:
    """Cut down the partitions with more replicas than wanted; who is preferred stays so."""
    for partition in np.flatnonzero(_count(draft) > wanted).tolist():
        while (draft.replicas[partition] != NOBODY).sum() > wanted:
            draft.move(partition, _least_needed(draft, partition), NOBODY)
            _close_gap(draft.replicas[partition])


def _least_needed(draft: Draft, partition: int) -> int:
    """Dead before out of sync before sharing a rack before on a full broker; the first one last."""
    problem = draft.problem
    row = [b for b in draft.replicas[partition].tolist() if b != NOBODY]
    racks = [int(problem.rack_of[b]) for b in row]
    before = problem.replicas[partition].tolist()
    in_sync = problem.columns.in_sync[partition]

    def need(slot: int) -> tuple[object, ...]:
        broker = row[slot]
        return (
            bool(problem.is_live[broker]),
            bool(in_sync[before.index(broker)]),
            slot == 0,
            -racks.count(racks[slot]),
            -float(draft.load[broker]),
        )

    return min(range(len(row)), key=need)


def _close_gap(row: Ints) -> None:
    """Those that are left move up, in their order."""
    kept = row[row != NOBODY]
    row[:] = NOBODY
    row[: len(kept)] = kept


def _count(draft: Draft) -> Ints:
    counts: Ints = (draft.replicas != NOBODY).sum(axis=1).astype(np.int32)
    return counts
