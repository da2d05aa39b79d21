"""Ids for idempotent producers, out of blocks that no other node has."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from regent.errors import RegentError
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.model.producer_ids import InitProducerIdAnswer
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.producer_ids import ProducerIdBlock, take_producer_ids

logger = logging.getLogger(__name__)


class ProducerIds:
    """Takes a block from ZooKeeper when the last one is used up."""

    def __init__(self, node_id: BrokerId, run: Callable[[Exchange[Any]], Awaitable[Any]]) -> None:
        """`run` carries out an exchange with ZooKeeper."""
        self._node_id = node_id
        self._run = run
        self._next_id = 0
        self._last_id = -1
        self._turn = asyncio.Lock()

    async def give(self) -> InitProducerIdAnswer:
        """An id that nobody ever had, in epoch 0; without one the producer asks again."""
        try:
            return InitProducerIdAnswer(ErrorCode.NONE, await self._next(), 0)
        except RegentError as failure:
            logger.warning("no id for a producer: %s", failure)
            return InitProducerIdAnswer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    async def _next(self) -> int:
        async with self._turn:
            if self._next_id > self._last_id:
                block: ProducerIdBlock = await self._run(take_producer_ids(self._node_id))
                self._next_id, self._last_id = block.first_id, block.last_id
            self._next_id += 1
            return self._next_id - 1
