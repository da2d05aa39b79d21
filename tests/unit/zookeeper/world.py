"""A ZooKeeper in memory with a controller in office, for tests of what goes on above it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from regent.core.asks import Ask, Fence, ReadControllerEpoch, TakeController
from regent.core.state import Partition
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.performer import perform
from regent.zookeeper.store import Answered, Create, Done, MultiDone, Request, SetData, WatchEvent
from regent.zookeeper.writes import ensure_paths
from regent.zookeeper.znodes import encode_leadership, encode_topic

A = TypeVar("A")

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)


class World:
    """One server, the session of the controller, and the fence it won."""

    def __init__(self) -> None:
        self.server = MemoryZooKeeper()
        self.session = MemorySession(self.server)
        run(self.session, ensure_paths())
        current = self.ask(ReadControllerEpoch())
        fence = self.ask(TakeController(B1, current, now_ms=0))
        assert fence is not None
        self.fence: Fence = fence

    def ask(self, ask: Ask[A]) -> A:
        """Have an ask carried out on the controller's session."""
        return run(self.session, perform(ask))

    def write(self, *requests: Request) -> None:
        """Somebody else writes something, and succeeds."""
        other = MemorySession(self.server)
        for reply in other.call(requests):
            assert isinstance(reply, Done | MultiDone), reply

    def add_topic(self, topic: str, *states: Leadership | None) -> tuple[Partition, ...]:
        """A topic with as many partitions; those that are not None have a state."""
        partitions = {index: Assignment((B1, B2)) for index in range(len(states))}
        self.write(
            Create(paths.topic(topic), encode_topic(None, partitions)),
            Create(paths.partitions(topic)),
        )
        for index, state in enumerate(states):
            if state is not None:
                content = encode_leadership(state)
                self.write(
                    Create(paths.partition(topic, index)),
                    Create(paths.partition_state(topic, index), content),
                    *[SetData(paths.partition_state(topic, index), content)] * state.zk_version,
                )
        return tuple(partition(topic, index) for index in range(len(states)))

    def contents(self) -> dict[str, tuple[bytes | None, int]]:
        """All znodes but the controller's own."""
        own = (paths.CONTROLLER, paths.CONTROLLER_EPOCH)
        return {path: znode for path, znode in self.server.dump().items() if path not in own}

    def events(self) -> Sequence[WatchEvent]:
        """What the controller's watches have seen."""
        return self.session.watch_events()


class Fault(Struct, frozen=True):
    """The connection breaks in this call, at this request of it."""

    call: int
    position: int
    applied: bool


class FaultySession:
    """A session whose connection breaks once, and which counts what it was asked."""

    def __init__(self, session: MemorySession, fault: Fault | None = None) -> None:
        self._session = session
        self._fault = fault
        #: How many requests each call had.
        self.sizes: list[int] = []

    @property
    def session_id(self) -> int:
        """Whose ephemerals."""
        return self._session.session_id

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Pass on, and break the connection when its time has come."""
        if self._fault is not None and len(self.sizes) == self._fault.call:
            self._session.lose_connection(self._fault.position, applied=self._fault.applied)
        self.sizes.append(len(requests))
        return self._session.call(requests)

    def watch_events(self) -> Sequence[WatchEvent]:
        """Pass on."""
        return self._session.watch_events()

    def close(self) -> None:
        """Pass on."""
        self._session.close()


def run_with_interference(
    session: MemorySession, exchange: Exchange[A], interfere: Callable[[], None], *, after: int
) -> A:
    """Drive an exchange, and let somebody else act once before its call number `after`."""
    calls = 0
    try:
        requests = next(exchange)
        while True:
            if calls == after:
                interfere()
            calls += 1
            requests = exchange.send(session.call(requests))
    except StopIteration as end:
        answer: A = end.value
        return answer


def partition(topic: str, index: int) -> Partition:
    """A partition as the core names it."""
    return Partition(topic, index, Assignment((B1, B2)))


def leadership(
    leader: BrokerId = B1, *, isr: tuple[BrokerId, ...] = (B1, B2), epoch: int = 0, version: int = 0
) -> Leadership:
    """A leadership decided by the controller in office."""
    return Leadership(leader, LeaderEpoch(epoch), isr, ControllerEpoch(1), ZkVersion(version))
