"""Ids for idempotent producers, out of blocks that no other broker has."""

import asyncio

from regent.model.ids import BrokerId
from regent.runtime.desk import Desk
from regent.zookeeper.producer_ids import take_producer_ids


class ProducerIds:
    """Takes a block from ZooKeeper when the last one is used up."""

    def __init__(self, broker_id: BrokerId, desk: Desk) -> None:
        self._broker_id = broker_id
        self._desk = desk
        self._next_id = 0
        self._last_id = -1
        self._turn = asyncio.Lock()

    async def next(self) -> int:
        """An id that nobody ever had; `RegentError` if ZooKeeper cannot be asked for more."""
        async with self._turn:
            if self._next_id > self._last_id:
                block = await self._desk.run(take_producer_ids(self._broker_id))
                self._next_id, self._last_id = block.first_id, block.last_id
            self._next_id += 1
            return self._next_id - 1
