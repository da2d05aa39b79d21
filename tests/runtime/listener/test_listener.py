"""The port itself: frames, order, limits, strangers, and the end."""

import asyncio
import logging
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from regent.errors import BadInput, SessionLost
from regent.model.admin_requests import ControlledShutdown, ElectionType, ElectLeaders
from regent.model.cluster_requests import DescribeCluster, Metadata
from regent.model.ids import BrokerId
from regent.runtime.api_table import SERVED
from regent.runtime.caller_connection import CallerConnection, ConnectionSettings
from regent.runtime.listener import ACCEPTED_MAX, Listener, ListenerSettings, bind
from regent.wire.apis import ADVERTISED_SINCE, ApiKey
from regent.wire.exchange import Call, decode_answer, encode_request, encode_request_values
from regent.wire.frames import to_frame
from regent.wire.headers import RequestHeader
from regent.wire.limits import WireLimits
from tests.runtime.listener.served_node import (
    HOST,
    PATIENCE_S,
    ServedCluster,
    ServedNode,
    read_message,
    to_request,
)

API_VERSIONS = RequestHeader(ApiKey.API_VERSIONS, 3, 7, "test")
SOFTWARE = {"client_software_name": "test", "client_software_version": "1"}


def is_alive(node: ServedNode) -> bool:
    """Whether somebody else still gets an answer."""
    return bool(node.ask(DescribeCluster()).nodes)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "regent" in record.name]


# --- what is spoken -----------------------------------------------------------------------------


def test_clients_hear_what_they_may_ask(cluster: ServedCluster) -> None:
    node = cluster.serve()
    with node.connect() as link:
        link.sendall(encode_request_values(API_VERSIONS, SOFTWARE))
        message = read_message(link)

    assert message is not None
    got = decode_answer(Call(API_VERSIONS, None), message)
    told = {entry.api_key: (entry.min_version, entry.max_version) for entry in got.api_keys}
    assert told == {
        api.key: (ADVERTISED_SINCE.get(api.key, api.first_version), api.last_version)
        for api in SERVED
    }
    assert ApiKey.LEADER_AND_ISR not in told


def test_a_client_from_the_future_is_told_in_version_0_and_may_ask_again(
    cluster: ServedCluster,
) -> None:
    """So does every client that is newer than we are, on the same connection."""
    node = cluster.serve()
    with node.connect() as link:
        link.sendall(to_frame(bytes.fromhex("0012 0063 00000009 0001 61 00 ffffff")))
        first = read_message(link)
        link.sendall(encode_request_values(API_VERSIONS, SOFTWARE))
        second = read_message(link)

    assert first is not None
    assert first[:6] == struct.pack(">ih", 9, 35)
    assert second is not None
    assert decode_answer(Call(API_VERSIONS, None), second).error_code == 0


def test_answers_come_in_the_order_of_the_requests(cluster: ServedCluster) -> None:
    """However fast each can be answered: a client has nothing else to tell them apart by."""
    node = cluster.serve()
    requests = [Metadata(), ElectLeaders(ElectionType.PREFERRED), DescribeCluster()] * 10
    calls = [to_request(each, correlation_id=number) for number, each in enumerate(requests)]
    with node.connect() as link:
        link.sendall(b"".join(map(encode_request, calls)))
        messages = [read_message(link) for _ in calls]

    numbers = [int.from_bytes(message[:4]) for message in messages if message is not None]
    assert numbers == list(range(len(calls)))


def test_a_frame_may_come_byte_by_byte(cluster: ServedCluster) -> None:
    node = cluster.serve()
    call = to_request(DescribeCluster())
    with node.connect() as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in encode_request(call):
            link.sendall(bytes([byte]))
        message = read_message(link)

    assert message is not None
    assert decode_answer(call, message).controller_id == 100


def test_many_callers_are_served_at_once(cluster: ServedCluster) -> None:
    node = cluster.serve()
    links = [node.connect() for _ in range(200)]
    try:
        for link in links:
            link.sendall(encode_request(to_request(DescribeCluster())))
        assert all(read_message(link) for link in links)
    finally:
        for link in links:
            link.close()


