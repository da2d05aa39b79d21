"""The first words between a client and a ZooKeeper, on a plain socket.

For those who need a session for a moment only: whoever asks if a server is ready, and whoever ends
the session of a dead process. Sessions that live are kazoo's business.
"""

import socket
import ssl
from struct import Struct as Layout
from typing import Final

from msgspec import Struct

from regent.zookeeper.options import ZooKeeperOptions

PASSWORD_BYTES: Final = 16
_LENGTH: Final = Layout("!i")
#: Length; protocol version, last zxid seen, timeout, session id, password, read-only.
_CONNECT: Final = Layout(f"!iiqiqi{PASSWORD_BYTES}sB")
#: Protocol version, timeout, session id, length of the password; the password follows.
_CONNECTED: Final = Layout("!iiqi")
#: Length; xid and opcode, and no body.
_CLOSE_SESSION: Final = Layout("!iii").pack(8, 1, -11)
#: The header of a reply is the shortest frame, and no answer here is much longer.
_REPLY_BYTES: Final = range(16, 4096)


class Granted(Struct, frozen=True):
    """The session that a server gave; a timeout of 0 says that the one asked for is over."""

    session_id: int
    timeout_ms: int
    password: bytes


def dial(
    options: ZooKeeperOptions,
    address: tuple[str, int],
    timeout_s: float,
    *,
    name: str | None = None,
) -> socket.socket:
    """A connected socket, with TLS if the options say so; OSError if it cannot be had.

    `name` is whom the server's certificate must be for, if the address is only a number.
    """
    plain = socket.create_connection(address, timeout_s)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if options.tls is None:
        return plain
    try:
        context: ssl.SSLContext = options.tls.context()
        return context.wrap_socket(plain, server_hostname=name or address[0])
    except BaseException:
        plain.close()
        raise


def shake_hands(
    connection: socket.socket,
    *,
    session_id: int = 0,
    password: bytes = bytes(PASSWORD_BYTES),
    timeout_ms: int = 10_000,
) -> Granted:
    """Ask for a new session, or for an old one again; OSError if the server does not answer."""
    # A zxid of 0 in both cases: a server refuses clients that have seen more than it has.
    request = _CONNECT.pack(
        _CONNECT.size - 4, 0, 0, timeout_ms, session_id, PASSWORD_BYTES, password, 0
    )
    connection.sendall(request)
    reply = _receive(connection)
    if len(reply) < _CONNECTED.size:
        raise ConnectionError(f"not a ZooKeeper: it answered with {len(reply)} bytes")
    _, granted_ms, granted_id, length = _CONNECTED.unpack_from(reply)
    return Granted(granted_id, granted_ms, reply[_CONNECTED.size : _CONNECTED.size + length])


def say_goodbye(connection: socket.socket) -> None:
    """End the session of this connection; it is over when this returns."""
    connection.sendall(_CLOSE_SESSION)
    _receive(connection)


def _receive(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_receive_exactly(connection, _LENGTH.size))
    if length not in _REPLY_BYTES:
        raise ConnectionError(f"not a ZooKeeper: it sent a frame of {length} bytes")
    return _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        chunk = connection.recv(count - len(received))
        if not chunk:
            # Seen of servers that have just started, and of those that have too many clients.
            raise ConnectionResetError("the server closed the connection before it answered")
        received += chunk
    return bytes(received)
