"""Two controllers, lost sessions, the order of starting up: driven by hand, one event at a time."""

from typing import Any

import pytest

from regent.core.asks import Ask, DeleteElectionZnode, TakeController
from regent.core.channel import Channel
from regent.core.effects import CloseChannel, Effect, Journal, OpenChannel, Send
from regent.core.event_queue import EventQueue
from regent.core.events import (
    BrokersChanged,
    ControllerChanged,
    ElectionZnodeChanged,
    Event,
    IsrChangesNotified,
    ResignRequested,
    SessionExpired,
    TopicsChanged,
)
from regent.core.gauges import Gauge, register
from regent.core.invariants import broken_invariants
from regent.errors import RegentError
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlRequest, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.facts import (
    BrokerDown,
    BrokerUp,
    LeaderElected,
    PartitionsStarted,
    ReassignmentAdvanced,
    ReplicasStarted,
    ZnodeIsolated,
)
from regent.model.ids import NO_CONTROLLER_EPOCH, BrokerEpoch, BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import encode_broker
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.registration import register_broker
from regent.zookeeper.store import Create, Delete, SetData
from regent.zookeeper.watches import event_for
from tests.support.builders import ids, leadership, name
from tests.support.deletions import elected
from tests.support.fake_memory import FakeMemory
from tests.support.interrupted import Died, Ground, MortalSession, Reign
from tests.support.scene import Scene
from tests.unit.broker.wiring import B1, broker, update_metadata

B7 = BrokerId(7)
T0, T1 = name("t", 0), name("t", 1)


class Watcher(Reign):
    """A node that keeps all it does and looks when its watches fire."""

    def __init__(self, ground: Ground, controller_id: int) -> None:
        super().__init__(BrokerId(controller_id), MortalSession(ground.server))
        self._server = ground.server
        self.done: list[Ask[Any] | Effect] = []

    def handle(self, event: Event) -> None:
        """Handle one event to its end; what ZooKeeper refuses is the controller's to deal with."""
        procedure = self.controller.handle(event)
        try:
            item = next(procedure)
            while True:
                self.done.append(item)
                try:
                    answer = self._answer(item)
                except RegentError as refused:
                    item = procedure.throw(refused)
                else:
                    item = procedure.send(answer)
        except StopIteration:
            assert broken_invariants(self.controller.state, after_event=True) == []

    @property
    def sends(self) -> list[Send]:
        """What brokers were told."""
        return [item for item in self.done if isinstance(item, Send)]

    @property
    def facts(self) -> list[object]:
        """What took hold."""
        return [fact for item in self.done if isinstance(item, Journal) for fact in item.facts]

    def notice(self, *, backwards: bool = False) -> None:
        """Handle what the watches have seen; backwards, the last comes first."""
        paths_seen = [event.path for event in self.session.watch_events()]
        for path in reversed(paths_seen) if backwards else paths_seen:
            event = event_for(path, 0)
            assert event is not None, f"nobody asked to hear of {path}"
            self.handle(event)

    def begin_session(self) -> None:
        """The session expired, and there is another one."""
        self.session.close()
        self.handle(SessionExpired(0))
        self.session = MortalSession(self._server)
        self.stand()


@pytest.fixture
def ground() -> Ground:
    """Three brokers and a topic on all of them."""
    made = Ground()
    made.register(1, 2, 3)
    made.write_topic("orders", (1, 2, 3))
    return made


@pytest.fixture
def cluster() -> Scene:
    """Brokers 1, 2 and 3; t-0 and t-1 are led by 2, though t-0 prefers 1."""
    scene = Scene().in_office()
    scene.live(1, 2, 3)
    scene.partition("t", 0, (1, 2, 3), leadership=leadership(2, (1, 2, 3)))
    scene.partition("t", 1, (2, 3, 1), leadership=leadership(2, (1, 2, 3)))
    return scene


# --- two controllers --------------------------------------------------------------------------


