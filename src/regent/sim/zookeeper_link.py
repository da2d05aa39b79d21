"""A node's connection to ZooKeeper: one session at a time, kept alive by pings.

Requests are sent in order and answered in order. When the connection breaks, nobody knows what
became of the requests under way: they are answered with a connection loss as soon as the same
session is connected again, or with the end of the session. Watches are lost with the connection;
whoever set them is told to look again.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeVar

from regent.errors import RegentError
from regent.sim.network import ZOOKEEPER, Network, Stream
from regent.sim.schedule import US_PER_MS, Schedule
from regent.sim.zookeeper_host import ZooKeeperHost
from regent.zookeeper.store import (
    Answered,
    Exists,
    Failed,
    GetChildren,
    GetData,
    Request,
    WatchEvent,
    ZkError,
)

T = TypeVar("T")
Answer = Callable[[Sequence[Answered]], None]


class LinkOwner(Protocol):
    """The process whose link it is."""

    host_id: int

    def deliver(self, action: Callable[[], None]) -> None:
        """Run something in this process: now, when it is resumed, or never."""

    def on_session(self, session_id: int, previous_session_id: int | None) -> None:
        """A new session is established."""

    def on_session_expired(self) -> None:
        """The session is gone; a new one is being made."""

    def on_watch(self, path: str) -> None:
        """A watched path changed, or may have."""

    def break_point(self, requests: Sequence[Request]) -> int | None:
        """After how many of these requests the connection breaks; None: it does not."""

    def on_applied(self, requests: Sequence[Request]) -> bool:
        """The server has carried these out; True if the process dies right now."""


class ZooKeeperLink:
    """The client's end."""

    def __init__(
        self, owner: LinkOwner, host: ZooKeeperHost, network: Network, schedule: Schedule
    ) -> None:
        self._owner = owner
        self._host = host
        self._network = network
        self._schedule = schedule
        self.session_id: int | None = None
        self._previous_session_id: int | None = None
        self._is_connected = False
        #: Off between the end of a session and its owner's having given up what it held.
        self._may_connect = True
        self._connection = 0
        self._outward = Stream(network, schedule, owner.host_id, ZOOKEEPER)
        self._inward = Stream(network, schedule, ZOOKEEPER, owner.host_id)
        self._heard_us = 0
        self._under_way: deque[tuple[Sequence[Request], Answer]] = deque()
        #: Paths that somebody here wants to hear of. It outlives the one-shot watch itself: a new
        #: one may have been set before the event of the old one arrives.
        self._watched: dict[str, None] = {}

    # --- running exchanges --------------------------------------------------------------------

    def run(
        self,
        exchange: Generator[Sequence[Request], Sequence[Answered], T],
        on_done: Callable[[T], None],
        on_failed: Callable[[RegentError], None],
    ) -> None:
        """Drive an exchange to its end; what it returns or raises goes to one of the two."""

        def advance(replies: Sequence[Answered] | None) -> None:
            try:
                # Any: a generator that has not started is sent None.
                requests = exchange.send(replies)  # type: ignore[arg-type]
            except StopIteration as finished:
                on_done(finished.value)
            except RegentError as failure:
                on_failed(failure)
            else:
                self._submit(requests, advance)

        advance(None)

    def _submit(self, requests: Sequence[Request], answer: Answer) -> None:
        for request in requests:
            if isinstance(request, GetData | Exists | GetChildren) and request.watch:
                self._watched[request.path] = None
        if self.session_id is None:
            answer([Failed(ZkError.SESSION_EXPIRED)] * len(requests))
            return
        self._under_way.append((requests, answer))
        if self._is_connected:
            self._send(requests)

    def _send(self, requests: Sequence[Request]) -> None:
        connection, session_id = self._connection, self.session_id
        assert session_id is not None, "only a session can be used"
        breaks_after = self._owner.break_point(requests)

        def arrive() -> None:
            applied = requests if breaks_after is None else requests[:breaks_after]
            replies = self._host.handle(session_id, applied)
            dies = self._owner.on_applied(applied)
            if breaks_after is None and not dies:
                self._inward.send(
                    lambda: self._owner.deliver(lambda: self._receive(connection, replies))
                )
            elif not dies:
                self._inward.is_broken = self._outward.is_broken = True
                self._owner.deliver(lambda: self._break(connection))

        self._outward.send(arrive)

    def _receive(self, connection: int, replies: Sequence[Answered]) -> None:
        if connection != self._connection or not self._under_way:
            return
        self._heard_us = self._schedule.now_us
        if any(isinstance(r, Failed) and r.error is ZkError.SESSION_EXPIRED for r in replies):
            self._expired()
            return
        _, answer = self._under_way.popleft()
        answer(replies)

    # --- watches ------------------------------------------------------------------------------

    def push(self, events: Sequence[WatchEvent]) -> None:
        """Called by the host: events travel in order with the replies."""
        connection = self._connection

        def arrive() -> None:
            self._owner.deliver(lambda: self._fire(connection, events))

        self._inward.send(arrive)

    def _fire(self, connection: int, events: Sequence[WatchEvent]) -> None:
        if connection != self._connection:
            return
        self._heard_us = self._schedule.now_us
        for event in events:
            if event.path in self._watched:
                self._owner.on_watch(event.path)

    def drop_watches(self, keep: str) -> None:
        """Take no more interest in any path but one."""
        self._watched = {path: None for path in self._watched if path == keep}

    # --- connecting ---------------------------------------------------------------------------

    def start(self) -> None:
        """Connect, and stay connected for as long as the process lives."""
        self._connect()
        self._keep_alive()

    def _keep_alive(self) -> None:
        interval_us = self._host.session_timeout_ms * US_PER_MS // 3
        if self._is_connected:
            if self._schedule.now_us - self._heard_us > 2 * interval_us:
                self._break(self._connection)
            else:
                self._ping()
        else:
            self._connect()
        self._schedule.after_us(interval_us, lambda: self._owner.deliver(self._keep_alive))

    def _ping(self) -> None:
        connection, session_id = self._connection, self.session_id
        assert session_id is not None, "only a session is kept alive"

        def arrive() -> None:
            lives = self._host.ping(session_id)
            self._inward.send(lambda: self._owner.deliver(lambda: self._pong(connection, lives)))

        self._outward.send(arrive)

    def _pong(self, connection: int, lives: bool) -> None:  # noqa: FBT001 - the whole message
        if connection != self._connection:
            return
        self._heard_us = self._schedule.now_us
        if not lives:
            self._expired()

    def _break(self, connection: int) -> None:
        """The connection is given up; the session may go on."""
        if connection != self._connection or not self._is_connected:
            return
        self._is_connected = False
        self._connection += 1
        self._schedule.after_ms(50, lambda: self._owner.deliver(self._connect))

    def _connect(self) -> None:
        if self._is_connected or not self._may_connect:
            return
        self._connection += 1
        connection = self._connection
        self._outward = Stream(self._network, self._schedule, self._owner.host_id, ZOOKEEPER)
        inward = Stream(self._network, self._schedule, ZOOKEEPER, self._owner.host_id)
        self._inward = inward
        asked = self.session_id

        def arrive() -> None:
            if connection != self._connection:
                return
            lives = asked is not None and self._host.reconnect(asked, self)
            granted = asked if lives else self._host.open_session(self) if asked is None else None
            inward.send(lambda: self._owner.deliver(lambda: self._connected(connection, granted)))

        self._outward.send(arrive)

    def _connected(self, connection: int, granted: int | None) -> None:
        if connection != self._connection or self._is_connected:
            return
        self._heard_us = self._schedule.now_us
        if granted is None:
            self._expired()
            return
        self._is_connected = True
        if granted == self.session_id:
            self._resume()
        else:
            self.session_id = granted
            self._owner.on_session(granted, self._previous_session_id)

    def _resume(self) -> None:
        """The same session on a new connection: look again, and nobody knows what was done."""
        watched, self._watched = self._watched, {}
        self._answer_all(ZkError.CONNECTION_LOSS)
        for path in watched:
            self._owner.on_watch(path)

    def _expired(self) -> None:
        self._is_connected = False
        self._previous_session_id, self.session_id = self.session_id, None
        self._watched = {}
        self._may_connect = False
        self._answer_all(ZkError.SESSION_EXPIRED)
        self._owner.on_session_expired()

    def open_next_session(self) -> None:
        """The owner has done with the last session: what it held there is given up."""
        self._may_connect = True
        self._connect()

    def _answer_all(self, error: ZkError) -> None:
        under_way, self._under_way = self._under_way, deque()
        for requests, answer in under_way:
            answer([Failed(error)] * len(requests))
