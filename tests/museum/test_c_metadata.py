"""Faults of Kafka's history, provoked: metadata, events, topic ids and gauges."""

from typing import Any

import pytest
from msgspec.structs import replace

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_core import BrokerCore
from regent.broker.log import MemoryLogDirectory
from regent.core import controller as controller_module
from regent.core.asks import MintTopicIds, Procedure
from regent.core.config import ControllerConfig
from regent.core.effects import Reply, Send
from regent.core.event_queue import EventQueue, refusal
from regent.core.events import (
    BrokersChanged,
    ControllerChanged,
    Event,
    ReassignmentsRequested,
    ResignRequested,
)
from regent.core.gauges import STATE_GAUGES, Gauge, register
from regent.core.state import ControllerState
from regent.model.admin_requests import (
    AlterReassignments,
    ReassignmentTarget,
)
from regent.model.control_requests import LeaderAndIsr, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.model.protocol_version import ProtocolVersion
from regent.zookeeper import paths
from regent.zookeeper.znodes import decode_topic
from tests.support.builders import assignment, ids, leadership, name
from tests.support.drive import Run
from tests.support.interrupted import Ground, MortalSession, Reign
from tests.support.scene import CONTROLLER, Scene
from tests.unit.core.test_events_and_effects import EVENTS

CHANGED = BrokersChanged(0)
CALLS = [
    replace(event, request_id=number)
    for number, event in enumerate(EVENTS)
    if hasattr(event, "request_id")
]


@pytest.mark.fault("F86")
def test_every_broker_knows_who_lives_where_there_is_no_topic(node: Scene) -> None:
    """Starts, stops and a restart: each reaches every broker there is."""
    lists: dict[BrokerId, list[int]] = {}
    node.memory.register(1)

    def note(run: Run[None]) -> None:
        for send in run.sends:
            if isinstance(send.request, UpdateMetadata):
                lists[send.broker_id] = [b.broker_id for b in send.request.live_brokers]

    note(node.elect())
    assert lists == {1: [1]}
    node.memory.register(2, 3)
    note(node.handle(CHANGED))
    assert lists == {1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 2, 3]}
    node.memory.lose(2)
    note(node.handle(CHANGED))
    assert lists == {1: [1, 3], 2: [1, 2, 3], 3: [1, 3]}
    node.memory.register(2, life=2)
    note(node.handle(CHANGED))
    assert lists == {1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 2, 3]}


@pytest.mark.fault("F88")
def test_a_newcomer_costs_the_others_no_partition(scene: Scene) -> None:
    """It gets all of them itself."""
    scene.live(1, 2)
    for index in range(20):
        scene.partition("t", index, (1, 2), leadership=leadership(1, (1, 2)))
    scene.memory.register(3)

    run = scene.handle(CHANGED)

    assert [(s.broker_id, len(s.request.partitions)) for s in run.sends] == [
        (1, 0),
        (2, 0),
        (3, 20),
    ]


@pytest.mark.fault("F89")
@pytest.mark.parametrize("way", ["the queue is closed", "the session ends"])
def test_every_call_that_waits_is_answered_once_when_the_node_goes(way: str) -> None:
    """One event is being handled; all kinds of calls are behind it."""
    queue = EventQueue()
    for event in (CHANGED, *CALLS):
        queue.put(event)
    queue.take(0)

    replies = list(queue.close() if way == "the queue is closed" else queue.preempt())

    assert replies == [refusal(call) for call in CALLS]
    assert len({reply.request_id for reply in replies}) == len(CALLS) > 0
    assert list(queue.preempt()) == []


@pytest.mark.fault("F89")
def test_every_call_that_waits_is_answered_once_when_the_controller_resigns(scene: Scene) -> None:
    """The node goes on: its queue is not emptied, and it says that it is not the controller."""
    queue = EventQueue()
    for event in (ResignRequested(0), *CALLS):
        queue.put(event)
    replies: list[Reply] = []

    while (queued := queue.take(0)) is not None:
        steps = scene.handle(queued.event).steps
        replies += [step for step in steps if isinstance(step, Reply)]

    assert replies == [refusal(call) for call in CALLS]


