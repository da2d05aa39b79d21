"""Channels over real sockets: order, sending again, older versions, no waiting (C1 to C5)."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, suppress
from queue import Queue
from typing import Any, TypeVar

import pytest

from regent.core.events import Event, LeaderAndIsrAnswered, UpdateMetadataAnswered
from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import (
    ControlAnswer,
    LeaderAndIsr,
    PartitionMetadata,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.protocol_version import LATEST, request_versions
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.channels import BrokerChannels
from regent.wire.apis import APIS, Api, ApiKey
from regent.wire.exchange import Call, decode_request, encode_answer, encode_api_versions_answer
from regent.wire.frames import LENGTH_BYTES, frame_length
from tests.support.builders import broker_epoch, ids
from tests.support.closing_server import close_server

WAIT_S = 30
T = TypeVar("T")


class HeardBroker:
    """A broker that answers, or does what a broken one does; one of its listeners."""

    def __init__(self) -> None:
        self.calls: Queue[Call] = Queue()
        self.connections = 0
        #: The last control request, as it came.
        self.last_message = b""
        #: What to do with the next control requests instead of answering: "close", "garbage".
        self.mischief: list[str] = []
        self.holds = asyncio.Event()
        self.holds.set()
        self.served: tuple[Api, ...] = tuple(APIS.values())
        self.answer = ControlAnswer()
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> int:
        """Listen; where."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            await close_server(self._server)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                length = frame_length(await reader.readexactly(LENGTH_BYTES))
                message = await reader.readexactly(length)
                call = decode_request(message)
                if call.header.api_key == ApiKey.API_VERSIONS:
                    writer.write(encode_api_versions_answer(call.header, self.served))
                    continue
                self.last_message = message
                self.calls.put(call)
                await self.holds.wait()
                if self.mischief and self.mischief.pop(0) == "close":
                    return
                writer.write(encode_answer(call, self.answer))
        except (EOFError, OSError, ProtocolError):
            pass
        finally:
            writer.close()


