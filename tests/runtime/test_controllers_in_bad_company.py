"""A controller in office among callers, brokers, znodes and disks that are not as they should be.

Each costs something that has to do with it. The role, and what others are served, it does not.
"""

import resource
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from regent.cli.main import main
from regent.core.asks import ReadLeaderships
from regent.core.state import Partition
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint
from regent.model.cluster_requests import Metadata, MetadataAnswer
from regent.model.facts import MoveRefused, ZnodeIsolated
from regent.model.ids import NO_LEADER, BrokerId
from regent.model.leadership import Leadership
from regent.wire.apis import ApiKey
from regent.wire.exchange import decode_answer, encode_request
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.performer import perform
from regent.zookeeper.registration import register_broker
from regent.zookeeper.store import Create, Done, SetData
from tests.runtime.listener.served_node import read_message, to_request
from tests.support.builders import ids
from tests.support.controllers import ControllerProcess, log_lines, wait_for_log
from tests.support.leading import Leading
from tests.support.topics import write_topic
from tests.support.waiting import eventually

WAIT_S = 60
LOG_AND_MORE_BYTES = 100_000


def leadership_of(leading: Leading, topic: str, index: int) -> Leadership | None:
    """What ZooKeeper says; None if nothing that can be read."""
    partition = Partition(topic, index, Assignment(ids(1)))
    (found,) = run(leading.controllers.session, perform(ReadLeaderships([partition])))
    return found if isinstance(found, Leadership) else None


def wait_until_led(
    leading: Leading, topic: str, count: int = 1, *, without: int | None = None
) -> None:
    """Every partition of a topic has a leader, and not this one."""

    def is_led(index: int) -> bool:
        found = leadership_of(leading, topic, index)
        return found is not None and found.leader not in (NO_LEADER, without)

    eventually(lambda: all(map(is_led, range(count))), f"leaders of {topic}")


def ask_for_metadata(leading: Leading) -> MetadataAnswer:
    """As any client does first."""
    call = to_request(Metadata())
    with socket.create_connection(leading.address, timeout=WAIT_S) as link:
        link.sendall(encode_request(call))
        message = read_message(link)
    assert message is not None, "it hung up"
    answer = decode_answer(call, message)
    assert isinstance(answer, MetadataAnswer)
    return answer


# --- callers ------------------------------------------------------------------------------------


def frame(api_key: int, api_version: int = 0) -> bytes:
    header = struct.pack(">hhih", api_key, api_version, 1, -1)
    return struct.pack(">i", len(header)) + header


# fmt: off
STRANGERS: dict[str, bytes] = {
    "HTTP":                     b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros":                    bytes(100),
    "a length of 2 GB":         struct.pack(">i", 2**31 - 1) + b"x" * 100,
    "a length below zero":      struct.pack(">i", -1),
    "an API that is unknown":   frame(9_999),
    "a version to come":        frame(ApiKey.METADATA, 999),
    "an API for brokers":       frame(ApiKey.LEADER_AND_ISR, 1),
    "a request without a body": frame(ApiKey.CREATE_TOPICS, 2),
}
# fmt: on


def test_strangers_lose_their_connection_and_nobody_else_anything(leading: Leading) -> None:
    """One after the other, at a controller in office; each has one line in the log."""
    for sent in STRANGERS.values():
        with socket.create_connection(leading.address, timeout=WAIT_S) as link:
            link.sendall(sent)
            # It may be told something first, as whoever speaks a version to come is.
            while read_message(link) is not None:
                pass
    with socket.create_connection(leading.address, timeout=WAIT_S) as half:
        half.sendall(frame(ApiKey.METADATA)[:7])
        answered = ask_for_metadata(leading)
    wait_for_log(leading.process, "it ended within a frame")

    assert {node.node_id for node in answered.nodes} == {1, 2, 3, 100}
    assert ask_for_metadata(leading).controller_id == 100
    assert leading.controllers.elected().controller_epoch == 1
    closed = log_lines(leading.process, "the connection of 127.0.0.1:", "is closed")
    assert len(closed) == len(STRANGERS) + 1
    assert log_lines(leading.process, "Traceback") == []


# --- znodes -------------------------------------------------------------------------------------


def test_a_topic_that_makes_no_sense_is_named_and_left_alone(leading: Leading) -> None:
    """Others that come with it and after it are served; repaired, it is served too."""
    session = leading.controllers.session
    bad = paths.topic("bad")
    assert isinstance(session.call((Create(bad, b'{"version":2,"partitions":'),))[0], Done)
    write_topic(session, "good", {0: (1, 2)})

    wait_until_led(leading, "good")
    eventually(lambda: isolated(leading.process) == [bad], "the journal's word of it")
    assert log_lines(leading.process, bad, "cannot be used")

    session.call((SetData(bad, b'{"version":2,"partitions":{"0":[2,3]},"adding_replicas":{}}'),))
    write_topic(session, "later", {0: (3,)})
    wait_until_led(leading, "later")
    wait_until_led(leading, "bad")
    assert leading.controllers.elected().controller_epoch == 1


