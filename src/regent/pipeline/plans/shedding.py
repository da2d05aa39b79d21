"""Which replicas a broker gives away: as much as it must, in few pieces, and hardly more."""

import numpy as np

from regent.pipeline.plans.draft import Draft, Holdings
from regent.pipeline.plans.problem import Flags, Floats, Ints


def choose_to_shed(weights: Floats, excess: float) -> list[int]:
    """Positions of weights, heaviest first, that together are just over the excess.

    The heaviest that fit, then the heaviest that fit into what is left, and at last the lightest
    that covers the rest, so that all but nothing is given in vain.
    """
    sums = np.cumsum(weights)
    taken = int(np.searchsorted(sums, excess, side="right"))
    chosen = list(range(taken))
    rest = excess - (float(sums[taken - 1]) if taken else 0.0)
    at = taken
    while at < len(weights) and rest > 0:
        # The weights fall, so their negatives rise: the first that is not over the rest.
        at = max(at, int(np.searchsorted(-weights, -rest, side="left")))
        if at >= len(weights) or weights[at] <= 0:
            break
        chosen.append(at)
        rest -= float(weights[at])
        at += 1
    if rest > 1e-9 * excess:
        cover = _lightest_over(weights, rest, frozenset(chosen))
        if cover is not None:
            chosen.append(cover)
            return _without_spare(weights, chosen, float(weights[cover]) - rest)
    return chosen


def _lightest_over(weights: Floats, rest: float, chosen: frozenset[int]) -> int | None:
    at = int(np.searchsorted(-weights, -rest, side="right")) - 1
    while at >= 0 and at in chosen:
        at -= 1
    return at if at >= 0 else None


def _without_spare(weights: Floats, chosen: list[int], spare: float) -> list[int]:
    """Keep what the last one made superfluous, the lightest first."""
    kept = []
    for at in sorted(chosen, reverse=True):
        if weights[at] <= spare:
            spare -= float(weights[at])
        else:
            kept.append(at)
    return kept


def level_down(load: Floats, givable: Floats, amount: float, *, floor: float) -> float:
    """The level to which brokers come down when they give this amount together."""
    low, high = floor, float(load.max(initial=floor))
    for _ in range(60):
        middle = (low + high) / 2
        if np.minimum(givable, np.maximum(load - middle, 0.0)).sum() > amount:
            low = middle
        else:
            high = middle
    return high


def shed(
    draft: Draft, holdings: Holdings, excess: Floats, receivers: Flags
) -> list[tuple[int, int]]:
    """What each broker gives of its excess: partition and slot, heaviest first."""
    partitions: list[Ints] = []
    slots: list[Ints] = []
    for broker in np.flatnonzero(excess > 0).tolist():
        held, at = holdings.on(broker)
        can = draft.can_go(held, at, receivers)
        held, at = held[can], at[can]
        chosen = choose_to_shed(draft.problem.weight[held], float(excess[broker]))
        partitions.append(held[chosen])
        slots.append(at[chosen])
    if not partitions:
        return []
    every, where = np.concatenate(partitions), np.concatenate(slots)
    order = np.argsort(-draft.problem.weight[every], kind="stable")
    return list(zip(every[order].tolist(), where[order].tolist(), strict=True))