@pytest.mark.fault("F02")
@pytest.mark.parametrize("backwards", [False, True], ids=["as they came", "its own role last"])
def test_a_thawed_controller_speaks_with_its_own_epoch_only(
    ground: Ground, *, backwards: bool
) -> None:
    """What it hears when it thaws must not teach it the epoch of the one that replaced it."""
    old, new = Watcher(ground, 8), Watcher(ground, 9)
    old.stand()
    ground.operator.call([Delete(paths.CONTROLLER)])
    new.stand()
    ground.write_topic("late", (4, 1))
    ground.register(4)
    said_before = len(old.sends)

    old.notice(backwards=backwards)

    said = [send.request for send in old.sends[said_before:]]
    assert {request.controller_epoch for request in said} == ({1} if backwards else set())
    obeying_the_new = broker(B1, live=())
    obeying_the_new.update_metadata(update_metadata(B1, controller_epoch=2))
    for request in said:
        assert isinstance(request, UpdateMetadata), "nothing that is written first gets this far"
        answer = obeying_the_new.update_metadata(request)
        assert answer.error is ErrorCode.STALE_CONTROLLER_EPOCH
    state = old.controller.state
    assert (state.controller_epoch, state.active_id) == (NO_CONTROLLER_EPOCH, 9)
    assert ground.server.peek(paths.partition_state("late", 0)) is None


@pytest.mark.fault("F04")
def test_what_was_queued_before_a_resignation_changes_nothing_after_it(cluster: Scene) -> None:
    """Each event has something to do, and whether to do it is asked when its turn has come."""
    memory = cluster.memory
    memory.lose(3)
    memory.create_topic("new", (1, 2))
    memory.notifications["isr_change_0000000000"] = (T0,)
    queue = EventQueue()
    for event in (
        ResignRequested(0),
        BrokersChanged(0),
        TopicsChanged(0),
        IsrChangesNotified(0),
        ElectionZnodeChanged(0),
    ):
        queue.put(event)
    resigning = queue.take(0)
    assert resigning is not None
    cluster.handle(resigning.event)
    stored = dict(memory.leaderships)

    steps: list[object] = []
    while (queued := queue.take(0)) is not None:
        steps += cluster.handle(queued.event).steps

    assert steps == []
    assert memory.leaderships == stored
    assert list(memory.notifications) == ["isr_change_0000000000"]


@pytest.mark.fault("F08")
def test_no_controller_is_shown_as_such() -> None:
    """From the election itself: when the role is free, when it makes no sense, without a session.

    Whoever is remembered from before is gone, and showing it hides that there is none.
    """
    scene = Scene()
    registry: dict[str, Gauge] = {}
    register(registry, scene.state, EventQueue())
    shown: list[int] = []

    def lose_the_race(ask: Ask[Any]) -> None:
        if isinstance(ask, TakeController):
            shown.append(registry["CurrentControllerId"]())
            scene.memory.depose()
            scene.memory.free_role()

    scene.memory.holder = B7
    scene.elect()
    known = registry["CurrentControllerId"]()
    scene.memory.free_role()
    scene.memory.before_answer = lose_the_race
    scene.handle(ControllerChanged(0))

    assert known == 7
    assert set(shown) == {-1}
    assert registry["CurrentControllerId"]() == -1
    scene.memory.holder = B7
    scene.handle(ControllerChanged(0))
    scene.handle(SessionExpired(0))
    assert registry["CurrentControllerId"]() == -1


@pytest.mark.fault("F10")
def test_an_empty_role_that_nobody_holds_is_reported_and_freed_by_hand(ground: Ground) -> None:
    """A tool made it, persistent and without data; a node says so each time it looks, and waits."""
    ground.operator.call([Create(paths.CONTROLLER, b"")])
    node = Watcher(ground, 9)

    node.stand()

    (isolated,) = node.facts
    assert isinstance(isolated, ZnodeIsolated)
    assert isolated.path == paths.CONTROLLER
    assert not node.controller.state.is_active
    ground.operator.call([Delete(paths.CONTROLLER)])
    node.notice()
    assert node.controller.state.is_active


# --- sessions ---------------------------------------------------------------------------------


@pytest.mark.fault("F11")
def test_a_second_reign_is_as_live_as_the_first(ground: Ground) -> None:
    """Nothing of the first one's end lasts into the second: every kind of news is still heard."""
    node = Watcher(ground, 9)
    node.stand()
    node.begin_session()

    ground.write_topic("late", (3, 1))
    node.notice()
    ground.lose(3)
    node.notice()

    assert node.controller.state.controller_epoch == 2
    assert ground.leadership("late", 0).leader == 1
    assert ground.leadership("late", 0).controller_epoch == 2


