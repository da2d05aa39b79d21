"""Readers that wait until something happens to one of their partitions, or until time is up."""

import asyncio
from collections.abc import Iterable

from regent.model.ids import TopicPartition


class ChangeWaiters:
    """Lives on the event loop."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, dict[asyncio.Future[None], None]] = {}

    @property
    def count(self) -> int:
        """How many partitions somebody waits for."""
        return len(self._waiting)

    def changed(self, name: TopicPartition) -> None:
        """Wake those who wait for this partition."""
        for waiter in self._waiting.get(name, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, names: Iterable[TopicPartition], timeout_s: float) -> None:
        """Until one of them changes, or so long. Whoever is cancelled is forgotten."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # A fetch may list a partition twice.
        watched = frozenset(names)
        for name in watched:
            self._waiting.setdefault(name, {})[waiter] = None
        try:
            await asyncio.wait((waiter,), timeout=timeout_s)
        finally:
            for name in watched:
                waiters = self._waiting[name]
                del waiters[waiter]
                if not waiters:
                    del self._waiting[name]
