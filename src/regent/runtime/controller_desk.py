"""The desk of a node that runs a controller in a thread of its own."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from regent.core.effects import Reply
from regent.core.events import Event
from regent.core.state import ControllerState
from regent.errors import SessionLost
from regent.model.brokers import Broker
from regent.model.ids import BrokerId
from regent.runtime.inbox import Inbox, now_ms
from regent.runtime.producer_ids import ProducerIds
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.store import Session

T = TypeVar("T")


class ControllerDesk:
    """Carries requests and readings to the controller thread, and answers back."""

    def __init__(
        self,
        node_id: BrokerId,
        inbox: Inbox,
        state: ControllerState,
        *,
        advertised: Broker | None,
        session: Callable[[], Session | None],
    ) -> None:
        self.node_id = node_id
        self.advertised = advertised
        self.cluster_id: str | None = None
        self.producer_ids = ProducerIds(node_id, self.run)
        self._inbox = inbox
        self._state = state
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._request_ids = itertools.count(1)
        #: Those waiting for an answer of the controller, by request id.
        self._callers: dict[int, asyncio.Future[Any]] = {}

    async def ask(self, to_event: Callable[[int, int], Event]) -> Any:
        """Make an event of the time and a request id, queue it, and wait for its answer."""
        request_id = next(self._request_ids)
        answer = self._callers[request_id] = self._loop.create_future()
        try:
            refused = self._inbox.put(to_event(now_ms(), request_id))
            return await answer if refused is None else refused.answer
        finally:
            del self._callers[request_id]

    def reply(self, reply: Reply) -> None:
        """Answer a caller, from any thread."""
        self._loop.call_soon_threadsafe(self._answer, reply)

    def _answer(self, reply: Reply) -> None:
        caller = self._callers.get(reply.request_id)
        # A caller may have hung up, or have been answered already.
        if caller is not None and not caller.done():
            caller.set_result(reply.answer)

    async def look(self, reading: Callable[[ControllerState], T]) -> T:
        """Read the controller's state while no event is being handled."""
        seen: asyncio.Future[T] = self._loop.create_future()

        def look() -> None:
            try:
                result = reading(self._state)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever wanted to look
                self._loop.call_soon_threadsafe(_fail, seen, error)
            else:
                self._loop.call_soon_threadsafe(_resolve, seen, result)

        self._inbox.read(look)
        return await seen

    async def run(self, exchange: Exchange[T]) -> T:
        """Carry out an exchange with ZooKeeper beside the controller's own."""
        session = self._session()
        if session is None:
            raise SessionLost("there is no ZooKeeper session at the moment")
        return await self._loop.run_in_executor(None, run, session, exchange)


def _resolve(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[T]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