@pytest.mark.fault("F19")
def test_a_broker_that_registers_over_its_own_remains_has_bounced(ground: Ground) -> None:
    """Its last session lingers and never expires; the id is its own, so it may begin a new life."""
    node = Watcher(ground, 9)
    lingering, session = MemorySession(ground.server), MemorySession(ground.server)
    it = Broker(BrokerId(4), (Endpoint("127.0.0.1", 9004),))

    def registering(by: MemorySession, previous: int | None) -> BrokerEpoch:
        exchange = register_broker(
            it, session_id=by.session_id, previous_session_id=previous, now_ms=0
        )
        return run_exchange(by, exchange)

    first = registering(lingering, None)
    node.stand()
    node.done.clear()

    second = registering(session, lingering.session_id)
    node.notice()

    found = ground.server.peek(paths.broker(4))
    assert found is not None
    assert (found.stat.czxid, found.stat.ephemeral_owner) == (second, session.session_id)
    assert second > first
    assert [f for f in node.facts if isinstance(f, BrokerDown | BrokerUp)] == [
        BrokerDown(BrokerId(4), first, bounced=True),
        BrokerUp(BrokerId(4), second, None, loaded=False),
    ]


@pytest.mark.fault("F23")
def test_every_broker_is_watched_however_they_came() -> None:
    """Three come one by one; each moves twice, the last one first, and each move is heard of."""
    ground = Ground()
    node = Watcher(ground, 9)
    node.stand()
    for broker_id in (1, 2, 3):
        ground.register(broker_id)
        node.notice()

    for port in (9101, 9102):
        for broker_id in (3, 2, 1):
            moved = Broker(BrokerId(broker_id), (Endpoint("127.0.0.1", port),))
            ground.operator.call([SetData(paths.broker(broker_id), encode_broker(moved, 0))])
            node.done.clear()
            node.notice()
            assert node.controller.state.brokers[BrokerId(broker_id)].broker == moved
            assert [send.broker_id for send in node.sends] == [1, 2, 3]


# --- the order of starting up -----------------------------------------------------------------


def ask_for_elections(memory: FakeMemory, *names: TopicPartition) -> None:
    """An admin wants preferred leaders; while a znode is there, nobody can ask."""
    assert memory.elections is None, "an earlier request is still there"
    memory.elections = names


def plan_a_move(memory: FakeMemory, partition_name: TopicPartition, *replicas: int) -> None:
    """An admin wants a partition elsewhere."""
    assert memory.plan is None, "an earlier plan is still there"
    memory.plan = {partition_name: ids(*replicas)}


def lead(scene: Scene, partition_name: TopicPartition, leader: int) -> None:
    """A partition is led by this broker, and the controller knows it."""
    partition = scene.state.partition(*partition_name)
    assert partition is not None
    led = leadership(leader, (1, 2, 3), leader_epoch=7, zk_version=7)
    scene.memory.leaderships[partition_name] = led
    scene.state.set_leadership(partition, led)


def leaders(memory: FakeMemory, *names: TopicPartition) -> list[int]:
    """Who leads these partitions, as it is stored."""
    stored = [memory.leaderships[each] for each in names]
    return [each.leader for each in stored if isinstance(each, Leadership)]


@pytest.mark.fault("F25")
def test_what_is_pending_waits_for_both_machines(cluster: Scene) -> None:
    """An election and a move were left behind: both are done, when there is ground to stand on."""
    ask_for_elections(cluster.memory, T0)
    plan_a_move(cluster.memory, T1, 3, 1)

    successor, run = elected(cluster)

    kinds = [type(fact) for fact in run.facts]
    pending = [kinds.index(LeaderElected), kinds.index(ReassignmentAdvanced)]
    assert max(kinds.index(ReplicasStarted), kinds.index(PartitionsStarted)) < min(pending)
    assert (cluster.memory.elections, cluster.memory.plan) == (None, None)
    assert leaders(cluster.memory, T0) == [1]
    assert successor.state.assignments_of("t")[1].replicas == (3, 1)


