"""A controller on the in-memory ZooKeeper that can be stopped after its n-th write.

No brokers listen: what matters is what ZooKeeper holds in the end. Every znode is written in a
multi of its own, so that a crash fits between any two of them.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from regent.core.asks import Ask, DrawNumbers, MintTopicIds
from regent.core.controller import Controller
from regent.core.effects import Send
from regent.core.events import Event, SessionStarted
from regent.core.invariants import broken_invariants
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import StopReplica
from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.zookeeper import fencing, paths
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.performer import perform
from regent.zookeeper.reads import to_leadership
from regent.zookeeper.registration import register_broker
from regent.zookeeper.store import Answered, Create, Delete, Multi, Request, SetData
from regent.zookeeper.writes import ensure_paths
from regent.zookeeper.znodes import decode_topic, encode_config, encode_topic
from tests.support.deletions import confirmation

#: Where a znode's being there is all that matters.
UNTOLD = tuple(
    f"{above}/"
    for above in (
        paths.ISR_NOTIFICATIONS,
        paths.LOG_DIR_EVENTS,
        paths.TOPIC_CONFIGS,
        paths.TOPIC_DELETIONS,
    )
)


class Died(Exception):  # noqa: N818 - that is what happened
    """The controller's process ended between two writes."""


class MortalSession:
    """A session whose owner dies after so many writes."""

    def __init__(self, server: MemoryZooKeeper) -> None:
        self._session = MemorySession(server)
        #: None: its owner does not die.
        self.writes_to_live: int | None = None

    @property
    def session_id(self) -> int:
        """Whose ephemerals die with it."""
        return self._session.session_id

    def call(self, requests: Sequence[Request]) -> list[Answered]:
        """Carry requests out one by one, as far as life goes."""
        replies: list[Answered] = []
        for request in requests:
            replies.extend(self._session.call((request,)))
            if isinstance(request, Create | SetData | Delete | Multi):
                self._count_a_write()
        return replies

    def _count_a_write(self) -> None:
        if self.writes_to_live is not None:
            self.writes_to_live -= 1
            if self.writes_to_live == 0:
                raise Died

    def watch_events(self) -> Sequence[Any]:
        """Nobody here waits for watches: the tests say what happened."""
        return self._session.watch_events()

    def close(self) -> None:
        """End the session."""
        self._session.close()


class Ground:
    """A ZooKeeper with a cluster in it, and controllers that come and go."""

    def __init__(self) -> None:
        self.server = MemoryZooKeeper()
        self.operator = MemorySession(self.server)
        run_exchange(self.operator, ensure_paths())
        self._brokers: dict[int, MemorySession] = {}

    # --- what there is ------------------------------------------------------------------------

    def register(self, *broker_ids: int) -> None:
        """Brokers come."""
        for number in broker_ids:
            session = self._brokers[number] = MemorySession(self.server)
            exchange = register_broker(
                Broker(BrokerId(number), (Endpoint("127.0.0.1", 9000 + number),)),
                session_id=session.session_id,
                previous_session_id=None,
                now_ms=0,
            )
            run_exchange(session, exchange)

    def lose(self, *broker_ids: int) -> None:
        """Brokers die."""
        for number in broker_ids:
            self._brokers.pop(number).close()

    def is_down(self, broker_id: int) -> bool:
        """Whether a broker is not registered."""
        return broker_id not in self._brokers

    def write_topic(
        self, name: str, *replicas: tuple[int, ...], topic_id: str | None = "id", **config: str
    ) -> None:
        """Create a topic, or give it other partitions."""
        assignments = {i: Assignment(tuple(map(BrokerId, r))) for i, r in enumerate(replicas)}
        encoded = encode_topic(topic_id and f"{topic_id}-{name}", assignments)
        settings = {key.replace("_", "."): value for key, value in config.items()}
        for path, data in (
            (paths.topic_config(name), encode_config(settings)),
            (paths.topic(name), encoded),
        ):
            known = self.server.peek(path) is not None
            self.operator.call([SetData(path, data) if known else Create(path, data)])

    def mark_for_deletion(self, *topics: str) -> None:
        """Topics shall be deleted."""
        self.operator.call([Create(paths.topic_deletion(topic)) for topic in topics])

    # --- controllers --------------------------------------------------------------------------

    def controller(self, number: int) -> "Reign":
        """A node that may become controller."""
        return Reign(BrokerId(number), MortalSession(self.server))

    def summary(self) -> dict[str, tuple[object, ...]]:
        """What ZooKeeper holds of the cluster, without what only counts how it came about."""
        found: dict[str, tuple[object, ...]] = {}
        for path, (data, version) in self.server.dump().items():
            if path.startswith(paths.TOPICS + "/"):
                if path.endswith("/state"):
                    node = self.server.peek(path)
                    assert node is not None, "it was just listed"
                    read = to_leadership(path, node)
                    assert isinstance(read, Leadership), read
                    found[path] = (read.leader, read.isr, read.recovering)
                elif data is not None:
                    read_topic = decode_topic(path, data)
                    # An id that had to be minted is another in every run.
                    found[path] = (read_topic.partitions, read_topic.topic_id is not None)
            elif path.startswith(UNTOLD) or path == paths.ELECTION:
                found[path] = (version,)
        return found

    def leadership(self, topic: str, partition: int) -> Leadership:
        """One partition's leadership as it is now."""
        name = TopicPartition(topic, partition)
        path = paths.partition_state(name.topic, name.partition)
        node = self.server.peek(path)
        assert node is not None, f"{name} has no state"
        read = to_leadership(path, node)
        assert isinstance(read, Leadership), read
        return read


class Reign:
    """One node's controller, driven by hand."""

    def __init__(self, controller_id: BrokerId, session: MortalSession) -> None:
        self.session = session
        self.controller = Controller(controller_id)
        #: The orders to stop replicas that no broker has answered yet.
        self.unanswered: list[Send] = []

    def stand(self) -> None:
        """Stand for election, which nobody else does here."""
        self.handle(SessionStarted(0))

    def handle(self, event: Event) -> None:
        """Handle one event to its end."""
        procedure = self.controller.handle(event)
        answer: Any = None
        try:
            while True:
                item = procedure.send(answer)
                answer = self._answer(item)
        except StopIteration:
            assert broken_invariants(self.controller.state, after_event=True) == []

    def confirm_deletions(self) -> None:
        """Brokers that live answer as if they had stopped and deleted what they were told to."""
        while self.unanswered:
            self.handle(confirmation(self.unanswered.pop(0)))

    def _answer(self, item: Any) -> Any:
        if isinstance(item, Send) and isinstance(item.request, StopReplica):
            self.unanswered.append(item)
        if isinstance(item, MintTopicIds):
            return tuple(f"minted-{i}" for i in range(item.count))
        if isinstance(item, DrawNumbers):
            return (0,) * item.count
        if isinstance(item, Ask):
            return run_exchange(self.session, perform(item))
        return None

    def die(self) -> None:
        """The process is gone, and with it the session."""
        self.session.close()


@pytest.fixture
def one_write_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every znode gets a multi of its own, so that every order of crash and write is met."""
    monkeypatch.setattr(fencing, "BATCH_OPS", 1)