@pytest.mark.fault("F91")
def test_every_kind_of_event_that_is_put_is_handled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is counted on the way."""
    handled: list[Event] = []

    def note(_state: ControllerState, event: Event) -> Procedure[None]:
        handled.append(event)
        yield from ()

    for table in ("ALWAYS", "WHEN_ACTIVE"):
        noting = dict.fromkeys(getattr(controller_module, table), note)
        monkeypatch.setattr(controller_module, table, noting)
    queue = EventQueue()
    for event in EVENTS:
        queue.put(event)

    while len(queue):
        queued = queue.take(1)
        if queued is not None:
            scene.handle(queued.event)

    assert handled == EVENTS


class _HeardReign(Reign):
    """A controller with brokers that listen, and ids that tell who minted them."""

    def __init__(
        self, number: int, protocol: str, ground: Ground, brokers: dict[BrokerId, BrokerCore]
    ) -> None:
        super().__init__(BrokerId(number), MortalSession(ground.server))
        state = self.controller.state
        state.config = ControllerConfig(protocol=ProtocolVersion.from_text(protocol))
        self.brokers = brokers
        self.stand()

    def _answer(self, item: Any) -> Any:
        if isinstance(item, MintTopicIds):
            return tuple(f"minted-by-{self.controller.state.controller_id}" for _ in "t")
        if isinstance(item, Send) and isinstance(item.request, LeaderAndIsr):
            answer = self.brokers[item.broker_id].leader_and_isr(item.request, 0)
            codes = [code for _, code in answer.partition_errors]
            assert ErrorCode.INCONSISTENT_TOPIC_ID not in (answer.error, *codes)
        if isinstance(item, Send) and isinstance(item.request, UpdateMetadata):
            self.brokers[item.broker_id].update_metadata(item.request)
        return super()._answer(item)


@pytest.mark.fault("F92")
def test_an_id_is_given_once_and_outlives_an_older_controller() -> None:
    """Down, up, down and a move, up: ZooKeeper, memory and brokers agree on the first id."""
    ground = Ground()
    ground.register(1, 2, 3)
    ground.write_topic("t", (1, 2), topic_id=None)
    brokers = {
        number: BrokerCore(number, BrokerConfig(), MemoryLogDirectory()) for number in ids(1, 2, 3)
    }

    def known_to_brokers() -> list[str | None]:
        return [brokers[each]._isr_changes.topic_ids.get("t") for each in ids(1, 2, 3)]

    _HeardReign(11, "2.7", ground, brokers).die()
    assert known_to_brokers() == [None, None, None]
    before = ground.leadership("t", 0)
    _HeardReign(12, "3.9", ground, brokers).die()
    assert ground.leadership("t", 0).leader_epoch == before.leader_epoch
    assert known_to_brokers() == ["minted-by-12", "minted-by-12", None]
    older = _HeardReign(13, "2.7", ground, brokers)
    wish = AlterReassignments((ReassignmentTarget("t", 0, ids(1, 2, 3)),))
    older.handle(ReassignmentsRequested(0, 1, wish))
    older.die()
    newest = _HeardReign(14, "3.9", ground, brokers)

    node = ground.server.peek(paths.topic("t"))
    assert node is not None
    stored = decode_topic(paths.topic("t"), node.data)
    assert stored.partitions == {0: assignment(1, 2, 3, adding=(3,))}
    assert stored.topic_id == newest.controller.state.topics["t"].topic_id == "minted-by-12"
    assert known_to_brokers() == ["minted-by-12"] * 3


@pytest.mark.fault("F94")
def test_gauges_summed_over_all_nodes_count_everything_once(node: Scene) -> None:
    """Also after the controller has moved, and whatever is being deleted."""
    node.memory.register(1, 2)
    node.memory.create_topic("t", (1, 2), (3, 1))
    node.memory.create_topic("going", (3,))
    node.memory.leaderships[name("t", 1)] = leadership(3, (3,))
    node.memory.leaderships[name("going", 0)] = leadership(3, (3,))
    node.memory.mark("going")
    other = Scene(node.memory, controller_id=CONTROLLER + 1)
    registries: list[dict[str, Gauge]] = [{}, {}]
    for registry, each in zip(registries, (node, other), strict=True):
        register(registry, each.state, EventQueue())

    def readings() -> dict[str, list[int]]:
        shown = ("ActiveControllerCount", "OfflinePartitionsCount", "GlobalTopicCount")
        return {gauge: [registry[gauge]() for registry in registries] for gauge in shown}

    node.elect()
    first = readings()
    node.memory.free_role()
    other.elect()
    node.handle(ControllerChanged(0))

    assert set(first) <= set(STATE_GAUGES)
    assert [first, readings()] == [
        {
            "ActiveControllerCount": list(active),
            "OfflinePartitionsCount": list(active),
            "GlobalTopicCount": [2 * count for count in active],
        }
        for active in ((1, 0), (0, 1))
    ]
