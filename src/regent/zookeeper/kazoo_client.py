"""kazoo, held to one session: all that we need to know about its inside is here.

kazoo opens sockets, keeps a session alive by pings, and finds the next server when one is gone. It
would also start a new session when the old one has expired, deliver watches by another thread than
replies, and say nothing while a server is silent. Here it stops at the end of its first session,
and everything it hears goes to one listener in the order in which it came, on the one thread that
reads from the socket. The listener must not block: while it does, nobody answers the server.
"""

import logging
import select
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped, ConnectionLoss
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import CloseInstance
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from regent.zookeeper.frames import FrameReply
from regent.zookeeper.handshake import dial
from regent.zookeeper.jute_replies import decode_watch_event, to_error
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import WatchEvent, ZkError

logger = logging.getLogger(__name__)

#: Between attempts to connect: from a twentieth of a second to one second, doubling.
_RETRY: Final = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_jitter": 0.2, "max_delay": 1.0}
#: What each step to a session may take of its timeout: the connection, TLS, the answer. A server
#: that is just starting can leave the question without an answer for ever, and one whose machine is
#: gone the connection; then there must be time to ask again, or to ask another one.
_HANDSHAKE_SHARE: Final = 1 / 3
#: A server that is only slow gets this long, however short the session.
_HANDSHAKE_S_MIN: Final = 1.0
#: These have an end of the session in them.
_ENDED: Final = (KeeperState.EXPIRED_SESSION, KeeperState.CLOSED, KeeperState.AUTH_FAILED)
_READABLE: Final = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL
_WRITABLE: Final = select.POLLOUT | select.POLLHUP | select.POLLERR | select.POLLNVAL


class ConnectionListener(Protocol):
    """Hears everything, on the connection's thread, and does not block."""

    def on_connected(self, *, timeout_s: float, asked_at_s: float) -> None:
        """The session is there, for the first time or on a new connection."""

    def on_disconnected(self) -> None:
        """The connection is gone; replies that are missing will not come."""

    def on_ended(self) -> None:
        """The session is over."""

    def on_heard(self, sent_at_s: float) -> None:
        """Something that was sent then has been answered."""

    def on_watch(self, event: WatchEvent) -> None:
        """A watch fired; the path is as the server names it."""


class Ticket(ABC):
    """One frame on its way: what kazoo takes for a request, and for where the answer goes."""

    #: The opcode is in the payload: kazoo would treat the answers to some in its own way.
    type: Final = None

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self.sent_at_s = 0.0

    @abstractmethod
    def finish(self, reply: FrameReply) -> None:
        """Called once or more often, on the connection's thread; the first time counts."""

    # What kazoo calls.

    def serialize(self) -> bytes:
        """The moment of sending."""
        self.sent_at_s = monotonic()
        return self._payload

    def deserialize(self, buffer: bytes, offset: int) -> FrameReply:
        """Not here: whoever asked decodes."""
        return FrameReply(ZkError.OK, buffer, offset)

    def set(self, reply: FrameReply) -> None:
        """The answer."""
        self.finish(reply)

    def set_exception(self, error: Exception) -> None:
        """The refusal, or the loss."""
        self.finish(FrameReply(_to_zk_error(error)))


def _to_zk_error(error: Exception) -> ZkError:
    if isinstance(error, ConnectionLoss):
        return ZkError.CONNECTION_LOSS
    code = getattr(error, "code", None)
    if code is None:
        # kazoo's word for a client that has been stopped.
        return ZkError.SESSION_EXPIRED
    named = to_error(code)
    # Nothing was done there, and the session goes on elsewhere.
    return ZkError.CONNECTION_LOSS if named is ZkError.SESSION_MOVED else named


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo carries no types
    """No threads for callbacks, because there are none; our own sockets; a cheaper select."""

    def __init__(self, options: ZooKeeperOptions) -> None:
        super().__init__()
        self._options = options
        #: What is asked for, and once there is a session, what was granted.
        self.session_timeout_s = options.session_timeout_ms / 1000

    @property
    def patience_s(self) -> float:
        """How long each step to a session may take."""
        return max(_HANDSHAKE_S_MIN, self.session_timeout_s * _HANDSHAKE_SHARE)

    def start(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **_kazoo_tls: Any
    ) -> socket.socket:
        """A socket of ours, because it knows our options; kazoo gives it the whole session."""
        return dial(self._options, address, min(timeout, self.patience_s), name=hostname)

    def select(
        self,
        readers: Sequence[socket.socket],
        writers: Sequence[socket.socket],
        _errors: Sequence[socket.socket],
        timeout: float | None = None,
    ) -> tuple[list[socket.socket], list[socket.socket], list[socket.socket]]:
        """Which of these are ready; kazoo's own builds a selector each time."""
        poll = select.poll()
        for reader in readers:
            poll.register(reader, select.POLLIN)
        for writer in writers:
            poll.register(writer, select.POLLOUT)
        ready = dict(poll.poll(None if timeout is None else max(0.0, timeout) * 1000))
        return (
            [reader for reader in readers if ready.get(reader.fileno(), 0) & _READABLE],
            [writer for writer in writers if ready.get(writer.fileno(), 0) & _WRITABLE],
            [],
        )


