"""The driver on its own: a session that misbehaves, and what a controller makes of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from queue import Queue
from typing import Any

import pytest

from regent.core.controller import Controller
from regent.core.effects import Reply
from regent.core.events import ElectLeadersRequested, TopicDeletionRequested
from regent.errors import BadInput, RegentError
from regent.journal.record import FactBatch
from regent.model.admin_requests import (
    DeleteTopics,
    DeleteTopicsAnswer,
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
)
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlRequest, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.facts import ControllerElected, ControllerResigned, EventFailed, FactBase
from regent.model.ids import BrokerEpoch, BrokerId
from regent.runtime import driver as driver_module
from regent.runtime.driver import ControllerDriver, mint_uuid
from regent.runtime.inbox import Inbox, now_ms
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.registration import register_broker
from regent.zookeeper.store import Answered, Failed, Request, WatchEvent, ZkError
from regent.zookeeper.writes import ensure_paths
from tests.support.topics import write_topic
from tests.support.waiting import eventually

NODE = BrokerId(1)


class KeptChannels:
    """What brokers are told, kept instead of sent."""

    def __init__(self) -> None:
        self.sent: list[ControlRequest] = []
        #: How many of the next requests cannot be queued.
        self.failures = 0

    def open(self, broker: Broker, broker_epoch: BrokerEpoch) -> None:
        """Nothing."""

    def close(self, broker_id: BrokerId) -> None:
        """Nothing."""

    def close_all(self) -> None:
        """Nothing."""

    def send(self, broker_id: BrokerId, request: ControlRequest) -> None:  # noqa: ARG002 - as others
        """Keep it, or break in the midst of a batch."""
        if self.failures:
            self.failures -= 1
            raise RuntimeError("interrupted while queueing")
        self.sent.append(request)


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
        #: In which session it registered, and whether the role was free then.
        self.registered: list[tuple[int, bool]] = []
        self.channels = KeptChannels()
        self.controller = Controller(NODE)
        self.driver = ControllerDriver(
            self.controller,
            self.inbox,
            open_session=self._open,
            register=self._register,
            channels=self.channels,
            journal=self,
            reply=self.replies.put,
        )

    def append(self, batch: FactBatch) -> None:
        """Keep what happened."""
        self.facts += batch.facts

    def held(self) -> AbstractContextManager[None]:
        """Nothing is done about it in any case."""
        return nullcontext()

    def _open(self, on_watch: Callable[[WatchEvent], None], on_end: Callable[[], None]) -> Memory:
        if self.failures:
            raise self.failures.pop(0)
        session = Memory(self.server, on_watch)
        run(session, ensure_paths())
        session.refusals = self.refusals
        self.sessions.append(session)
        self.ends.append(on_end)
        return session

    def _register(self, session_id: int) -> Exchange[None]:
        self.registered.append((session_id, self.server.peek(paths.CONTROLLER) is None))
        yield from ()

    def wait_for(self, *kinds: type[FactBase]) -> None:
        """Until such facts have been recorded, in this order."""

        def look() -> bool:
            remaining = iter(self.facts)
            return all(any(isinstance(fact, kind) for fact in remaining) for kind in kinds)

        eventually(look, f"{[kind.__name__ for kind in kinds]}")

    def settle(self) -> None:
        """Until the event that is being handled is over."""
        between = threading.Event()
        self.inbox.read(between.set)
        assert between.wait(60)

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


def test_who_waits_for_what_failed_hears_of_it(bench: Bench) -> None:
    """And so does whoever waits behind; both look for another controller."""
    session = MemorySession(bench.server)
    run(session, ensure_paths())
    write_topic(session, "orders", {0: (1,)})
    with bench.running():
        bench.wait_for(ControllerElected)
        bench.settle()
        bench.sessions[0].refusals = 1
        request = DeleteTopics(("orders",))
        requests = [TopicDeletionRequested(now_ms(), each, request) for each in (7, 8)]

        def ask_twice() -> None:
            for each in requests:
                bench.inbox.put(each)

        # On the driver's own thread, so that the second is there before the first is looked at.
        bench.inbox.read(ask_twice)
        answers = [bench.replies.get(timeout=60) for _ in range(2)]
        bench.wait_for(EventFailed, ControllerElected)

    assert [answer.request_id for answer in answers] == [7, 8]
    for answer in answers:
        assert isinstance(answer.answer, DeleteTopicsAnswer)
        (result,) = answer.answer.results
        assert result.error is ErrorCode.NOT_CONTROLLER


@pytest.mark.behaviour("chn-024")
def test_a_batch_that_breaks_costs_the_role_and_the_next_reign_sends_again(bench: Bench) -> None:
    """Half of it may be on its way, so nobody knows what brokers know (KAFKA-2300)."""
    session = MemorySession(bench.server)
    run(session, ensure_paths())
    broker = Broker(BrokerId(2), (Endpoint("two.example", 9092),))
    run(
        session,
        register_broker(broker, session_id=session.session_id, previous_session_id=None, now_ms=0),
    )
    bench.channels.failures = 1
    with bench.running():
        bench.wait_for(ControllerElected, EventFailed, ControllerResigned, ControllerElected)
        eventually(lambda: bench.channels.sent, "what the broker is told")

    first = bench.channels.sent[0]
    assert isinstance(first, UpdateMetadata)
    assert first.controller_epoch == 2


def test_a_failure_that_comes_back_is_met_with_patience(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standing by without a failure in between does not make it a first one again."""
    waits = (0.001, 0.002, 0.003)
    monkeypatch.setattr(driver_module, "BACKOFF_S", waits)
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        bench.inbox.put(ElectLeadersRequested(now_ms(), 9, ElectLeaders(ElectionType.PREFERRED)))

    monkeypatch.setattr(bench.inbox, "pause", pause)
    bench.refusals = 3
    with bench.running():
        bench.wait_for(ControllerElected)

    assert paused == list(waits)
    assert bench.replies.qsize() == 3