# --- strangers ----------------------------------------------------------------------------------

STRANGERS = {
    "a length of 2 GB": (b"\x7f\xff\xff\xff", "2147483647 bytes"),
    "a negative length": (b"\xff\xff\xff\xff", "-1 bytes"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "bytes"),
    "TLS": (bytes.fromhex("160301 00f8 010000f4 0303") + bytes(300), "bytes"),
    "an empty frame": (to_frame(b""), "has no header"),
    "half a header": (to_frame(b"\0\3\0"), "has no header"),
    "an unknown API": (to_frame(struct.pack(">hhih", 999, 0, 1, -1)), "API key 999"),
    "an unknown version": (
        to_frame(struct.pack(">hhih", ApiKey.CREATE_TOPICS, 99, 1, -1)),
        "not spoken in version 99",
    ),
    "a request for brokers": (
        to_frame(
            struct.pack(">hhihb", ApiKey.UPDATE_METADATA, 8, 1, -1, 0)
            + bytes.fromhex("00000064 00 01 00000001 0000000000000001 01 01 00")
        ),
        "UpdateMetadata",
    ),
    "garbage in a request": (
        to_frame(struct.pack(">hhih", ApiKey.METADATA, 8, 1, -1) + b"\x7f" * 9),
        "MetadataRequest",
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers_are_hung_up_on_with_one_line(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """And everybody else goes on."""
    node = cluster.serve()
    content, reason = STRANGERS[name]
    with caplog.at_level(logging.INFO), node.connect() as link:
        link.sendall(content)

        assert read_message(link) is None

    (line,) = lines_of(caplog)
    assert reason in line
    assert is_alive(node)


def test_half_a_frame_is_no_request(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    node = cluster.serve()
    frame = encode_request(to_request(DescribeCluster()))
    with caplog.at_level(logging.INFO), node.connect() as link:
        link.sendall(frame[: len(frame) // 2])
        link.shutdown(socket.SHUT_WR)

        assert read_message(link) is None

    (line,) = lines_of(caplog)
    assert "it ended within a frame" in line
    assert is_alive(node)


def test_a_failure_of_ours_costs_one_connection(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """What nobody foresaw is told in full, and the node lives."""
    node = cluster.serve()
    node.desk.failure = ZeroDivisionError("unforeseen")
    with node.connect() as link:
        link.sendall(encode_request(to_request(Metadata())))

        assert read_message(link) is None

    node.desk.failure = None
    assert "ZeroDivisionError" in caplog.text
    assert is_alive(node)


def test_without_zookeeper_there_is_a_line_and_no_answer(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """That is foreseen, and needs no traceback. The caller may try another node."""
    node = cluster.serve()
    node.desk.failure = SessionLost("there is no session")
    with node.connect() as link:
        link.sendall(encode_request(to_request(Metadata())))

        assert read_message(link) is None

    node.desk.failure = None
    (line,) = lines_of(caplog)
    assert "there is no session" in line
    assert "Traceback" not in caplog.text


# --- limits -------------------------------------------------------------------------------------


def test_a_caller_that_only_sends_is_read_no_further(cluster: ServedCluster) -> None:
    """Its requests wait in its own buffers, not in ours; when it is answered, it is read again."""
    settings = ListenerSettings(connection=ConnectionSettings(unanswered_max=5))
    node = cluster.serve(settings=settings)
    node.do(node.desk.gate.clear)
    frame = encode_request(to_request(Metadata(("x" * 30_000,))))
    with node.connect() as link:
        link.settimeout(0.5)
        with pytest.raises(TimeoutError):
            link.sendall(frame * 4_000)
        wait_until(lambda: node.desk.look_count == 1)

        link.settimeout(PATIENCE_S)
        node.do(node.desk.gate.set)
        assert [read_message(link) is not None for _ in range(20)] == [True] * 20


#: Requests with large answers, more of them than any buffer between two processes holds.
LARGE_COUNT = 60
LARGE = encode_request(to_request(Metadata(tuple(f"{n:0200}" for n in range(2_000))))) * LARGE_COUNT


def test_a_caller_that_takes_no_answers_gets_no_more_of_them(cluster: ServedCluster) -> None:
    """They would pile up here; when it takes them, it gets them all."""
    node = cluster.serve()
    listener = node.listener
    assert listener is not None
    with node.connect() as link:
        sending = threading.Thread(target=lambda: link.sendall(LARGE))
        sending.start()
        wait_until(lambda: any(not each._can_write.is_set() for each in [*listener._connections]))
        assert node.desk.look_count < LARGE_COUNT

        messages = [read_message(link) for _ in range(LARGE_COUNT)]
        sending.join(PATIENCE_S)

    assert None not in messages
    assert node.desk.look_count == LARGE_COUNT


def test_a_caller_that_never_takes_its_answers_is_hung_up_on(cluster: ServedCluster) -> None:
    """Though we owe it one: it is not us who keep it waiting."""
    node = cluster.serve(settings=ListenerSettings(idle_ms=200))
    with node.connect() as link, pytest.raises(ConnectionError):
        link.sendall(LARGE)

    assert node.desk.look_count < LARGE_COUNT


def test_one_too_many_is_turned_away(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    node = cluster.serve(settings=ListenerSettings(connections_max=2))
    frame = encode_request(to_request(DescribeCluster()))
    with node.connect() as first, node.connect() as second:
        for link in (first, second):
            link.sendall(frame)
            assert read_message(link) is not None
        with caplog.at_level(logging.INFO), node.connect() as third:
            assert read_message(third) is None
        (line,) = lines_of(caplog)
        assert "turned away" in line
        first.sendall(frame)
        assert read_message(first) is not None


def test_who_is_silent_too_long_is_hung_up_on(cluster: ServedCluster) -> None:
    """Within a frame as well as between two."""
    node = cluster.serve(settings=ListenerSettings(idle_ms=50))
    for content in (b"", b"\0\0", encode_request(to_request(DescribeCluster()))[:-1]):
        with node.connect() as link:
            link.sendall(content)
            assert read_message(link) is None


def test_who_waits_for_an_answer_is_not_idle(cluster: ServedCluster) -> None:
    node = cluster.serve(settings=ListenerSettings(idle_ms=2_000))
    node.do(node.desk.gate.clear)
    with node.connect() as waiting, node.connect() as silent:
        waiting.sendall(encode_request(to_request(DescribeCluster())))
        assert read_message(silent) is None  # so the idle ones have been looked for
        with node.connect() as silent_again:
            assert read_message(silent_again) is None

        node.do(node.desk.gate.set)
        assert read_message(waiting) is not None


def test_a_frame_over_the_limit_is_refused_before_it_comes(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    limits = WireLimits(frame_bytes=1_000)
    settings = ListenerSettings(connection=ConnectionSettings(limits=limits))
    node = cluster.serve(settings=settings)
    with node.connect() as link:
        link.sendall(struct.pack(">i", 1_001))

        assert read_message(link) is None

    assert "1000 are allowed" in caplog.text


# --- the end ------------------------------------------------------------------------------------


def test_at_the_end_answers_under_way_go_out(cluster: ServedCluster) -> None:
    """No new requests are begun, and nobody new is let in."""
    node = cluster.serve()
    node.do(node.desk.gate.clear)
    with node.connect() as busy, node.connect() as idle:
        busy.sendall(encode_request(to_request(DescribeCluster())) * 2)
        wait_until(lambda: node.desk.look_count == 1)
        stopping = threading.Thread(target=lambda: node.run(node.close()))
        stopping.start()
        assert read_message(idle) is None
        with pytest.raises(ConnectionRefusedError):
            node.connect()
        node.do(node.desk.gate.set)
        stopping.join(PATIENCE_S)

        assert read_message(busy) is not None
        assert read_message(busy) is None
        assert node.desk.look_count == 1


def test_at_the_end_nobody_is_waited_for_too_long(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    node = cluster.serve(settings=ListenerSettings(grace_ms=10))
    node.do(node.desk.gate.clear)
    with node.connect() as link:
        link.sendall(encode_request(to_request(DescribeCluster())))
        wait_until(lambda: node.desk.look_count == 1)
        node.run(node.close())

        assert read_message(link) is None
    assert "1 callers are left without an answer" in caplog.text


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if is_so():
            return
        threading.Event().wait(0.001)
    pytest.fail("it never was so")


def answers_under_way() -> list[str]:
    names = (task.get_name() for task in asyncio.all_tasks())
    return [name for name in names if name.startswith("answers to")]


def test_an_answer_to_nobody_is_dropped(cluster: ServedCluster) -> None:
    """Nobody goes on waiting for the sake of a caller that has hung up."""
    node = cluster.serve()
    node.do(node.desk.gate.clear)
    with node.connect() as link:
        link.sendall(encode_request(to_request(DescribeCluster())))
        wait_until(lambda: node.desk.look_count == 1)
    listener = node.listener
    assert listener is not None
    wait_until(lambda: listener.connection_count == 0)
    wait_until(lambda: node.do(answers_under_way) == [])
    node.do(node.desk.gate.set)

    assert is_alive(node)


# --- the address --------------------------------------------------------------------------------


def test_a_port_in_use_is_said_so_with_what_to_do() -> None:
    with bind(HOST, 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(BadInput, match=rf"{HOST}:{port}: another process .* another port"):
            bind(HOST, port)


def test_a_port_that_is_lost_between_bind_and_start_is_said_so(cluster: ServedCluster) -> None:
    """Two sockets may have the same address, until one of them listens."""
    node = cluster.serve()
    with bind(HOST, 0) as first, bind(HOST, first.getsockname()[1]) as second:
        first.listen()

        with pytest.raises(BadInput, match="another process listens there"):
            node.run(Listener(node.desk).start(second))


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("192.0.2.1", 0, "no such address"),
        ("no-such-host.invalid", 9092, "cannot listen on no-such-host.invalid:9092"),
        (HOST, 70_000, "ports go up to 65535"),
    ],
)
def test_an_address_that_cannot_be_is_refused(host: str, port: int, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        bind(host, port)


def test_a_broker_of_the_oldest_kind_may_go(cluster: ServedCluster) -> None:
    """ControlledShutdown 0 has a header without a client id."""
    node = cluster.serve()
    cluster.start_brokers(1)

    answer = node.ask(ControlledShutdown(BrokerId(1)), api_version=0)

    assert (answer.error, answer.remaining) == (0, ())


class OpenedTransport(asyncio.Transport):
    """A connection that nothing is ever said on."""

    def __init__(self) -> None:
        super().__init__({"peername": (HOST, 1)})
        self.is_closed = False

    def close(self) -> None:
        """Hang up."""
        self.is_closed = True


def test_a_caller_that_comes_while_the_node_ends_is_hung_up_on() -> None:
    """It is accepted a moment before its connection is made."""

    async def script() -> OpenedTransport:
        async def no_answer(_call: Call, _peer: str) -> bytes:
            raise AssertionError("nobody asks")

        connection = CallerConnection(ConnectionSettings(), no_answer, lambda _lost: None)
        transport = OpenedTransport()
        connection.finish()
        connection.connection_made(transport)
        return transport

    assert asyncio.run(script()).is_closed


#: Says how often it complained while there was no descriptor left for its callers.
WITHOUT_DESCRIPTORS: Final = """
import asyncio, os, resource, socket
from regent.runtime.listener import Listener, bind

async def main():
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, each: complaints.append(each))
    bound = bind("127.0.0.1", 0)
    callers = [socket.socket() for _ in range(40)]
    listener = Listener(None)
    await listener.start(bound)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 3, used + 3))
    for caller in callers:
        caller.setblocking(False)
        caller.connect_ex(bound.getsockname())
    await asyncio.sleep(0.3)
    print(len(complaints))

asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_callers_without_a_descriptor_fill_no_log() -> None:
    """Asyncio complains once for each that it may accept at a turn."""
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", WITHOUT_DESCRIPTORS],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert 0 < int(ended.stdout) <= 2 * ACCEPTED_MAX
