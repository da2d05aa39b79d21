"""Controller mutation quotas (KIP-599): how many partitions callers may make and delete.

A request gets one quota object and charges each of its topics to it. Callers that know the refusal
are held *strictly*: asked before anything is charged, and refused without being charged. All
others are held *permissively*: always charged and never refused. Both may be told to wait.
"""

from typing import Final, Protocol

from msgspec import Struct

from regent.core.quota_entities import QuotaHolder, quota_of
from regent.core.token_bucket import QuotaRate, TokenBucket
from regent.model.mutation_caller import MutationCaller

#: From so many buckets on, it is looked whether some can go.
BUCKETS_MAX: Final = 1_000


class MutationQuota(Protocol):
    """What one request may still do."""

    @property
    def throttle_ms(self) -> int:
        """How long the caller shall wait before it asks again."""

    def charge(self, partition_count: int) -> str | None:
        """Make or delete so many partitions; why not, if the caller has done too much already."""


class UnlimitedQuota:
    """For callers that no quota is set for."""

    throttle_ms = 0

    def charge(self, partition_count: int) -> None:
        """Always granted."""


#: It knows nothing, so one is enough.
UNLIMITED: Final = UnlimitedQuota()


class StrictQuota:
    """Refuses as long as the bucket is below zero. What is granted may bring it there."""

    def __init__(self, bucket: TokenBucket, rate: QuotaRate, now_ms: int) -> None:
        self._bucket = bucket
        self._rate = rate
        self._now_ms = now_ms
        self.throttle_ms = 0

    def charge(self, partition_count: int) -> str | None:
        """Look first: what is refused costs nothing."""
        level = self._bucket.level(self._rate, self._now_ms)
        # Whoever has waited as long as it was told is not sent away for a rounding.
        wait_ms = self._rate.wait_ms(level)
        if wait_ms == 0:
            self._bucket.take(partition_count, self._rate, self._now_ms)
            return None
        self.throttle_ms = wait_ms
        return (
            f"its quota of {self._rate.per_second:g} partitions made or deleted a second"
            " (controller_mutation_rate) is used up"
        )


class PermissiveQuota:
    """Grants everything, and has the caller wait for it afterwards."""

    def __init__(self, bucket: TokenBucket, rate: QuotaRate, now_ms: int) -> None:
        self._bucket = bucket
        self._rate = rate
        self._now_ms = now_ms
        self.throttle_ms = 0

    def charge(self, partition_count: int) -> None:
        """However much is left."""
        level = self._bucket.take(partition_count, self._rate, self._now_ms)
        self.throttle_ms = self._rate.wait_ms(level)


class QuotaReading(Struct, frozen=True):
    """What one bucket is like at a moment, for those who want to look."""

    holder: QuotaHolder
    rate: QuotaRate
    level: float


class _Used(Struct):
    bucket: TokenBucket
    #: Who used it last: which quota holds for it is found anew whenever it is looked at.
    caller: MutationCaller


class MutationQuotas:
    """The quotas that are set, by entity, and the buckets of those who have used any."""

    def __init__(self, window_s: int) -> None:
        """So many seconds' worth of a quota can be used at once."""
        self._window_s = window_s
        self._rates: dict[str, QuotaRate] = {}
        self._used: dict[QuotaHolder, _Used] = {}
        self._sweep_at = BUCKETS_MAX

    def set_rate(self, entity: str, per_second: float | None) -> None:
        """From the next request on; None takes a quota away. Buckets keep what is in them."""
        if per_second is None:
            self._rates.pop(entity, None)
        else:
            self._rates[entity] = QuotaRate(per_second, per_second * self._window_s)

    def quota_for(self, caller: MutationCaller, now_ms: int) -> MutationQuota:
        """What a request of this caller may do now."""
        found = quota_of(caller, self._rates)
        if found is None:
            return UNLIMITED
        used = self._used.get(found.holder)
        if used is None:
            self._sweep(now_ms)
            used = self._used[found.holder] = _Used(TokenBucket(), caller)
        used.caller = caller
        kind = StrictQuota if caller.knows_refusals else PermissiveQuota
        return kind(used.bucket, self._rates[found.entity], now_ms)

    def readings(self, now_ms: int) -> list[QuotaReading]:
        """All buckets for which a quota is set, in the order of their first use."""
        readings = []
        for holder, used in self._used.items():
            found = quota_of(used.caller, self._rates)
            if found is not None and found.holder == holder:
                rate = self._rates[found.entity]
                readings.append(QuotaReading(holder, rate, used.bucket.level(rate, now_ms)))
        return readings

    def _sweep(self, now_ms: int) -> None:
        """Keep only what is worth it, when there is much: client ids cost their inventors nothing.

        A bucket that is full is like a new one.
        """
        if len(self._used) < self._sweep_at:
            return
        readings = self.readings(now_ms)
        kept = [each.holder for each in readings if each.level < each.rate.burst]
        self._used = {holder: self._used[holder] for holder in kept}
        self._sweep_at = max(BUCKETS_MAX, 2 * len(kept))