@pytest.mark.fault("F16")
def test_a_session_that_ends_is_resigned_from_before_the_next_is_opened(bench: Bench) -> None:
    """And whoever waits for an answer of the old one is told."""
    with bench.running():
        bench.wait_for(ControllerElected)
        bench.sessions[0].is_over = True
        request = ElectLeadersRequested(now_ms(), 9, ElectLeaders(ElectionType.PREFERRED))

        def ask_and_end() -> None:
            bench.inbox.put(request)
            bench.ends[0]()

        # On the driver's own thread, so that it looks at neither before both are there.
        bench.inbox.read(ask_and_end)
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


@pytest.mark.fault("F20", "F22")
def test_in_every_session_it_registers_as_what_it_is_and_only_then_stands(bench: Bench) -> None:
    """The second one comes after an outage, and has nothing of the first."""
    with bench.running():
        bench.wait_for(ControllerElected)
        bench.failures = [RegentError("nobody answers at zk:2181")] * 3
        bench.sessions[0].is_over = True
        bench.ends[0]()
        bench.wait_for(ControllerElected, ControllerResigned, ControllerElected)

    assert bench.registered == [(session.session_id, True) for session in bench.sessions]
    assert len(bench.sessions) == 2


def test_what_worked_before_is_tried_again_whatever_is_wrong_with_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A file or a password that is being changed under a running node is not the end of it."""
    with bench.running():
        bench.wait_for(ControllerElected)
        bench.failures = [BadInput("ca.pem is not there")] * 2
        bench.sessions[0].is_over = True
        bench.ends[0]()
        bench.wait_for(ControllerElected, ControllerResigned, ControllerElected)

    assert caplog.text.count("ca.pem is not there; trying again") == 2


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
    minted = {mint_uuid() for _ in range(2_000)}

    assert len(minted) == 2_000
    assert {len(each) for each in minted} == {22}
    assert not any(each.startswith("-") for each in minted)