class Bench:
    """A loop in a thread, brokers on it, and the channels under test."""

    def __init__(self, **settings: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.events: Queue[Event] = Queue()
        self.brokers: dict[int, HeardBroker] = {}
        self.channels = BrokerChannels(
            self.loop,
            ChannelSettings(client_id="100", versions=request_versions(LATEST), **settings),
            self.events.put,
        )

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(WAIT_S)

    def queue_lengths(self) -> list[int]:
        """What waits in each channel, once all that was sent before has reached the loop."""

        async def count() -> list[int]:
            return [len(channel) for channel in self.channels.by_broker.values()]

        return self.run(count())

    def broker(self, broker_id: int) -> HeardBroker:
        """A broker that listens, with an open channel to it."""
        heard, port = self.listener(broker_id)
        self.open(broker_id, port)
        return heard

    def listener(self, number: int) -> tuple[HeardBroker, int]:
        """Something that listens as a broker does, and where; nobody knows of it yet."""

        async def make() -> tuple[HeardBroker, int]:
            made = HeardBroker()
            return made, await made.start()

        self.brokers[number], _ = made = self.run(make())
        return made

    def open(self, broker_id: int, port: int, *, life: int = 1) -> None:
        """Open a channel to one life of a broker."""
        endpoints = (Endpoint("127.0.0.1", port),)
        self.channels.open(Broker(BrokerId(broker_id), endpoints), broker_epoch(broker_id, life))

    def close(self) -> None:
        """End everything."""
        self.run(self.channels.stop())
        for heard in self.brokers.values():
            self.loop.call_soon_threadsafe(heard.holds.set)
            self.run(heard.stop())
        self.run(_settle())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


async def _settle() -> None:
    """Let what was cancelled come to its end."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    """Benches with settings of their own."""
    with ExitStack() as ends:

        def make(**settings: Any) -> Bench:
            made = Bench(**settings)
            ends.callback(made.close)
            return made

        yield make


@pytest.fixture
def bench(make_bench: Callable[[], Bench]) -> Bench:
    return make_bench()


def metadata(number: int) -> UpdateMetadata:
    """A request, told apart by its controller epoch."""
    return UpdateMetadata(BrokerId(100), ControllerEpoch(number), broker_epoch(1), (), ())


def leaderships(number: int) -> LeaderAndIsr:
    return LeaderAndIsr(BrokerId(100), ControllerEpoch(number), broker_epoch(1), ())


def epochs(heard: HeardBroker, count: int) -> list[int]:
    return [heard.calls.get(timeout=WAIT_S).request.controller_epoch for _ in range(count)]


@pytest.mark.requirement("C1", "C5")
def test_requests_arrive_in_order_and_answers_become_events(bench: Bench) -> None:
    """Each with the epochs of the request that it answers."""
    heard = bench.broker(1)
    heard.answer = ControlAnswer(ErrorCode.STALE_BROKER_EPOCH)

    bench.channels.send(BrokerId(1), leaderships(1))
    bench.channels.send(BrokerId(1), metadata(2))

    first, second = (bench.events.get(timeout=WAIT_S) for _ in range(2))
    assert epochs(heard, 2) == [1, 2]
    assert isinstance(first, LeaderAndIsrAnswered)
    assert isinstance(second, UpdateMetadataAnswered)
    assert (first.controller_epoch, second.controller_epoch) == (1, 2)
    assert second.answer.error is ErrorCode.STALE_BROKER_EPOCH
    assert second.broker_epoch == broker_epoch(1)


@pytest.mark.requirement("C1")
def test_the_next_request_waits_for_the_answer_to_the_one_before(bench: Bench) -> None:
    """So that nothing can overtake, even on a connection that breaks."""
    heard = bench.broker(1)
    bench.loop.call_soon_threadsafe(heard.holds.clear)

    bench.channels.send(BrokerId(1), metadata(1))
    bench.channels.send(BrokerId(1), metadata(2))
    assert epochs(heard, 1) == [1]

    # The broker may have heard the first before the loop was handed the second.
    assert bench.queue_lengths() == [2]
    assert heard.calls.empty()
    bench.loop.call_soon_threadsafe(heard.holds.set)
    assert epochs(heard, 1) == [2]


def test_a_request_of_many_pieces_arrives_whole(bench: Bench) -> None:
    """More than a socket takes at once, and than is handed to it at once."""
    heard = bench.broker(1)
    told = tuple(
        PartitionMetadata(
            "t",
            index,
            ControllerEpoch(1),
            BrokerId(1),
            LeaderEpoch(2),
            ids(1, 2),
            ZkVersion(3),
            ids(1),
        )
        for index in range(20_000)
    )
    request = UpdateMetadata(BrokerId(100), ControllerEpoch(1), broker_epoch(1), told, ())

    bench.channels.send(BrokerId(1), request)

    assert heard.calls.get(timeout=WAIT_S).request.partitions == told


@pytest.mark.requirement("C1")
def test_a_slow_broker_delays_nobody_else(bench: Bench) -> None:
    """The other one's answer comes while the first still thinks."""
    slow, quick = bench.broker(1), bench.broker(2)
    bench.loop.call_soon_threadsafe(slow.holds.clear)

    bench.channels.send(BrokerId(1), metadata(1))
    bench.channels.send(BrokerId(2), metadata(2))

    answered = bench.events.get(timeout=WAIT_S)
    assert isinstance(answered, UpdateMetadataAnswered)
    assert answered.broker_id == 2
    assert epochs(quick, 1) == [2]


@pytest.mark.requirement("C2")
def test_a_request_whose_connection_broke_is_sent_again_before_the_next(bench: Bench) -> None:
    """Twice if it must be, and nothing overtakes it."""
    heard = bench.broker(1)
    heard.mischief = ["close", "close"]

    bench.channels.send(BrokerId(1), metadata(1))
    bench.channels.send(BrokerId(1), metadata(2))

    assert epochs(heard, 4) == [1, 1, 1, 2]
    assert heard.connections == 3


@pytest.mark.requirement("C2")
def test_a_broker_that_does_not_listen_yet_hears_it_later(bench: Bench) -> None:
    """It is registered, so it will come."""

    async def free_port() -> int:
        probe = HeardBroker()
        port = await probe.start()
        await probe.stop()
        return port

    port = bench.run(free_port())
    bench.open(1, port)
    bench.channels.send(BrokerId(1), metadata(1))

    async def late() -> HeardBroker:
        heard = HeardBroker()
        await heard.start(port)
        return heard

    heard = bench.brokers[1] = bench.run(late())
    assert epochs(heard, 1) == [1]


def test_a_new_life_starts_with_an_empty_queue(bench: Bench) -> None:
    """What its last life was to be told is nothing to it."""
    heard = bench.broker(1)
    bench.loop.call_soon_threadsafe(heard.holds.clear)
    bench.channels.send(BrokerId(1), metadata(1))
    bench.channels.send(BrokerId(1), metadata(2))
    assert epochs(heard, 1) == [1]

    (channel,) = bench.channels.by_broker.values()
    bench.open(1, channel.endpoint.port, life=2)
    bench.channels.send(BrokerId(1), metadata(3))
    bench.loop.call_soon_threadsafe(heard.holds.set)

    assert epochs(heard, 1) == [3]
    answered = bench.events.get(timeout=WAIT_S)
    assert isinstance(answered, UpdateMetadataAnswered)
    assert answered.broker_epoch == broker_epoch(1, 2)


def test_nothing_is_sent_to_a_broker_without_a_channel(bench: Bench) -> None:
    """Neither to one that was never there nor to one that is gone."""
    heard = bench.broker(1)
    bench.channels.send(BrokerId(1), metadata(1))
    assert epochs(heard, 1) == [1]
    bench.events.get(timeout=WAIT_S)

    bench.channels.close_all()
    bench.channels.send(BrokerId(1), metadata(2))
    bench.channels.send(BrokerId(9), metadata(2))
    bench.run(bench.channels.stop())

    assert heard.calls.empty()
    assert not bench.channels.by_broker


@pytest.mark.requirement("C4")
def test_a_broker_that_speaks_older_versions_hears_those(bench: Bench) -> None:
    """Negotiated down on each connection."""
    heard = bench.broker(1)
    older = {ApiKey.UPDATE_METADATA: 5, ApiKey.LEADER_AND_ISR: 2}
    heard.served = tuple(
        Api(a.key, a.name, a.first_version, older.get(a.key, a.last_version), a.flexible_since)
        for a in APIS.values()
    )

    bench.channels.send(BrokerId(1), metadata(1))
    bench.channels.send(BrokerId(1), leaderships(2))

    versions = [heard.calls.get(timeout=WAIT_S).header.api_version for _ in range(2)]
    assert versions == [5, 2]


def test_a_broker_without_a_listener_for_us_is_complained_of(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """And not taken for one that has been told."""
    secret = Endpoint("127.0.0.1", 1, "SECRET", "SSL")
    bench.channels.open(Broker(BrokerId(1), (secret,)), broker_epoch(1))
    bench.channels.send(BrokerId(1), metadata(1))

    assert "broker 1 has no PLAINTEXT listener" in caplog.text
    assert "SECRET:SSL" in caplog.text


# --- peers that never answer --------------------------------------------------------------------


@pytest.fixture
def mute() -> Iterator[tuple[Queue[bytes], int]]:
    """Takes a connection, reads one byte and never answers; what it read, and where it listens."""
    read: Queue[bytes] = Queue()
    with socket.create_server(("127.0.0.1", 0)) as server:
        callers: list[socket.socket] = []

        def listen() -> None:
            with suppress(OSError):
                while True:
                    callers.append(server.accept()[0])
                    read.put(callers[-1].recv(1))

        thread = threading.Thread(target=listen)
        thread.start()
        yield read, server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for caller in callers:
        caller.close()


@pytest.mark.behaviour("chn-023")
def test_the_end_does_not_wait_for_a_peer_that_never_answers(
    make_bench: Callable[..., Bench], mute: tuple[Queue[bytes], int]
) -> None:
    """A request may take ten minutes; the end of a reign may not."""
    bench = make_bench(timeout_ms=600_000)
    read, port = mute
    bench.open(1, port)
    bench.channels.send(BrokerId(1), metadata(1))
    read.get(timeout=WAIT_S)

    bench.run(bench.channels.stop())

    assert bench.events.empty()


def test_a_peer_that_never_answers_is_named_with_how_long_that_was(
    make_bench: Callable[..., Bench],
    mute: tuple[Queue[bytes], int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once, and not three times a second."""
    bench = make_bench(timeout_ms=20)
    read, port = mute
    bench.open(1, port)
    bench.channels.send(BrokerId(1), metadata(1))

    for _ in range(3):
        read.get(timeout=WAIT_S)

    assert caplog.text.count(f"broker 1 at 127.0.0.1:{port}: no answer within 20 ms") == 1


# --- listeners ----------------------------------------------------------------------------------


@pytest.mark.behaviour("chn-025")
def test_with_a_listener_of_their_own_brokers_are_told_there_and_only_there(
    make_bench: Callable[..., Bench],
) -> None:
    """What one broker is told of another is where brokers listen for each other."""
    bench = make_bench(listener="INSIDE", control_listener="CONTROL")
    (inside, inside_port), (control, control_port) = bench.listener(1), bench.listener(2)
    endpoints = (
        Endpoint("127.0.0.1", inside_port, "INSIDE"),
        Endpoint("127.0.0.1", control_port, "CONTROL"),
    )
    bench.channels.open(Broker(BrokerId(1), endpoints), broker_epoch(1))

    bench.channels.send(BrokerId(1), metadata(1))

    assert epochs(control, 1) == [1]
    assert isinstance(bench.events.get(timeout=WAIT_S), UpdateMetadataAnswered)
    assert (control.calls.empty(), control.connections) == (True, 1)
    assert inside.connections == 0
    bench.channels.send(BrokerId(1), led_by_1(2))
    assert epochs(control, 1) == [2]
    assert says_port(control, inside_port)
    assert not says_port(control, control_port)


@pytest.mark.fault("F22")
def test_a_broker_that_moved_is_reached_and_told_of_where_it_is_now(bench: Bench) -> None:
    """Its old address is forgotten with its old channel."""
    bench.broker(1)
    moved, port = bench.listener(2)
    bench.open(1, port, life=2)

    bench.channels.send(BrokerId(1), led_by_1(2))

    assert epochs(moved, 1) == [2]
    assert says_port(moved, port)


def says_port(heard: HeardBroker, port: int) -> bool:
    """Whether the last request had this port in it, as the protocol writes it."""
    return port.to_bytes(4) in heard.last_message


def led_by_1(number: int) -> LeaderAndIsr:
    """A request that has to say where broker 1 is."""
    return LeaderAndIsr(
        BrokerId(100), ControllerEpoch(number), broker_epoch(1), (), live_leaders=(BrokerId(1),)
    )
