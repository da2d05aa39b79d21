"""A node with its listener on a loop of its own, for tests that call it like anybody else."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct

from regent.core.config import ControllerConfig
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.runtime.listener import Listener, ListenerSettings, bind
from regent.wire.apis import APIS
from regent.wire.exchange import API_OF_REQUEST, Call, decode_answer, encode_request, to_call
from regent.wire.frames import LENGTH_BYTES, frame_length
from regent.zookeeper.memory import MemoryZooKeeper
from tests.runtime.listener.memory_desk import BrokerCrowd, MemoryDesk

T = TypeVar("T")

HOST = "127.0.0.1"
#: No test waits for this; it ends those that would wait for ever.
PATIENCE_S = 30


class ServedNode:
    """A desk, its listener, and where that listens."""

    def __init__(self, loop: asyncio.AbstractEventLoop, desk: MemoryDesk) -> None:
        self._loop = loop
        self.desk = desk
        self.port = 0
        self.listener: Listener | None = None

    @property
    def address(self) -> str:
        """What clients are given."""
        return f"{HOST}:{self.port}"

    def do(self, action: Callable[[], T]) -> T:
        """Do something on the node's loop, where nothing else happens meanwhile."""

        async def done() -> T:
            return action()

        return self.run(done())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something on the node's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    async def open(self, settings: ListenerSettings | None) -> None:
        """Listen, then stand for election."""
        bound = bind(HOST, 0)
        self.port = bound.getsockname()[1]
        self.listener = Listener(self.desk, settings)
        await self.listener.start(bound)
        self.desk.start(HOST, self.port)

    async def close(self) -> None:
        """Stop listening."""
        assert self.listener is not None
        await self.listener.stop()

    def connect(self) -> socket.socket:
        """A connection to the node."""
        return socket.create_connection((HOST, self.port), timeout=PATIENCE_S)

    def ask(self, request: Struct, *, api_version: int | None = None, timeout_ms: int = 0) -> Any:
        """Send a request of the model over a connection of its own, and wait for its answer."""
        call = to_request(request, api_version=api_version, timeout_ms=timeout_ms)
        with self.connect() as link:
            link.sendall(encode_request(call))
            message = read_message(link)
        assert message is not None, "it hung up"
        return decode_answer(call, message)


class ServedCluster:
    """One ZooKeeper, its brokers, and the nodes that may be its controller."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.server = MemoryZooKeeper()
        self.brokers = BrokerCrowd(self.server)
        self.nodes: list[ServedNode] = []

    def serve(
        self,
        node_id: int = 100,
        settings: ListenerSettings | None = None,
        config: ControllerConfig | None = None,
    ) -> ServedNode:
        """Start a node; the first is the controller."""
        node = ServedNode(self._loop, MemoryDesk(self.server, node_id, config))
        self.nodes.append(node)
        node.run(node.open(settings))
        return node

    def start_brokers(self, *broker_ids: int) -> None:
        """Start brokers that clients can talk to, as they can to any node that stands by."""
        for broker_id in broker_ids:
            node = self.serve(broker_id)
            self.start_broker(Broker(BrokerId(broker_id), (Endpoint(HOST, node.port),)))

    def start_broker(self, broker: Broker) -> None:
        """Register one broker."""
        self.nodes[0].do(lambda: self.brokers.start(broker))
        self.settle()

    def stop_broker(self, broker_id: int) -> None:
        """Let a broker die."""
        self.nodes[0].do(lambda: self.brokers.stop(broker_id))
        self.settle()

    def settle(self) -> None:
        """Let every node handle what it has not heard of yet."""
        for node in self.nodes:
            node.do(node.desk.pump)


@contextmanager
def served_cluster() -> Iterator[ServedCluster]:
    """A cluster on a loop of its own, which ends with all its nodes."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="served cluster")
    thread.start()
    cluster = ServedCluster(loop)
    try:
        yield cluster
    finally:
        for node in cluster.nodes:
            node.run(node.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def to_request(
    request: Struct,
    *,
    api_version: int | None = None,
    correlation_id: int = 1,
    timeout_ms: int = 0,
) -> Call:
    """A request in this version, or in the newest."""
    newest = APIS[API_OF_REQUEST[type(request)]].last_version
    return to_call(
        request,
        api_version=newest if api_version is None else api_version,
        correlation_id=correlation_id,
        timeout_ms=timeout_ms,
    )


def read_message(link: socket.socket) -> bytes | None:
    """The next message on a connection; None if it was hung up."""
    prefix = _read(link, LENGTH_BYTES)
    return None if prefix is None else _read(link, frame_length(prefix))


def _read(link: socket.socket, count: int) -> bytes | None:
    arrived = b""
    while len(arrived) < count:
        try:
            piece = link.recv(count - len(arrived))
        except ConnectionResetError:
            return None
        if not piece:
            return None
        arrived += piece
    return arrived