def fail_at(memory: FakeMemory, number: int, failure: Exception) -> None:
    """The ask of this number does not come back, and then all are answered again."""
    asked = iter(range(number + 1))

    def fail(_ask: Ask[Any]) -> None:
        if next(asked, None) == number:
            raise failure

    memory.before_answer = fail


@pytest.mark.fault("F26")
@pytest.mark.parametrize("failure", [Died(), ZeroDivisionError("a bug")], ids=["death", "bug"])
@pytest.mark.parametrize("number", range(6))
def test_no_election_znode_outlives_its_controller_and_blocks_the_next(
    cluster: Scene, number: int, failure: Exception
) -> None:
    """It dies, or trips, at any point from reading the znode to removing it."""
    ask_for_elections(cluster.memory, T0)
    fail_at(cluster.memory, number, failure)
    try:
        run = cluster.handle(ElectionZnodeChanged(0))
    except type(failure):
        if not isinstance(failure, Died):
            cluster.run(cluster.controller.give_up(str(failure)))
    else:
        assert sum(isinstance(ask, DeleteElectionZnode) for ask in run.asks) == 1
    cluster.memory.before_answer = lambda _ask: None

    successor, _ = elected(cluster)

    lead(successor, T1, 3)
    ask_for_elections(cluster.memory, T1)
    successor.handle(ElectionZnodeChanged(1))
    assert cluster.memory.elections is None
    assert leaders(cluster.memory, T0, T1) == [1, 2]


@pytest.mark.fault("F26")
def test_an_election_that_cannot_be_held_is_removed_too(cluster: Scene) -> None:
    """Its preferred replica is dead: the attempt is over all the same."""
    cluster.memory.lose(1)
    cluster.handle(BrokersChanged(0))
    ask_for_elections(cluster.memory, T0)

    cluster.handle(ElectionZnodeChanged(0))

    assert cluster.memory.elections is None


def deliver(channels: dict[BrokerId, Channel[ControlRequest]], effects: list[Effect]) -> None:
    """Queue what is to be told, as a driver does."""
    for effect in effects:
        match effect:
            case OpenChannel(broker=opened, broker_epoch=broker_epoch):
                channels[opened.broker_id] = Channel(opened.broker_id, broker_epoch)
            case CloseChannel(broker_id=broker_id):
                channels[broker_id].close()
            case Send(broker_id=broker_id, request=request):
                channels[broker_id].put(request)
            case _:
                pass


@pytest.mark.fault("F29")
def test_changes_during_a_failover_are_handled_after_it_whenever_they_come(
    cluster: Scene,
) -> None:
    """A broker dies and a topic comes behind any step: the end is what a fresh look shows.

    Becoming controller is one event; what fires meanwhile waits in the queue. Nothing stays queued
    for the broker that died.
    """
    total = len(elected(cluster)[1].asks)
    for number in range(3, total):
        memory = FakeMemory()
        memory.register(1, 2, 3)
        memory.create_topic("t", (1, 2, 3), (2, 3, 1))
        memory.leaderships = {T0: leadership(3, (1, 2, 3)), T1: leadership(2, (1, 2, 3))}
        scene = Scene(memory)
        asked: list[Ask[Any]] = []

        def change(ask: Ask[Any], memory: FakeMemory = memory, asked: Any = asked) -> None:
            asked.append(ask)
            if len(asked) == number:  # noqa: B023 - it is called in this round only
                memory.lose(3)
                memory.create_topic("late", (3, 2))

        memory.before_answer = change
        channels: dict[BrokerId, Channel[ControlRequest]] = {}
        deliver(channels, scene.elect().effects)
        for event in (BrokersChanged(1), TopicsChanged(1)):
            deliver(channels, scene.handle(event).effects)

        assert broken_invariants(scene.state, after_event=True) == []
        assert {p.name: p.leadership for p in scene.state.all_partitions()} == memory.leaderships
        assert leaders(memory, T0, name("late", 0)) == [1, 2]
        assert len(channels.get(BrokerId(3), ())) == 0, f"changed at step {number}"
