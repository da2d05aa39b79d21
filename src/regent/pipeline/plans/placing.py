"""Where replicas go: the heaviest first, each to the least loaded broker that may take it.

A broker may take a replica if it has none of the partition yet, has room for it, and shares its
rack with no more of the other replicas than the broker before did. Of those it is one that shares
with the fewest, so that a replica which has to move anyway repairs a bad spread.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from msgspec import Struct

from regent.pipeline.plans.draft import Draft
from regent.pipeline.plans.problem import NOBODY, Flags


class Homeless(Struct, frozen=True):
    """A replica that found no place."""

    partition: int
    slot: int


class Placed(Struct, frozen=True):
    """What came of it."""

    count: int
    homeless: tuple[Homeless, ...]
    #: Partitions with more replicas in one rack than before, because there was no other place.
    crowded: tuple[int, ...]


class Placer:
    """The brokers that may receive, by load."""

    def __init__(self, draft: Draft, receivers: Flags, ceiling: float) -> None:
        """Nobody is filled over the ceiling, unless it cannot be helped."""
        self.draft = draft
        self.ceiling = ceiling
        self.rack_of = draft.problem.rack_of.tolist()
        members = np.flatnonzero(receivers).tolist()
        self.racks = dict.fromkeys(self.rack_of[member] for member in members)
        self.room = (draft.problem.capacity - draft.used).tolist()
        self.heap = [(float(draft.load[member]), member) for member in members]
        heapify(self.heap)

    def place(self, partition: int, slot: int, *, must: bool) -> tuple[bool, bool]:
        """Whether the replica was placed, and whether it made a rack more crowded."""
        row = self.draft.replicas[partition].tolist()
        source = row[slot]
        siblings = [self.rack_of[b] for i, b in enumerate(row) if b != NOBODY and i != slot]
        shared = len(siblings) if source == NOBODY else siblings.count(self.rack_of[source])
        for ceiling, allowed in self._tries(siblings, shared, must=must):
            target = self._take(partition, row, siblings, ceiling, allowed)
            if target != NOBODY:
                self.draft.move(partition, slot, target)
                return True, source != NOBODY and allowed > shared
        return False, False

    def _tries(
        self, siblings: Sequence[int], shared: int, *, must: bool
    ) -> Iterator[tuple[float, int]]:
        """Under which conditions to look, the best first: how full, and how crowded a rack."""
        fewest = 0
        if len(self.racks) <= len(siblings):
            fewest = min((siblings.count(rack) for rack in self.racks), default=0)
        for ceiling in (self.ceiling, np.inf) if must else (self.ceiling,):
            for allowed in range(fewest, shared + 1):
                yield ceiling, allowed
        if must:
            for allowed in range(max(fewest, shared + 1), len(siblings) + 1):
                yield np.inf, allowed

    def _take(
        self,
        partition: int,
        row: Sequence[int],
        siblings: Sequence[int],
        ceiling: float,
        allowed: int,
    ) -> int:
        """The least loaded broker that may take it, its load raised by it."""
        weight = float(self.draft.problem.weight[partition])
        size = float(self.draft.size[partition])
        skipped = []
        found = NOBODY
        while self.heap:
            entry = heappop(self.heap)
            load, broker = entry
            if load + weight > ceiling:
                skipped.append(entry)
                break
            if (
                broker not in row
                and siblings.count(self.rack_of[broker]) <= allowed
                and size <= self.room[broker]
            ):
                found = broker
                self.room[broker] -= size
                heappush(self.heap, (load + weight, broker))
                break
            skipped.append(entry)
        for entry in skipped:
            heappush(self.heap, entry)
        return found


def place_all(
    draft: Draft,
    replicas: Iterable[tuple[int, int]],
    receivers: Flags,
    *,
    ceiling: float,
    must: bool = False,
) -> Placed:
    """Place these replicas (partition and slot), in their order.

    With `must` the ceiling and then the racks give way before a replica stays where it is.
    """
    placer = Placer(draft, receivers, ceiling)
    count = 0
    homeless, crowded = [], []
    for partition, slot in replicas:
        is_placed, is_crowded = placer.place(partition, slot, must=must)
        count += is_placed
        if is_crowded:
            crowded.append(partition)
        if not is_placed:
            homeless.append(Homeless(partition, slot))
    return Placed(count, tuple(homeless), tuple(crowded))
