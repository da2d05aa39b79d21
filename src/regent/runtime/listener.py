"""The port at which clients and brokers speak Kafka's protocol to this node."""

import asyncio
import errno
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct

from regent.errors import BadInput
from regent.runtime.api_table import to_answer
from regent.runtime.caller_connection import (
    CallerConnection,
    ConnectionSettings,
    Frame,
    MutingFrame,
    ToAnswer,
)
from regent.runtime.desk import Desk
from regent.wire.exchange import Call

BACKLOG: Final = 1_024
#: So many are accepted at a turn. Without a descriptor left, asyncio tries and complains as often.
ACCEPTED_MAX: Final = 16
PORT_MAX: Final = 65_535

#: What a person can do about it.
ADVICE: Final[Mapping[int, str]] = {
    errno.EADDRINUSE: "another process listens there; stop it, or choose another port",
    errno.EADDRNOTAVAIL: "this machine has no such address; give one of its own, or 0.0.0.0",
    errno.EACCES: "it takes special rights to listen there; choose a port above 1023",
}

logger = logging.getLogger(__name__)


class ListenerSettings(Struct, frozen=True):
    """What all callers together may ask for."""

    connection: ConnectionSettings = ConnectionSettings()
    connections_max: int = 2_000
    #: After so long without a sign of life a connection is closed (`connections.max.idle.ms`).
    idle_ms: int = 600_000
    #: How long those whose answers are under way are waited for at the end.
    grace_ms: int = 5_000


def bind(host: str, port: int) -> socket.socket:
    """A socket at this address, not listening yet; with port 0 at any that is free."""
    if not 0 <= port <= PORT_MAX:  # `getaddrinfo` would take the rest of a division
        raise BadInput(f"cannot listen on {host}:{port}: ports go up to {PORT_MAX}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"cannot listen on {host}:{port}: {error}") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        advice = ADVICE.get(error.errno or 0, str(error))
        raise BadInput(f"cannot listen on {host}:{port}: {advice}") from error
    return bound


class _Turned(asyncio.Protocol):
    """A caller that there is no room for."""

    def __init__(self, connections_max: int) -> None:
        self._connections_max = connections_max

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hang up."""
        peer = transport.get_extra_info("peername")
        logger.warning("%s is turned away: there are %d callers", peer, self._connections_max)
        cast("asyncio.Transport", transport).abort()


class Listener:
    """Accepts callers, and keeps them apart from one another."""

    def __init__(
        self,
        desk: Desk,
        settings: ListenerSettings | None = None,
        answering: ToAnswer | None = None,
    ) -> None:
        """`answering` answers in place of the controller alone."""
        self._desk = desk
        self._answering = answering or self._answer
        self._settings = settings or ListenerSettings()
        self._connections: dict[CallerConnection, None] = {}
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        #: Set while nobody is connected.
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @property
    def connection_count(self) -> int:
        """How many callers there are now."""
        return len(self._connections)

    async def start(self, bound: socket.socket) -> None:
        """Accept callers on a socket that `bind` made, which is ours from now on."""
        loop = asyncio.get_running_loop()
        try:
            bound.listen(BACKLOG)  # uvloop would hide what is wrong, and close the socket
        except OSError as error:  # Another process was faster between `bind` and here.
            host, port = bound.getsockname()[:2]
            advice = ADVICE.get(error.errno or 0, str(error))
            raise BadInput(f"cannot listen on {host}:{port}: {advice}") from error
        self._server = await loop.create_server(self._accept, sock=bound, backlog=ACCEPTED_MAX)
        bound.listen(BACKLOG)  # the loop has made it as short as its turns are
        self._sweeper = loop.create_task(self._sweep(), name="idle connections")

    async def stop(self) -> None:
        """Take no more callers and requests; let the answers under way go out, then hang up."""
        if self._server is None or self._sweeper is None:
            return
        self._server.close()
        self._sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await self._sweeper
        for connection in tuple(self._connections):
            connection.finish()
        try:
            async with asyncio.timeout(self._settings.grace_ms / 1000):
                await self._is_empty.wait()
        except TimeoutError:
            logger.warning("%d callers are left without an answer", len(self._connections))
            for connection in tuple(self._connections):
                connection.abort()
            await self._is_empty.wait()
        await self._server.wait_closed()
        self._server = None

    # --- callers ----------------------------------------------------------------------------------

    def _accept(self) -> CallerConnection | _Turned:
        if len(self._connections) >= self._settings.connections_max:
            return _Turned(self._settings.connections_max)
        connection = CallerConnection(self._settings.connection, self._answering, self._lost)
        self._connections[connection] = None
        self._is_empty.clear()
        return connection

    def _lost(self, connection: CallerConnection) -> None:
        self._connections.pop(connection, None)
        if not self._connections:
            self._is_empty.set()

    async def _answer(self, call: Call, _peer: str) -> Frame | MutingFrame:
        return await to_answer(call, self._desk)

    async def _sweep(self) -> None:
        """Hang up on those of whom nothing is heard, and who are owed nothing."""
        loop, idle_s = asyncio.get_running_loop(), self._settings.idle_ms / 1000
        while True:
            await asyncio.sleep(idle_s / 4)
            silent_since_s = loop.time() - idle_s
            for connection in tuple(self._connections):
                if connection.active_at_s < silent_since_s and not connection.is_busy:
                    logger.info("the connection of %s is closed: it was idle", connection.peer)
                    connection.abort()
