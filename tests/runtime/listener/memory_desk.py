"""A desk with a real core behind it, on the ZooKeeper in memory, and brokers that obey at once.

Everything runs on the loop of whoever stands before the desk: an event and all that follows from
it is over before the next line of a test. What a test wants to see half-way it can hold.
"""

import asyncio
import itertools
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any, TypeVar

from regent.core.asks import Ask, DrawNumbers, MintTopicIds
from regent.core.channel import Channel, answer_event
from regent.core.config import ControllerConfig
from regent.core.controller import Controller
from regent.core.effects import CloseChannel, Effect, OpenChannel, Reply, Send
from regent.core.event_queue import EventQueue
from regent.core.events import (
    AlterPartitionRequested,
    Event,
    SessionExpired,
    SessionStarted,
)
from regent.core.state import ControllerState
from regent.errors import ControllerMoved, SessionLost
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlAnswer, ControlRequest, LeaderAndIsr
from regent.model.ids import BrokerEpoch, BrokerId
from regent.runtime.producer_ids import ProducerIds
from regent.zookeeper.controller_znodes import register_controller
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.performer import perform
from regent.zookeeper.registration import register_broker
from regent.zookeeper.watches import event_for
from regent.zookeeper.writes import ensure_paths

T = TypeVar("T")

CLUSTER_ID = "uVZ3kq0pTPyq8m1yKk3x0A"


class BrokerCrowd:
    """Brokers that are registered and do what they are told."""

    def __init__(self, server: MemoryZooKeeper) -> None:
        self._server = server
        self._sessions: dict[int, MemorySession] = {}
        self.epochs: dict[int, BrokerEpoch] = {}

    def start(self, broker: Broker) -> None:
        """Register a broker."""
        session = self._sessions[broker.broker_id] = MemorySession(self._server)
        self.epochs[broker.broker_id] = run(
            session,
            register_broker(
                broker, session_id=session.session_id, previous_session_id=None, now_ms=0
            ),
        )

    def stop(self, broker_id: int) -> None:
        """Take a broker away."""
        self._sessions.pop(broker_id).close()


class MemoryDesk:
    """One node that may be the controller."""

    def __init__(
        self, server: MemoryZooKeeper, node_id: int, config: ControllerConfig | None = None
    ) -> None:
        self.node_id = BrokerId(node_id)
        self.advertised: Broker | None = None
        self.cluster_id: str | None = CLUSTER_ID
        self.producer_ids = ProducerIds(self.node_id, self.run)
        #: While set, the node does not hear of changes in ZooKeeper.
        self.is_deaf = False
        #: While it is not set, nobody gets to see the state.
        self.gate = asyncio.Event()
        self.gate.set()
        #: How many have wanted to.
        self.look_count = 0
        #: What those who look get instead of an answer.
        self.failure: Exception | None = None
        #: While set, followers do not catch up.
        self.is_lagging = False
        self.session = MemorySession(server)
        self._controller = Controller(self.node_id, config or ControllerConfig())
        self._queue = EventQueue()
        self._channels: dict[BrokerId, Channel[ControlRequest]] = {}
        self._request_ids = itertools.count(1)
        self._topic_ids = itertools.count(1)
        self._answers: dict[int, Any] = {}

    @property
    def state(self) -> ControllerState:
        """What the core knows."""
        return self._controller.state

    def start(self, host: str, port: int) -> None:
        """Say where the node listens, and stand for election."""
        own = Endpoint(host, port)
        self.advertised = Broker(self.node_id, (own,))
        run(self.session, ensure_paths())
        run(
            self.session,
            register_controller(
                self.node_id,
                own,
                session_id=self.session.session_id,
                previous_session_id=None,
            ),
        )
        self._put(SessionStarted(now_ms()))

    def lose_session(self) -> None:
        """The node's session ends, and with it its reign."""
        self.session.close()
        self._put(SessionExpired(now_ms()))

    # --- the desk ---------------------------------------------------------------------------------

    async def ask(self, to_event: Callable[[int, int], Event]) -> Any:
        """Handle an event, and all that follows from it."""
        await asyncio.sleep(0)
        request_id = next(self._request_ids)
        self._put(to_event(now_ms(), request_id))
        return self._answers.pop(request_id)

    async def look(self, reading: Callable[[ControllerState], T]) -> T:
        """Nothing is being handled here."""
        self.look_count += 1
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        self.pump()
        return reading(self.state)

    async def run(self, exchange: Exchange[T]) -> T:
        """The session is free."""
        await asyncio.sleep(0)
        answer = run(self.session, exchange)
        self.pump()
        return answer

    # --- the driver -------------------------------------------------------------------------------

    def _put(self, event: Event) -> None:
        self._queue.put(event)
        self.pump()

    def pump(self) -> None:
        """Handle events until nothing happens any more."""
        while True:
            if not self.is_deaf:
                for fired in self.session.watch_events():
                    event = event_for(fired.path, now_ms())
                    if event is not None:
                        self._queue.put(event)
            queued = self._queue.take(now_ms())
            if queued is None:
                return
            self._drive(queued.event)

    def _drive(self, event: Event) -> None:
        procedure = self._controller.handle(event)
        answer: Any = None
        failure: Exception | None = None
        try:
            while True:
                item = procedure.send(answer) if failure is None else procedure.throw(failure)
                answer = failure = None
                try:
                    if isinstance(item, Ask):
                        answer = self._answer(item)
                    else:
                        self._perform(item)
                except (ControllerMoved, SessionLost) as error:
                    failure = error
        except StopIteration:
            return

    def _answer(self, ask: Ask[Any]) -> Any:
        if isinstance(ask, MintTopicIds):
            numbers = (next(self._topic_ids) for _ in range(ask.count))
            return tuple(
                urlsafe_b64encode(number.to_bytes(16)).decode().rstrip("=") for number in numbers
            )
        if isinstance(ask, DrawNumbers):
            return (0,) * ask.count
        return run(self.session, perform(ask))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Reply(request_id=request_id, answer=answer):
                self._answers[request_id] = answer
            case OpenChannel(broker=broker, broker_epoch=broker_epoch):
                self._channels[broker.broker_id] = Channel(broker.broker_id, broker_epoch)
            case CloseChannel(broker_id=broker_id):
                self._channels.pop(broker_id, None)
            case Send(broker_id=broker_id, request=request):
                self._obey(self._channels[broker_id], request)
            case _:
                pass

    # --- the brokers ------------------------------------------------------------------------------

    def _obey(self, channel: Channel[ControlRequest], request: ControlRequest) -> None:
        """A broker does as it is told, and says so; a leader takes everybody into its ISR."""
        self._queue.put(answer_event(now_ms(), channel, request, ControlAnswer()))
        if isinstance(request, LeaderAndIsr) and not self.is_lagging:
            proposals = tuple(
                IsrProposal(
                    entry.topic,
                    entry.partition,
                    entry.leadership.leader_epoch,
                    entry.assignment.replicas,
                    entry.leadership.zk_version,
                )
                for entry in request.partitions
                if entry.leadership.leader == channel.broker_id
                and set(entry.assignment.replicas) > set(entry.leadership.isr)
                and set(entry.assignment.replicas) <= set(self._channels)
            )
            if proposals:
                wish = AlterPartition(channel.broker_id, channel.broker_epoch, proposals, version=1)
                self._queue.put(AlterPartitionRequested(now_ms(), next(self._request_ids), wish))


def now_ms() -> int:
    """The time on the wall."""
    return time.time_ns() // 1_000_000
