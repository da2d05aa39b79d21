"""Ids for idempotent producers, out of blocks that no other node has."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from regent.model.ids import BrokerId
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.producer_ids import ProducerIdBlock, take_producer_ids


class ProducerIds:
    """Takes a block from ZooKeeper when the last one is used up."""

    def __init__(self, node_id: BrokerId, run: Callable[[Exchange[Any]], Awaitable[Any]]) -> None:
        """`run` carries out an exchange with ZooKeeper."""
        self._node_id = node_id
        self._run = run
        self._next_id = 0
        self._last_id = -1
        self._turn = asyncio.Lock()

    async def next(self) -> int:
        """An id that nobody ever had; `RegentError` if ZooKeeper cannot be asked for more."""
        async with self._turn:
            if self._next_id > self._last_id:
                block: ProducerIdBlock = await self._run(take_producer_ids(self._node_id))
                self._next_id, self._last_id = block.first_id, block.last_id
            self._next_id += 1
            return self._next_id - 1
