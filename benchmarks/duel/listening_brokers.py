"""Brokers of this process that say yes to everything, and know when they were last told something.

They are how a duel is timed from outside: a controller's last word is its last request.
"""

import asyncio
import threading
from collections.abc import Iterable
from functools import partial
from time import monotonic

from benchmarks.stub_brokers import HOST, YesSayer
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerEpoch, BrokerId
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.registration import register_broker


class Arrivals:
    """When requests were complete at any of the brokers."""

    def __init__(self) -> None:
        self.count = 0
        self.last_s = 0.0

    def note(self) -> None:
        """One more."""
        self.count += 1
        self.last_s = monotonic()


class _Listening(YesSayer):
    """Notes a request before it is answered."""

    def __init__(self, arrivals: Arrivals) -> None:
        super().__init__()
        self._arrivals = arrivals

    def _answer(self) -> None:
        self._arrivals.note()
        super()._answer()


class ListeningBrokers:
    """Each has a session of its own, so that one of them can go."""

    def __init__(self, options: ZooKeeperOptions, broker_ids: Iterable[int]) -> None:
        self.arrivals = Arrivals()
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="brokers", daemon=True)
        self._thread.start()
        self._ports: dict[int, int] = {}
        self._sessions: dict[int, KazooSession] = {}
        self._epochs: dict[int, BrokerEpoch] = {}
        for broker_id in broker_ids:
            self.come(broker_id)

    def come(self, broker_id: int) -> None:
        """Register, at the same port in every life."""
        if broker_id not in self._ports:
            listening = asyncio.run_coroutine_threadsafe(self._listen(), self._loop)
            self._ports[broker_id] = listening.result()
        session = self._sessions[broker_id] = KazooSession.open(self._options)
        broker = Broker(BrokerId(broker_id), (Endpoint(HOST, self._ports[broker_id]),))
        self._epochs[broker_id] = run(
            session,
            register_broker(
                broker, session_id=session.session_id, previous_session_id=None, now_ms=0
            ),
        )

    async def _listen(self) -> int:
        server = await self._loop.create_server(partial(_Listening, self.arrivals), HOST, 0)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def go(self, broker_id: int) -> None:
        """End the session, and the registration with it."""
        self._sessions.pop(broker_id).close()

    def epoch_of(self, broker_id: int) -> BrokerEpoch:
        """Which life of the broker this is."""
        return self._epochs[broker_id]

    def close(self) -> None:
        """All of them go."""
        for broker_id in list(self._sessions):
            self.go(broker_id)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
