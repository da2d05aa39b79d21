"""How even is even, and how little any plan can move to get there.

The bound is proven, not guessed. A plan that keeps the number of replicas adds as much as it
removes. What it removes is at least all that lies on brokers to be emptied, and all that lies over
the band elsewhere; what it adds is at least all that is missing under the band. It ignores racks,
limits and that replicas cannot be cut, so the best plan may well move more; none moves less.
"""

import numpy as np
from msgspec import Struct

from regent.pipeline.plans.problem import Flags, Floats


class Band(Struct, frozen=True):
    """Between which loads every member shall end."""

    mean: float
    low: float
    high: float

    def inner(self, shrink: float) -> "Band":
        """A narrower band in this one, so that what cannot be cut still ends in the wider."""
        return Band(
            self.mean,
            self.low + shrink * (self.mean - self.low),
            self.high - shrink * (self.high - self.mean),
        )

    def holds(self, load: Floats) -> Flags:
        """Whether each of these loads is in the band, but for rounding."""
        slack = 1e-9 * max(self.mean, 1.0)
        inside: Flags = (load >= self.low - slack) & (load <= self.high + slack)
        return inside


def make_band(weight: Floats, total: float, member_count: int, tolerance: float) -> Band:
    """The mean, and so much of it on either side.

    Where all replicas weigh the same, the band reaches at least to the next whole number of them
    on either side: nobody can hold half a replica.
    """
    mean = total / member_count if member_count else 0.0
    low, high = mean * (1 - tolerance), mean * (1 + tolerance)
    each = float(weight[0]) if len(weight) else 0.0
    if each > 0 and bool((weight == each).all()):
        low = min(low, float(np.floor(mean / each + 1e-9)) * each)
        high = max(high, float(np.ceil(mean / each - 1e-9)) * each)
    return Band(mean, low, high)


def band_bound(load: Floats, band: Band, *, members: Flags, leaving: Flags) -> float:
    """What any plan that empties `leaving` and ends with all members in band must move."""
    surplus = np.maximum(load[members] - band.high, 0.0).sum()
    deficit = np.maximum(band.low - load[members], 0.0).sum()
    return float(max(load[leaving].sum() + surplus, deficit))
