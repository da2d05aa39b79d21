"""A layout while it is changed: where replicas lie, and what that makes each broker hold."""

import numpy as np
from msgspec import Struct

from regent.pipeline.plans.problem import NOBODY, Flags, Ints, Problem, load_of


class Draft:
    """Replicas by partition and slot, and the sums that follow from them."""

    def __init__(self, problem: Problem, width: int = 0) -> None:
        """With room for `width` replicas of each partition, if that is more than there are."""
        self.problem = problem
        missing = max(0, width - problem.replicas.shape[1])
        self.replicas: Ints = np.pad(
            problem.replicas, ((0, 0), (0, missing)), constant_values=NOBODY
        )
        self.load = load_of(problem, self.replicas, problem.weight)
        self.size = np.zeros(len(problem.weight)) if problem.size is None else problem.size
        self.used = load_of(problem, self.replicas, self.size)

    def move(self, partition: int, slot: int, target: int) -> None:
        """Put a replica on another broker; from nowhere, or to nowhere, too."""
        source = int(self.replicas[partition, slot])
        for broker, sign in ((source, -1), (target, 1)):
            if broker != NOBODY:
                self.load[broker] += sign * self.problem.weight[partition]
                self.used[broker] += sign * self.size[partition]
        self.replicas[partition, slot] = target

    def can_go(self, partitions: Ints, slots: Ints, receivers: Flags) -> Flags:
        """Whether each of these replicas has anywhere to go, capacity aside."""
        racks = self.problem.rack_of
        rows = self.replicas[partitions]
        theirs = np.unique(racks[receivers])
        if len(theirs) >= self.replicas.shape[1]:
            # There is a rack without a sibling, and in it nobody who has the partition already.
            return np.ones(len(partitions), dtype=np.bool_)
        is_sibling = siblings_of(rows, slots)
        row_racks = racks[rows]
        own = np.take_along_axis(row_racks, slots[:, None].astype(np.intp), axis=1)
        shared = ((row_racks == own) & is_sibling).sum(axis=1)
        can = np.zeros(len(partitions), dtype=np.bool_)
        for rack in theirs.tolist():
            there = receivers & (racks == rack)
            free = there.sum() - (there[rows] & (rows != NOBODY)).sum(axis=1)
            can |= (((row_racks == rack) & is_sibling).sum(axis=1) <= shared) & (free > 0)
        return can


def siblings_of(rows: Ints, slots: Ints) -> Flags:
    """In each row, the replicas other than the one in the slot."""
    others: Flags = rows != NOBODY
    others[np.arange(len(rows)), slots] = False
    return others


class Holdings(Struct, frozen=True):
    """Which replicas each broker has, the heaviest first."""

    partitions: Ints
    slots: Ints
    starts: Ints

    def on(self, broker: int) -> tuple[Ints, Ints]:
        """Partitions and slots of a broker's replicas."""
        which = slice(self.starts[broker], self.starts[broker + 1])
        return self.partitions[which], self.slots[which]


def list_holdings(draft: Draft, movable: Flags) -> Holdings:
    """Index the replicas of these partitions by broker."""
    chosen = np.flatnonzero(movable)
    heaviest_first = chosen[np.argsort(-draft.problem.weight[chosen], kind="stable")]
    flat = draft.replicas[heaviest_first].ravel()
    width = draft.replicas.shape[1]
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(draft.problem.broker_count + 1))
    return Holdings(
        heaviest_first[order // width].astype(np.int32),
        (order % width).astype(np.int32),
        starts.astype(np.int32),
    )
