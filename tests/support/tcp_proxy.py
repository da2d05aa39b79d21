"""A wire that can be cut: connections are passed on to a server, until somebody interferes.

For tests of what a client does when its connection breaks at a bad moment.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 64 * 1024


class TcpProxy:
    """Listens on a free port of 127.0.0.1 and forwards both ways."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._links: list[_Link] = []
        self._refuses = False
        self._ignores_next = False
        self._ignored: list[socket.socket] = []
        self._replies_pass = threading.Event()
        self._replies_pass.set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        """Where clients connect to."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    @property
    def heard_bytes(self) -> int:
        """What clients have said so far on the connections that are open."""
        with self._lock:
            return sum(link.heard_bytes for link in self._links)

    def hold_replies(self) -> None:
        """From now on clients are heard and not answered."""
        self._replies_pass.clear()

    def cut(self) -> None:
        """Break all connections; replies that were held are lost. New ones are accepted."""
        with self._lock:
            links, self._links = self._links, []
        for link in links:
            link.close()
        self._replies_pass.set()

    def ignore_next(self) -> None:
        """Accept the next connection, and never say a word on it."""
        self._ignores_next = True

    def part(self) -> None:
        """Break all connections, and let nobody through until `heal`."""
        self._refuses = True
        self.cut()

    def heal(self) -> None:
        """Let everybody through again."""
        self._refuses = False

    def close(self) -> None:
        """Break everything for good."""
        self._refuses = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()
        for client in self._ignored:
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refuses:
                client.close()
                continue
            if self._ignores_next:
                self._ignores_next = False
                self._ignored.append(client)
                continue
            try:
                link = _Link(client, socket.create_connection(self._target))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._links.append(link)
            self._cut_if_refused()
            for pump in (link.forward, lambda link=link: link.back(self._replies_pass)):
                self._threads.append(threading.Thread(target=pump, daemon=True))
                self._threads[-1].start()

    def _cut_if_refused(self) -> None:
        """It may have been parted or closed while the target was dialled."""
        if self._refuses:
            self.cut()


class _Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client = client
        self._server = server
        self._is_cut = False
        self.heard_bytes = 0

    def forward(self) -> None:
        """What the client says."""
        with self._client, contextlib.suppress(OSError):
            while chunk := self._client.recv(_CHUNK_BYTES):
                self._server.sendall(chunk)
                self.heard_bytes += len(chunk)
        self._hang_up(self._server)

    def back(self, may_pass: threading.Event) -> None:
        """What the server says, unless it is held until the cut."""
        with self._server, contextlib.suppress(OSError):
            while chunk := self._server.recv(_CHUNK_BYTES):
                may_pass.wait()
                if self._is_cut:
                    break
                self._client.sendall(chunk)
        self._hang_up(self._client)

    def close(self) -> None:
        """Nothing passes any more; the two threads close their sockets."""
        self._is_cut = True
        self._hang_up(self._client)
        self._hang_up(self._server)

    @staticmethod
    def _hang_up(end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
