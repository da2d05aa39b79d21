"""The simulated network: latency, cuts in one or both directions, and slow links.

Hosts are numbers: brokers have their ids, ZooKeeper is 0 and clients are -1. A message that meets
a cut, when it is sent or when it would arrive, is gone; who waits for an answer finds out by
waiting.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from regent.sim.schedule import US_PER_MS, Schedule

ZOOKEEPER: Final = 0
CLIENT: Final = -1


class Network:
    """Carries actions from host to host; what arrives is run at the receiver's time."""

    def __init__(self, schedule: Schedule, random: Random, latency_us: int) -> None:
        self._schedule = schedule
        self._random = random
        self._latency_us = latency_us
        self._cuts: dict[tuple[int, int], None] = {}
        self._slow_ms: dict[tuple[int, int], int] = {}

    def cut(self, source: int, target: int) -> None:
        """Nothing gets from one host to the other; the other way is untouched."""
        self._cuts[source, target] = None

    def mend(self, source: int, target: int) -> None:
        """Messages get through again."""
        self._cuts.pop((source, target), None)

    def slow_down(self, source: int, target: int, delay_ms: int) -> None:
        """Everything on this way takes longer."""
        self._slow_ms[source, target] = delay_ms

    def heal(self) -> None:
        """No cuts and no slow links any more."""
        self._cuts.clear()
        self._slow_ms.clear()

    def is_cut(self, source: int, target: int) -> bool:
        """Whether messages that way are lost now."""
        return (source, target) in self._cuts

    def delay_us(self, source: int, target: int) -> int:
        """How long a message would take now."""
        # Mostly near the usual latency, now and then several times that.
        delay = int(self._latency_us * (0.5 + self._random.expovariate(2)))
        if self._slow_ms:
            delay += self._slow_ms.get((source, target), 0) * US_PER_MS
        return delay

    def send(self, source: int, target: int, arrive: Callable[[], None]) -> None:
        """Carry one message; messages may overtake each other."""
        if self._cuts and (source, target) in self._cuts:
            return

        def deliver() -> None:
            if not self._cuts or (source, target) not in self._cuts:
                arrive()

        self._schedule.after_us(self.delay_us(source, target), deliver)


class Stream:
    """One direction of a connection: in order, and dead from its first loss on."""

    def __init__(self, network: Network, schedule: Schedule, source: int, target: int) -> None:
        self._network = network
        self._schedule = schedule
        self._source = source
        self._target = target
        self._last_arrival_us = 0
        self.is_broken = False

    def send(self, arrive: Callable[[], None]) -> None:
        """Carry one message behind all earlier ones."""
        if self.is_broken:
            return
        if self._network.is_cut(self._source, self._target):
            self.is_broken = True
            return
        arrival_us = self._schedule.now_us + self._network.delay_us(self._source, self._target)
        self._last_arrival_us = max(arrival_us, self._last_arrival_us + 1)

        def deliver() -> None:
            if self.is_broken:
                return
            if self._network.is_cut(self._source, self._target):
                self.is_broken = True
                return
            arrive()

        self._schedule.after_us(self._last_arrival_us - self._schedule.now_us, deliver)
