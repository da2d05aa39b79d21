"""The one clock of a simulated world, and what is to happen when.

Time stands still while something happens and then jumps to the next thing. Two things at the same
instant happen in the order in which they were planned, so a seed decides everything.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

US_PER_MS: Final = 1_000


class Schedule:
    """A heap of what is to come, in microseconds."""

    def __init__(self) -> None:
        self.now_us = 0
        #: How many things have happened; the measure of a run's length.
        self.event_count = 0
        self._coming: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0

    @property
    def now_ms(self) -> int:
        """The time in whole milliseconds."""
        return self.now_us // US_PER_MS

    def after_us(self, delay_us: int, action: Callable[[], None]) -> None:
        """Plan something `delay_us` from now."""
        self._planned += 1
        heappush(self._coming, (self.now_us + delay_us, self._planned, action))

    def after_ms(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Plan something `delay_ms` from now."""
        self.after_us(delay_ms * US_PER_MS, action)

    def run_until(self, end_ms: int) -> None:
        """Let happen what is to happen up to that time."""
        end_us = end_ms * US_PER_MS
        coming = self._coming
        while coming and coming[0][0] <= end_us:
            self.now_us, _, action = heappop(coming)
            self.event_count += 1
            action()
        self.now_us = end_us
