"""How fast replicas that are being made may be copied: one quota for each side of a broker.

Topics list the replicas that are throttled, and a broker has a rate in bytes per second for what
it gives as a leader and one for what it takes as a follower (KIP-73). Only copying is throttled:
a replica that is in sync is never slowed down, and what it gets does not count.

What was used too much is waited for later, so that the rate holds in the long run, whatever the
size of a batch.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from regent.model.ids import BrokerId, TopicPartition

#: What has not been used is good for so long and no longer.
SAVED_MS: Final = 1_000
#: More than any log has.
NO_LIMIT: Final = 2**62

_REPLICA: Final = re.compile(r"\s*([0-9]+)\s*:\s*([0-9]+)\s*\Z")


class ThrottledReplicas(Struct, frozen=True):
    """Those of one topic, as its config has them."""

    is_every: bool = False
    #: Partition and broker.
    listed: frozenset[tuple[int, int]] = frozenset()

    def has(self, partition: int, broker_id: BrokerId) -> bool:
        """Whether this one is throttled."""
        return self.is_every or (partition, broker_id) in self.listed


def read_throttled(text: str) -> ThrottledReplicas | None:
    """From Kafka's `*` or `partition:broker,...`; None if it is neither."""
    if text.strip() == "*":
        return ThrottledReplicas(is_every=True)
    found = [_REPLICA.match(part) for part in text.split(",") if part.strip()]
    if not all(found):
        return None
    return ThrottledReplicas(
        listed=frozenset((int(each[1]), int(each[2])) for each in found if each)
    )


class ReplicationQuota:
    """One side of one broker."""

    def __init__(self, broker_id: BrokerId) -> None:
        self._broker_id = broker_id
        #: By topic; whoever knows what topics say keeps it up to date.
        self.replicas: Mapping[str, ThrottledReplicas] = {}
        self._rate: int | None = None
        #: Bytes that may be used now; negative after too much was used.
        self._left = 0.0
        self._left_at_ms = 0

    def set_rate(self, bytes_per_s: int | None) -> None:
        """Keep to this from now on; None for no limit, with which all debts are forgotten."""
        self._rate = bytes_per_s
        if bytes_per_s is None:
            self._left = 0.0

    def limits(self, name: TopicPartition) -> bool:
        """Whether copying this partition is throttled here."""
        if self._rate is None:
            return False
        replicas = self.replicas.get(name.topic)
        return replicas is not None and replicas.has(name.partition, self._broker_id)

    def left(self, now_ms: int) -> int:
        """So many bytes may be copied now; none or less means to wait."""
        if self._rate is None:
            return NO_LIMIT
        passed_ms = max(0, now_ms - self._left_at_ms)
        most = self._rate * SAVED_MS / 1_000
        self._left = min(most, self._left + self._rate * passed_ms / 1_000)
        self._left_at_ms = max(now_ms, self._left_at_ms)
        return int(self._left)

    def use(self, size: int, now_ms: int) -> None:
        """So many bytes were copied of what is throttled."""
        if self._rate is not None:
            self.left(now_ms)
            self._left -= size
