"""The host on which the simulated cluster's ZooKeeper runs: sessions, time-outs, connections.

The server itself is the in-memory twin. What is modelled here is only what lies between it and
its clients: a session dies when nothing was heard of its client for too long, and watch events
leave before the replies that already show the change.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from regent.sim.schedule import US_PER_MS, Schedule
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.store import Answered, Request, WatchEvent


class Client(Protocol):
    """The other end of a connection, as the server sees it."""

    def push(self, events: Sequence[WatchEvent]) -> None:
        """Send watch events towards the client, in order with everything else."""


class ZooKeeperHost:
    """One ZooKeeper, standing for a whole ensemble: linearizable and always up."""

    def __init__(self, schedule: Schedule, session_timeout_ms: int) -> None:
        self.server = MemoryZooKeeper()
        self.session_timeout_ms = session_timeout_ms
        #: Told of each session that is given up.
        self.on_expired: Callable[[int], None] = lambda _session_id: None
        self._schedule = schedule
        self._heard_us: dict[int, int] = {}
        self._clients: dict[int, Client] = {}

    def open_session(self, client: Client) -> int:
        """A new session, connected to this client."""
        session_id = self.server.open_session()
        self._clients[session_id] = client
        self._heard_us[session_id] = self._schedule.now_us
        self._expect(session_id)
        return session_id

    def reconnect(self, session_id: int, client: Client) -> bool:
        """Whether the session still lives; it is then this client's, and its watches are gone."""
        if not self.server.is_alive(session_id):
            return False
        self.server.drop_watches(session_id)
        self.server.take_events(session_id)
        self._clients[session_id] = client
        self._heard_us[session_id] = self._schedule.now_us
        return True

    def close_session(self, session_id: int) -> None:
        """End a session at once, as its owner or its owner's launcher may."""
        self._forget(session_id)
        self.server.close_session(session_id)
        self.spread_events()

    def ping(self, session_id: int) -> bool:
        """The client is there; whether its session is, too."""
        if session_id in self._heard_us:
            self._heard_us[session_id] = self._schedule.now_us
        return self.server.is_alive(session_id)

    def handle(self, session_id: int, requests: Sequence[Request]) -> list[Answered]:
        """Carry out requests in order; what others must hear of it is on its way when done."""
        self.ping(session_id)
        replies = [self.server.handle(session_id, request) for request in requests]
        self.spread_events()
        return replies

    def spread_events(self) -> None:
        """Push what the server has queued for anybody."""
        for session_id, client in list(self._clients.items()):
            events = self.server.take_events(session_id)
            if events:
                client.push(events)

    def _expect(self, session_id: int) -> None:
        """Look again when the session would be overdue."""
        if session_id not in self._heard_us:
            return
        timeout_us = self.session_timeout_ms * US_PER_MS
        due_us = self._heard_us[session_id] + timeout_us - self._schedule.now_us
        if due_us <= 0:
            self._forget(session_id)
            self.server.expire_session(session_id)
            self.on_expired(session_id)
            self.spread_events()
        else:
            self._schedule.after_us(due_us, lambda: self._expect(session_id))

    def _forget(self, session_id: int) -> None:
        self._clients.pop(session_id, None)
        self._heard_us.pop(session_id, None)
