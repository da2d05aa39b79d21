"""A token bucket, as KIP-599 counts partitions that are made and deleted.

It fills at a steady rate up to a burst, and what is taken out may leave it below zero: then nobody
takes anything before it is back at zero. The rate is told at every look and never kept, so that a
changed quota holds for the next request (KAFKA-10458). Time comes in from outside.
"""

from typing import Final

from msgspec import Struct

#: The longest wait that an answer can tell of.
THROTTLE_MS_MAX: Final = 2**31 - 1


class QuotaRate(Struct, frozen=True):
    """What a quota allows: partitions a second, and how many of them at once."""

    per_second: float
    burst: float

    def wait_ms(self, level: float) -> int:
        """How long a bucket at this level takes to come back to zero, rounded as Kafka does."""
        if level >= 0:
            return 0
        return int(min(THROTTLE_MS_MAX, -level / self.per_second * 1000 + 0.5))


class TokenBucket:
    """One bucket; full at first."""

    def __init__(self) -> None:
        self._tokens: float | None = None
        self._filled_at_ms = 0

    def level(self, rate: QuotaRate, now_ms: int) -> float:
        """What is in it by now."""
        if self._tokens is None:
            self._tokens = rate.burst
        else:
            # A clock that was set back takes nothing away.
            passed_s = max(0, now_ms - self._filled_at_ms) / 1000
            self._tokens = min(rate.burst, self._tokens + rate.per_second * passed_s)
        self._filled_at_ms = now_ms
        return self._tokens

    def take(self, count: int, rate: QuotaRate, now_ms: int) -> float:
        """Take so many out, and say what is left."""
        self._tokens = self.level(rate, now_ms) - count
        return self._tokens