class _Connection(ConnectionHandler):  # type: ignore[misc]  # kazoo carries no types
    """Where frames are read and pings are sent."""

    def __init__(
        self, client: "OneSessionClient", retry: KazooRetry, listener: ConnectionListener
    ) -> None:
        super().__init__(client, retry, logger=logger)
        self._listener = listener
        self._ping_sent_at_s = 0.0
        self._is_hung_up = False
        #: Why the last attempt to connect failed.
        self.last_failure: Exception | None = None

    def zk_loop(self) -> None:
        """The thread; it clears up after itself, because nobody may be waiting for it."""
        try:
            super().zk_loop()
        finally:
            self.close()

    def _connect(self, host: str, host_ip: str, port: int) -> tuple[float, float]:
        asked_at_s = monotonic()
        try:
            read_timeout_ms, connect_timeout_ms = super()._connect(host, host_ip, port)
            if self._is_hung_up:
                raise ConnectionDropped("hung up while connecting")  # noqa: TRY301 - not a failure
        except Exception as error:
            self.last_failure = error
            raise
        # Two thirds of what the server granted is what kazoo waits for an answer.
        timeout_s = self.handler.session_timeout_s = read_timeout_ms * 1.5 / 1000
        self._listener.on_connected(timeout_s=timeout_s, asked_at_s=asked_at_s)
        return read_timeout_ms, connect_timeout_ms

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        """A question of the handshake; kazoo would wait for its answer as long as the session."""
        return super()._invoke(min(timeout, self.handler.patience_s), request, xid)

    def _send_ping(self, connect_timeout: float) -> None:
        if not self.ping_outstanding.is_set():
            # The first of several: that is the one which the next answer is for.
            self._ping_sent_at_s = monotonic()
        super()._send_ping(connect_timeout)

    def _read_socket(self, read_timeout: float) -> Any:
        was_pinging = self.ping_outstanding.is_set()
        response = super()._read_socket(read_timeout)
        if was_pinging and not self.ping_outstanding.is_set():
            self._listener.on_heard(self._ping_sent_at_s)
        return response

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        event = decode_watch_event(buffer, offset)
        if event is not None:
            self._listener.on_watch(event)

    def hang_up(self) -> None:
        """Break the connection under the thread that reads from it."""
        self._is_hung_up = True
        connection = self._socket
        if connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                logger.debug("the connection was closed already")


class OneSessionClient(KazooClient):  # type: ignore[misc]  # kazoo carries no types
    """A client whose first session is its last."""

    def __init__(self, options: ZooKeeperOptions, listener: ConnectionListener) -> None:
        handler = _Handler(options)
        super().__init__(
            hosts=options.hosts,
            timeout=handler.session_timeout_s,
            handler=handler,
            connection_retry=KazooRetry(sleep_func=handler.sleep_func, **_RETRY),
            command_retry=KazooRetry(sleep_func=handler.sleep_func),
            auth_data=[("digest", options.digest)] if options.digest else None,
            logger=logger,
        )
        self._listener = listener
        self._connection = _Connection(self, self._conn_retry.copy(), listener)

    @property
    def credentials(self) -> tuple[int, bytes]:
        """Session id and password, while there is a session."""
        return self._session_id, self._session_passwd

    @property
    def last_failure(self) -> Exception | None:
        """Why the last attempt to connect failed."""
        failure: Exception | None = self._connection.last_failure
        return failure

    def submit(self, ticket: Ticket) -> None:
        """Put a frame behind all others."""
        self._call(ticket, ticket)

    def say_goodbye(self) -> None:
        """Ask the server to end the session as soon as it can be asked; do not wait."""
        self._stopped.set()
        self._queue.append((CloseInstance, None))
        try:
            self._connection._write_sock.send(b"\0")  # noqa: SLF001 - as kazoo's own stop() does
        except (AttributeError, OSError):
            logger.debug("the connection's thread has ended already")

    def hang_up(self) -> None:
        """Leave without a word; the server keeps the session until it expires."""
        self._stopped.set()
        self._connection.hang_up()

    def wait_for_end(self, timeout_s: float) -> bool:
        """Whether the connection's thread has ended in time."""
        ended: bool = self._connection.connection_stopped.wait(timeout_s)
        return ended

    def _session_callback(self, state: str) -> None:
        if state in _ENDED:
            # Before kazoo looks for the next session.
            self._stopped.set()
            self._listener.on_ended()
        elif state == KeeperState.CONNECTING:
            # Before the replies that will not come are given up: nothing may be sent after that.
            self._listener.on_disconnected()
        super()._session_callback(state)


def is_refused_login(failure: Exception | None) -> bool:
    """Whether the server does not accept our credentials."""
    return isinstance(failure, AuthFailedError)