def test_a_state_that_makes_no_sense_costs_one_partition(leading: Leading) -> None:
    """The one beside it is led by another when its leader dies, also by the next controller."""
    session = leading.controllers.session
    write_topic(session, "orders", {0: (1, 2), 1: (1, 2)})
    wait_until_led(leading, "orders", 2)
    state = paths.partition_state("orders", 0)
    session.call((SetData(state, b"\xff not JSON"),))

    leading.brokers.kill(1)

    def second() -> bool:
        found = leadership_of(leading, "orders", 1)
        return found is not None and found.leader == 2

    eventually(second, "another leader of the partition beside it")
    eventually(lambda: state in refusals(leading.process), "the journal's word of it")
    assert leading.process.process.poll() is None

    successor = leading.controllers.start(101)
    leading.process.kill()
    assert leading.controllers.elected(after=1).node_id == 101
    leading.brokers.start(1)
    eventually(lambda: _isr_of(leading, 1) == {1, 2}, "the return of the dead one")
    eventually(lambda: isolated(successor) == [state], "its successor's word of it")
    assert log_lines(successor, state, "cannot be used")


def _isr_of(leading: Leading, index: int) -> set[int]:
    found = leadership_of(leading, "orders", index)
    return set() if found is None else set(found.isr)


def isolated(process: ControllerProcess) -> list[str]:
    """The znodes that it has set aside."""
    facts = [record.fact for record in process.records()]
    return list(dict.fromkeys(fact.path for fact in facts if isinstance(fact, ZnodeIsolated)))


def refusals(process: ControllerProcess) -> str:
    """Why moves did not happen, in a row."""
    facts = [record.fact for record in process.records()]
    return "\n".join(fact.reason for fact in facts if isinstance(fact, MoveRefused))


# --- brokers ------------------------------------------------------------------------------------


@contextmanager
def mute_broker(leading: Leading, broker_id: int) -> Iterator[None]:
    """Registered and listening; it takes connections and says nothing, ever."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        own = Broker(BrokerId(broker_id), (Endpoint("127.0.0.1", listener.getsockname()[1]),))
        session = KazooSession.open(leading.controllers.zookeeper)
        try:
            run(
                session,
                register_broker(
                    own, session_id=session.session_id, previous_session_id=None, now_ms=0
                ),
            )
            yield
        finally:
            session.close()


@pytest.mark.requirement("C2")
def test_a_broker_that_never_answers_delays_nobody(leading: Leading) -> None:
    """Others are told and elected as ever, and the node ends in time when it is told to."""
    with mute_broker(leading, 4):
        wait_for_log(leading.process, "broker 4 is up")
        write_topic(leading.controllers.session, "orders", {0: (4, 1), 1: (1, 2), 2: (2, 4)})
        wait_until_led(leading, "orders", 3)

        leading.brokers.kill(2)
        wait_until_led(leading, "orders", 3, without=2)
        eventually(
            lambda: 2 not in leading.brokers.by_id[1].live, "word of the death at the others"
        )

        leading.process.signal(signal.SIGTERM)
        assert leading.process.process.wait(WAIT_S) == 0
    assert leading.controllers.holder() is None


# --- the disk -----------------------------------------------------------------------------------


@contextmanager
def full_disk(leading: Leading) -> Iterator[None]:
    """No file of the process may grow beyond what its log needs, for a while."""
    pid = leading.process.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (LOG_AND_MORE_BYTES, most))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.requirement("X3")
def test_a_full_disk_stops_no_decision(leading: Leading) -> None:
    """It is said once; when there is room again the journal goes on where it stopped."""
    create = partial_main("topics", "create", "--bootstrap", leading.bootstrap)
    with full_disk(leading):
        assert create("many", "--partitions", "1000", "--replication-factor", "3") == 0
        wait_for_log(leading.process, "the journal in", "cannot be written")
        leading.brokers.kill(1)
        wait_until_led(leading, "many", 1000, without=1)
    assert create("few", "--replication-factor", "1") == 0

    wait_for_log(leading.process, "is written again; 0 records were dropped")
    numbers = [record.seq for record in leading.process.records()]
    assert all(after == before + 1 for before, after in pairwise(numbers))
    assert len(log_lines(leading.process, "cannot be written")) == 1
    assert leading.controllers.elected().controller_epoch == 1


def partial_main(*arguments: str) -> Callable[..., int]:
    def typed(*more: str) -> int:
        group, command, *options = arguments
        return main([group, command, *more, *options])

    return typed
