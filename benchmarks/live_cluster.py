"""A cluster for measuring: real ZooKeeper, brokers that say yes, and a controller with clocks.

Topics of fifty partitions with three replicas on twelve brokers. The controller is the real one,
in this process; the brokers are in another.
"""

import asyncio
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from queue import Queue
from time import perf_counter, sleep
from typing import Any, Final, Self, TypeVar

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    CreateTopicZnodes,
    Fence,
    LeadershipWrite,
    ReadControllerEpoch,
    ReadLeaderships,
    ReadTopicConfigs,
    ReadTopics,
    TakeController,
    TopicCreation,
    WriteLeaderships,
)
from regent.core.config import ControllerConfig
from regent.core.controller import Controller
from regent.core.event_queue import Queued
from regent.core.state import ControllerState, Partition
from regent.journal.record import FactBatch
from regent.journal.writer import JournalWriter
from regent.model.assignment import Assignment
from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.model.protocol_version import LATEST, request_versions
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.channels import BrokerChannels
from regent.runtime.driver import ControllerDriver, mint_uuid
from regent.runtime.inbox import Inbox
from regent.runtime.journal_thread import JournalThread
from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.performer import perform
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import Session, WatchEvent
from regent.zookeeper.writes import ensure_paths

T = TypeVar("T")

BROKERS: Final = 12
PARTITIONS_PER_TOPIC: Final = 50
REPLICAS: Final = 3
CONTROLLER: Final = BrokerId(100)
SESSION_TIMEOUT_MS: Final = 30_000
_FILL_TOPICS: Final = 200

#: Which part of the work an ask belongs to; the others are small.
STAGE_OF: Final[dict[type[Ask[Any]], str]] = {
    ReadTopics: "read_topics_s",
    ReadTopicConfigs: "read_configs_s",
    ReadLeaderships: "read_states_s",
    WriteLeaderships: "write_states_s",
    CreateLeaderships: "create_states_s",
    CreateTopicZnodes: "create_topics_s",
}


@contextmanager
def zookeeper(partition_count: int = 0) -> Iterator[ZooKeeperOptions]:
    """A real server with the full compiler, and a cluster of so many partitions in it."""
    with tempfile.TemporaryDirectory(prefix="regent-bench-") as folder:
        settings = EmbeddedSettings(
            compiles_fully=True, heap_mb=2048, session_timeout_ms_max=300_000
        )
        with EmbeddedZooKeeper(Path(folder) / "zookeeper", settings=settings) as server:
            options = ZooKeeperOptions(
                connect=f"{server.address}/bench",
                creates_chroot=True,
                session_timeout_ms=SESSION_TIMEOUT_MS,
            )
            session = KazooSession.open(options)
            try:
                run(session, ensure_paths())
                fill(session, partition_count)
            finally:
                session.close()
            yield options


def replicas_of(number: int) -> tuple[BrokerId, ...]:
    """Where partition number so-and-so of the cluster lies: evenly, leaders included."""
    first, shift = number % BROKERS, 1 + number // BROKERS % (BROKERS - 1)
    others = (
        (first + 1 + (shift + step) % (BROKERS - 1)) % BROKERS for step in range(REPLICAS - 1)
    )
    return tuple(BrokerId(1 + broker) for broker in (first, *others))


