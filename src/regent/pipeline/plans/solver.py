"""One global solve: empty whom we must, then bring everybody into the band.

Brokers over the band give until they are in it, and brokers under it receive. If those under need
more than that, the fullest give more, down to one level. As replicas cannot be cut, this aims at a
somewhat narrower band, and again at a narrower one, until all are in the real one. What is then
still outside is tried replica by replica.
"""

from typing import Final

import numpy as np
from msgspec import Struct

from regent.pipeline.plans.bounds import Band
from regent.pipeline.plans.draft import Draft, list_holdings
from regent.pipeline.plans.placing import Placed, place_all
from regent.pipeline.plans.polishing import polish
from regent.pipeline.plans.problem import NOBODY, Flags
from regent.pipeline.plans.shedding import level_down, shed

#: By how much the band is narrowed, attempt by attempt.
SHRINKS: Final = (0.02, 0.1, 0.3, 0.6, 0.9)


class Roles(Struct, frozen=True):
    """What each broker has to do with a plan."""

    #: Shall end in the band.
    members: Flags
    #: Must end with nothing.
    leaving: Flags
    #: May be given replicas.
    receiving: Flags
    #: May be relieved of replicas to come into the band.
    giving: Flags


def empty_brokers(draft: Draft, roles: Roles, band: Band, movable: Flags) -> Placed:
    """Move what lies on the brokers that must be emptied, of the partitions that can be moved."""
    rows = draft.replicas
    stays = ~roles.leaving[rows] | (rows == NOBODY) | ~movable[:, None]
    partitions, slots = np.nonzero(~stays)
    order = np.argsort(-draft.problem.weight[partitions], kind="stable")
    items = zip(partitions[order].tolist(), slots[order].tolist(), strict=True)
    return place_all(draft, items, roles.receiving, ceiling=band.high, must=True)


def balance(draft: Draft, roles: Roles, band: Band, movable: Flags) -> None:
    """Bring the members into the band, as far as that goes."""
    movable = movable.copy()
    for shrink in SHRINKS:
        if band.holds(draft.load[roles.members]).all():
            return
        _even_out(draft, roles, band.inner(shrink), movable)
    polish(draft, band, roles.members, giving=roles.giving, receiving=roles.receiving)


def _even_out(draft: Draft, roles: Roles, band: Band, movable: Flags) -> None:
    """From those above to those below, once."""
    load = draft.load
    surplus = np.maximum(load - band.high, 0.0)[roles.giving].sum()
    deficit = np.maximum(band.low - load, 0.0)[roles.receiving].sum()
    amount = float(max(surplus, deficit))
    if amount <= 0:
        return
    holdings = list_holdings(draft, movable)
    below = roles.receiving & (load < band.high)
    givable = np.zeros(len(load))
    for broker in np.flatnonzero(roles.giving & (load > band.low)).tolist():
        held, at = holdings.on(broker)
        givable[broker] = draft.problem.weight[held[draft.can_go(held, at, below)]].sum()
    level = level_down(load, givable, amount, floor=band.low)
    excess = np.where(roles.giving, np.minimum(givable, np.maximum(load - level, 0.0)), 0.0)
    receivers = below & (excess <= 0)
    items = shed(draft, holdings, excess, receivers)
    placed = place_all(draft, items, receivers, ceiling=band.high)
    # What found no place now finds none later: the others shall be tried.
    movable[[each.partition for each in placed.homeless]] = False
