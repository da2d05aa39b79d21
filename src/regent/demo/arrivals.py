"""When records came through, partition by partition. A long silence is what a client notices."""

import threading
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from time import monotonic

from msgspec import Struct

from regent.model.ids import TopicPartition


class Silence(Struct, frozen=True, order=True):
    """How long nothing came through in a partition."""

    seconds: float
    name: TopicPartition


class Arrivals:
    """Noted by the threads of clients, asked by the one that tells the story."""

    def __init__(self) -> None:
        self._times: dict[TopicPartition, list[float]] = {}
        self._lock = threading.Lock()

    def note(self, name: TopicPartition, at_s: float) -> None:
        """Something came through."""
        with self._lock:
            self._times.setdefault(name, []).append(at_s)

    def forget(self, topic: str) -> None:
        """From now on nothing of this topic is expected."""
        with self._lock:
            for name in [each for each in self._times if each.topic == topic]:
                del self._times[name]

    def have_come(self, names: Iterable[TopicPartition], since_s: float) -> bool:
        """Whether something has come through in each of these partitions since then."""
        with self._lock:
            return all(self._times.get(name, (since_s,))[-1] > since_s for name in names)

    def longest_silence(self, since_s: float) -> Silence | None:
        """Of all that ended after `since_s` or have not ended yet; None where nothing ever came."""
        now_s = monotonic()
        with self._lock:
            silences = [
                Silence(max(_gaps(times, since_s, now_s)), name)
                for name, times in self._times.items()
            ]
        return max(silences, default=None)


def _gaps(times: list[float], since_s: float, until_s: float) -> Iterable[float]:
    """Between arrivals, from the last one before `since_s` on."""
    first = max(bisect_right(times, since_s) - 1, 0)
    return (later - before for before, later in pairwise([*times[first:], until_s]))