def fill(session: Session, partition_count: int) -> None:
    """Write topics, assignments and states as a controller would have."""
    fence = _fence(session)
    assignments: dict[tuple[BrokerId, ...], Assignment] = {}
    topics = [f"topic-{number:06}" for number in range(partition_count // PARTITIONS_PER_TOPIC)]
    for start in range(0, len(topics), _FILL_TOPICS):
        creations, writes = [], []
        for number, topic in enumerate(topics[start : start + _FILL_TOPICS], start):
            partitions = {}
            for index in range(PARTITIONS_PER_TOPIC):
                replicas = replicas_of(number * PARTITIONS_PER_TOPIC + index)
                assignment = assignments.setdefault(replicas, Assignment(replicas))
                partitions[index] = assignment
                leadership = Leadership(
                    replicas[0], LeaderEpoch(0), replicas, fence.controller_epoch, ZkVersion(0)
                )
                writes.append(LeadershipWrite(Partition(topic, index, assignment), leadership))
            creations.append(TopicCreation(topic, mint_uuid(), partitions, {}))
        run(session, perform(CreateTopicZnodes(fence, tuple(creations))))
        run(session, perform(CreateLeaderships(fence, writes)))


def _fence(session: Session) -> Fence:
    current = run(session, perform(ReadControllerEpoch()))
    won = run(session, perform(TakeController(CONTROLLER, current, 0)))
    assert won is not None, "nobody else is there"
    return won


@contextmanager
def brokers(options: ZooKeeperOptions, first: int, last: int) -> Iterator[None]:
    """Brokers of these ids, in a process of their own."""
    command = (
        sys.executable,
        "-m",
        "benchmarks.stub_brokers",
        options.connect,
        str(first),
        str(last),
    )
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n", "the brokers did not start"
        try:
            yield
        finally:
            process.stdin.close()
            process.wait()


class _TimedDriver(ControllerDriver):
    """The real driver with a clock on every ask."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        self.took_office_s = 0.0
        self.handled: list[tuple[str, float, float]] = []

    def _answer(self, ask: Ask[Any]) -> Any:
        start_s = perf_counter()
        try:
            return super()._answer(ask)
        finally:
            end_s = perf_counter()
            self.spent_s[STAGE_OF.get(type(ask), "small_asks_s")] += end_s - start_s
            if isinstance(ask, TakeController):
                self.took_office_s = end_s
                self.spent_s.clear()

    def _handle(self, queued: Queued) -> None:
        start_s = perf_counter()
        super()._handle(queued)
        self.handled.append((type(queued.event).__name__, start_s, perf_counter()))


class _TimedChannels(BrokerChannels):
    """The real channels; how long making and handing over the requests took."""

    spent_s = 0.0
    sent_count = 0

    def send(self, broker_id: BrokerId, request: ControlRequest) -> None:
        start_s = perf_counter()
        super().send(broker_id, request)
        self.spent_s += perf_counter() - start_s
        self.sent_count += 1


class _TimedJournal(JournalThread):
    """The real journal; how long handing it its records took."""

    spent_s = 0.0
    record_count = 0

    def append(self, batch: FactBatch) -> None:
        start_s = perf_counter()
        super().append(batch)
        self.spent_s += perf_counter() - start_s
        self.record_count += len(batch)


class _NoJournal:
    """For measuring what the journal costs."""

    spent_s = 0.0
    record_count = 0

    def append(self, _batch: FactBatch) -> None:
        """Forget it."""

    def held(self) -> AbstractContextManager[None]:
        """There is nothing to hold."""
        return nullcontext()

    def close(self) -> None:
        """Nothing was kept."""


class LiveController:
    """A controller in this process, with its thread, its loop and its clocks."""

    def __init__(
        self, options: ZooKeeperOptions, folder: Path | None, replies: Callable[[Any], None]
    ) -> None:
        self._options = options
        self.loop = asyncio.new_event_loop()
        self._loop_thread = threading.Thread(target=self.loop.run_forever, name="loop")
        self.inbox = Inbox()
        settings = ChannelSettings(client_id="bench", versions=request_versions(LATEST))
        self.channels = _TimedChannels(self.loop, settings, self.inbox.put)
        self.journal = (
            _NoJournal() if folder is None else _TimedJournal(JournalWriter(folder, CONTROLLER))
        )
        self.controller = Controller(CONTROLLER, ControllerConfig(balances_leaders=False))
        self.driver = _TimedDriver(
            self.controller,
            self.inbox,
            open_session=self._open_session,
            register=_nothing,
            channels=self.channels,
            journal=self.journal,
            reply=replies,
        )
        self._thread = threading.Thread(target=self.driver.run, name="controller")

    def _open_session(
        self, on_watch: Callable[[WatchEvent], None], on_end: Callable[[], None]
    ) -> Session:
        def on_state(state: SessionState) -> None:
            if state is SessionState.LOST:
                on_end()

        return KazooSession.open(self._options, on_watch=on_watch, on_state=on_state)

    def __enter__(self) -> Self:
        self._loop_thread.start()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.inbox.stop()
        self._thread.join()
        asyncio.run_coroutine_threadsafe(self.channels.stop(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._loop_thread.join()
        self.loop.close()
        self.journal.close()

    def wait_for(self, event: str, *, after: int = 0) -> tuple[float, float]:
        """When an event of this kind began and ended; `after` so many events."""
        while True:
            for name, start_s, end_s in self.driver.handled[after:]:
                if name == event:
                    return start_s, end_s
            sleep(0.001)

    def look(self, reading: Callable[[ControllerState], T]) -> T:
        """Read the state between two events."""
        seen: Queue[T] = Queue()
        self.inbox.read(lambda: seen.put(reading(self.controller.state)))
        return seen.get()

    def wait_until_told(self) -> float:
        """When every broker has answered everything."""
        while any(map(len, self.channels.by_broker.values())) or len(self.inbox.events):
            sleep(0.001)
        return perf_counter()


def _nothing(_session_id: int) -> Exchange[None]:
    return
    yield
