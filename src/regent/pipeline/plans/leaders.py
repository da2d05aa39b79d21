"""Who leads what: balanced by the order of replicas alone, so that no data moves.

The first replica is the preferred leader. A partition is handed on to another of its live replicas
in sync when that replica's broker leads less, even after taking it. When no single hand-over helps
any more, chains are tried: a broker that shares nothing with those that lead too little reaches
them through others, who take one and give one.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import numpy as np

from regent.pipeline.plans.bounds import Band
from regent.pipeline.plans.problem import NOBODY, Flags, Ints, Problem, lead_of

ROUNDS_MAX: Final = 50


def balance_leaders(problem: Problem, band: Band, members: Flags) -> Ints:
    """The replicas in an order that gives each member its share of leaders; members are alive."""
    draft = _Leading(problem, members)
    for _ in range(ROUNDS_MAX):
        if band.holds(draft.load[members]).all():
            break
        if not (_hand_on(draft, band) or _hand_on_in_chains(draft, band)):
            break
    return draft.replicas


class _Leading:
    """Who leads while the order is changed."""

    def __init__(self, problem: Problem, members: Flags) -> None:
        self.members = members
        self.weight = problem.leader_weight
        self.replicas = problem.replicas.copy()
        self.load = lead_of(problem, self.replicas)
        self.can_lead: Flags = (
            (self.replicas != NOBODY) & problem.columns.in_sync & members[self.replicas]
        )

    def led_by(self, broker: int) -> list[int]:
        """The partitions that it leads and another could lead, the heaviest first."""
        is_shared = self.can_lead[:, 1:].any(axis=1)
        led = np.flatnonzero((self.replicas[:, 0] == broker) & is_shared)
        ordered: list[int] = led[np.argsort(-self.weight[led], kind="stable")].tolist()
        return ordered

    def hand_on(self, partition: int) -> bool:
        """Let the replica lead whose broker leads least, if that evens things out."""
        row = self.replicas[partition]
        slots = 1 + np.flatnonzero(self.can_lead[partition, 1:])
        slot = int(slots[self.load[row[slots]].argmin()])
        if self.load[row[0]] - self.load[row[slot]] <= self.weight[partition]:
            return False
        self.put_first(partition, slot)
        return True

    def put_first(self, partition: int, slot: int) -> None:
        """Let the replica in the slot lead."""
        row = self.replicas[partition]
        self.load[row[0]] -= self.weight[partition]
        self.load[row[slot]] += self.weight[partition]
        for each in (row, self.can_lead[partition]):
            each[[0, slot]] = each[[slot, 0]]

    def hand_overs(self, source: int, wanted: float) -> dict[int, tuple[int, int]]:
        """To whom a broker can hand something on: of what they share, what is nearest in weight."""
        led = np.array(self.led_by(source), dtype=np.intp)
        nearest = led[np.argsort(abs(self.weight[led] - wanted), kind="stable")]
        found: dict[int, tuple[int, int]] = {}
        for slot in range(1, self.replicas.shape[1]):
            able = nearest[self.can_lead[nearest, slot]]
            targets, first = np.unique(self.replicas[able, slot], return_index=True)
            for target, at in zip(targets.tolist(), first.tolist(), strict=True):
                found.setdefault(target, (int(able[at]), slot))
        return found


def _hand_on(draft: _Leading, band: Band) -> bool:
    """One round, from those that lead most down; whether anything was handed on."""
    # As long as somebody is under the band, those over the mean give too.
    is_short = bool((draft.load[draft.members] < band.low).any())
    enough = band.mean if is_short else band.high
    handed_on = False
    for broker in np.argsort(-draft.load, kind="stable").tolist():
        if not draft.members[broker] or draft.load[broker] <= enough:
            continue
        for partition in draft.led_by(broker):
            if draft.load[broker] <= enough:
                break
            handed_on |= draft.hand_on(partition)
    return handed_on


# --- chains -----------------------------------------------------------------------------------


def _hand_on_in_chains(draft: _Leading, band: Band) -> bool:
    """From each that leads most to whoever leads less and can be reached; whether one helped."""
    is_short = bool((draft.load[draft.members] < band.low).any())
    enough = band.mean if is_short else band.high
    helped = False
    for broker in np.argsort(-draft.load, kind="stable").tolist():
        if draft.members[broker] and draft.load[broker] > enough:
            helped |= _try_chain(draft, broker, band.mean)
    return helped


def _try_chain(draft: _Leading, source: int, mean: float) -> bool:
    """Along the shortest chain to a broker under the mean, if that evens things out."""
    wanted = float(draft.load[source]) - mean
    came_by: dict[int, tuple[int, int, int]] = {}
    waiting = deque([source])
    while waiting:
        giver = waiting.popleft()
        for taker, (partition, slot) in draft.hand_overs(giver, wanted).items():
            if taker == source or taker in came_by:
                continue
            came_by[taker] = (giver, partition, slot)
            waiting.append(taker)
            if draft.load[taker] < mean:
                return _follow(draft, _path(came_by, source, taker))
    return False


def _path(
    came_by: dict[int, tuple[int, int, int]], source: int, target: int
) -> list[tuple[int, int]]:
    """The hand-overs that lead to the target."""
    path = []
    while target != source:
        target, partition, slot = came_by[target]
        path.append((partition, slot))
    return path


def _follow(draft: _Leading, path: Sequence[tuple[int, int]]) -> bool:
    """Take all hand-overs of a chain, and take them back if things are no more even."""
    before = float((draft.load**2).sum())
    for partition, slot in path:
        draft.put_first(partition, slot)
    if float((draft.load**2).sum()) < before * (1 - 1e-12):
        return True
    for partition, slot in path:
        draft.put_first(partition, slot)
    return False
