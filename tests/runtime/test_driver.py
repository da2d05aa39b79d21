"""The driver on its own: a session that misbehaves, and what a controller makes of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from typing import Any

import pytest

from regent.core.controller import Controller
from regent.core.effects import Reply
from regent.core.events import ElectLeadersRequested
from regent.errors import BadInput, RegentError
from regent.journal.record import Record
from regent.model.admin_requests import ElectionType, ElectLeaders, ElectLeadersAnswer
from regent.model.brokers import Broker
from regent.model.control_requests import ControlRequest
from regent.model.error_codes import ErrorCode
from regent.model.facts import ControllerElected, ControllerResigned, EventFailed, FactBase
from regent.model.ids import BrokerEpoch, BrokerId
from regent.runtime import driver as driver_module
from regent.runtime.driver import ControllerDriver, mint_topic_id
from regent.runtime.inbox import Inbox, now_ms
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import Answered, Failed, Request, WatchEvent, ZkError
from regent.zookeeper.writes import ensure_paths
from tests.support.waiting import eventually

NODE = BrokerId(1)


class NoChannels:
    """Nobody is told anything."""

    def open(self, broker: Broker, broker_epoch: BrokerEpoch) -> None:
        """Nothing."""

    def close(self, broker_id: BrokerId) -> None:
        """Nothing."""

    def close_all(self) -> None:
        """Nothing."""

    def send(self, broker_id: BrokerId, request: ControlRequest) -> None:
        """Nothing."""


class Memory:
    """A session with the ZooKeeper in memory that can be made to refuse, and to end."""

    def __init__(self, server: MemoryZooKeeper, on_watch: Callable[[WatchEvent], None]) -> None:
        self._session = MemorySession(server)
        self._on_watch = on_watch
        self.refusals = 0
        self.is_over = False

    @property
    def session_id(self) -> int:
        """Of the session in memory."""
        return self._session.session_id

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Answer, refuse, or be over."""
        if self.is_over:
            return [Failed(ZkError.SESSION_EXPIRED)] * len(requests)
        if self.refusals:
            self.refusals -= 1
            return [Failed(ZkError.NO_AUTH)] * len(requests)
        answers = self._session.call(requests)
        for event in self._session.watch_events():
            self._on_watch(event)
        return answers

    def watch_events(self) -> Sequence[WatchEvent]:
        """They are passed on as they come."""
        return ()

    def close(self) -> None:
        """End it."""
        self._session.close()


class Bench:
    """A driver in its thread, and everything that comes out of it."""

    def __init__(self) -> None:
        self.server = MemoryZooKeeper()
        self.inbox = Inbox()
        self.facts: list[FactBase] = []
        self.replies: Queue[Reply] = Queue()
        self.sessions: list[Memory] = []
        self.ends: list[Callable[[], None]] = []
        #: How the next sessions fail to open.
        self.failures: list[RegentError] = []
        self.refusals = 0
        self.controller = Controller(NODE)
        self.driver = ControllerDriver(
            self.controller,
            self.inbox,
            open_session=self._open,
            register=_nothing,
            channels=NoChannels(),
            journal=self,
            reply=self.replies.put,
        )

    def append(self, records: Sequence[Record]) -> None:
        """Keep what happened."""
        self.facts += [record.fact for record in records]

    def _open(self, on_watch: Callable[[WatchEvent], None], on_end: Callable[[], None]) -> Memory:
        if self.failures:
            raise self.failures.pop(0)
        session = Memory(self.server, on_watch)
        run(session, ensure_paths())
        session.refusals = self.refusals
        self.sessions.append(session)
        self.ends.append(on_end)
        return session

    def wait_for(self, *kinds: type[FactBase]) -> None:
        """Until such facts have been recorded, in this order."""

        def look() -> bool:
            remaining = iter(self.facts)
            return all(any(isinstance(fact, kind) for fact in remaining) for kind in kinds)

        eventually(look, f"{[kind.__name__ for kind in kinds]}")

    @contextmanager
    def running(self) -> Iterator[None]:
        """With the driver's thread."""
        thread = threading.Thread(target=self.driver.run)
        thread.start()
        try:
            yield
        finally:
            self.inbox.stop()
            thread.join()


def _nothing(_session_id: int) -> Exchange[None]:
    return
    yield


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(driver_module, "BACKOFF_S", (0.001,))
    return Bench()


def test_an_unforeseen_answer_makes_it_resign_and_stand_again(bench: Bench) -> None:
    """Another may start clean; if there is no other, it does so itself, after a while."""
    bench.refusals = 1
    with bench.running():
        bench.wait_for(EventFailed, ControllerElected)

    (failed,) = [fact for fact in bench.facts if isinstance(fact, EventFailed)]
    assert "NO_AUTH" in failed.reason


def test_a_session_that_ends_is_resigned_from_before_the_next_is_opened(bench: Bench) -> None:
    """And whoever waits for an answer of the old one is told."""
    with bench.running():
        bench.wait_for(ControllerElected)
        bench.sessions[0].is_over = True
        bench.inbox.put(ElectLeadersRequested(now_ms(), 9, ElectLeaders(ElectionType.PREFERRED)))
        bench.ends[0]()
        bench.wait_for(ControllerElected, ControllerResigned, ControllerElected)

        answer = bench.replies.get(timeout=60)

    assert isinstance(answer.answer, ElectLeadersAnswer)
    assert (answer.request_id, answer.answer.error) == (9, ErrorCode.NOT_CONTROLLER)
    assert len(bench.sessions) == 2


def test_a_zookeeper_that_cannot_be_reached_is_tried_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """With the reason, for as long as it takes."""
    bench.failures = [RegentError("nobody answers at zk:2181")] * 3
    with bench.running():
        bench.wait_for(ControllerElected)

    assert caplog.text.count("nobody answers at zk:2181; trying again") == 3


def test_what_only_a_person_can_repair_is_not_tried_again(bench: Bench) -> None:
    """A wrong chroot will not become right by waiting."""
    bench.failures = [BadInput("there is no znode /kafka")]

    with pytest.raises(BadInput, match="/kafka"):
        bench.driver.run()


def test_a_reading_is_made_between_two_events(bench: Bench) -> None:
    """In the controller's own thread."""
    seen: Queue[Any] = Queue()
    with bench.running():
        bench.wait_for(ControllerElected)
        bench.inbox.read(
            lambda: seen.put((threading.current_thread(), bench.controller.state.is_active))
        )

        thread, is_active = seen.get(timeout=60)

    assert thread is not threading.current_thread()
    assert is_active


def test_stopping_gives_the_role_up(bench: Bench) -> None:
    """`/controller` is free, and nothing more is taken."""
    with bench.running():
        bench.wait_for(ControllerElected)

    assert bench.facts[-1] == ControllerResigned("asked to resign")
    assert bench.inbox.events.is_closed


def test_topic_ids_are_kafkas_and_never_look_like_an_option() -> None:
    """22 characters; the tools take a leading dash for one."""
    minted = {mint_topic_id() for _ in range(2_000)}

    assert len(minted) == 2_000
    assert {len(each) for each in minted} == {22}
    assert not any(each.startswith("-") for each in minted)
