"""Becoming controller, and ceasing to be (E2 to E7, E9)."""

from typing import Any

import pytest

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    DropController,
    Fence,
    Malformed,
    ReadBrokers,
    ReadController,
    ReadControllerEpoch,
    ReadTopics,
    TakeController,
    WriteLeaderships,
)
from regent.core.effects import CancelTimers, CloseAllChannels, DropWatches, Journal, Send
from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    ControllerChanged,
    LeaderAndIsrAnswered,
    ResignRequested,
    SessionExpired,
    TakeOverRequested,
    TopicsChanged,
)
from regent.core.failover import ROUNDS_MAX
from regent.core.invariants import broken_invariants
from regent.errors import SessionLost
from regent.model.control_requests import ControlAnswer, ControlRequest, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.facts import (
    ControllerElected,
    ControllerResigned,
    EventFailed,
    RequestAnswered,
    ZnodeIsolated,
)
from regent.model.ids import BrokerId, ControllerEpoch, ZkVersion
from regent.model.states import PartitionState
from tests.support.builders import (
    alter_partition,
    broker_epoch,
    ids,
    leadership,
    name,
    proposal,
)
from tests.support.fake_memory import FakeMemory
from tests.support.scene import CONTROLLER, Scene

B7 = BrokerId(7)


def resigned_with(reason: str) -> list[object]:
    """The effects of resigning, all of them."""
    journal = Journal([ControllerResigned(reason)])
    return [DropWatches(), CancelTimers(), CloseAllChannels(), journal]


# --- election ---------------------------------------------------------------------------------


@pytest.mark.behaviour("int-001")
@pytest.mark.requirement("E2", "E5")
def test_a_node_alone_becomes_controller_with_epoch_one() -> None:
    """Epoch and role are taken in one step."""
    memory = FakeMemory()
    memory.register(7)
    node = Scene(memory, controller_id=7)

    run = node.elect()

    assert run.asks[:3] == [
        ReadController(),
        ReadControllerEpoch(),
        TakeController(B7, Fence(ControllerEpoch(0), ZkVersion(0)), now_ms=0),
    ]
    assert run.facts[0] == ControllerElected()
    assert (memory.holder, memory.epoch.controller_epoch) == (7, 1)
    assert (node.state.active_id, node.state.is_active) == (7, True)


@pytest.mark.behaviour("int-002", "int-003")
@pytest.mark.requirement("E5", "E9")
def test_every_take_over_raises_the_epoch_even_by_the_same_node() -> None:
    """The role goes with the node; the epoch stays for the next one."""
    memory = FakeMemory()
    memory.register(7)
    node = Scene(memory, controller_id=7)
    node.elect()

    node.handle(ResignRequested(1))
    after_stop = (memory.holder, memory.epoch.controller_epoch)
    Scene(memory, controller_id=7).elect()

    assert after_stop == (None, 1)
    assert (memory.holder, memory.epoch.controller_epoch) == (7, 2)


@pytest.mark.requirement("E2")
def test_a_node_takes_note_of_who_is_in_office_and_stops(node: Scene) -> None:
    """Being a controller module does not make a node the controller."""
    node.memory.holder = B7

    run = node.elect()

    assert run.steps == [ReadController()]
    assert (node.state.active_id, node.state.is_active) == (7, False)


@pytest.mark.requirement("E2", "E5")
def test_a_node_that_loses_the_race_reads_who_won(node: Scene) -> None:
    """Its take-over fails because the epoch moved between read and write."""
    node.memory.before_write = lambda _: node.memory.depose(successor=7)

    run = node.elect()

    assert run.asked == [
        "ReadController",
        "ReadControllerEpoch",
        "TakeController",
        "ReadController",
    ]
    assert (run.effects, node.state.active_id, node.state.is_active) == ([], 7, False)


def test_a_node_that_shall_take_over_deposes_whoever_is_in_office(node: Scene) -> None:
    """In one step, so that nobody else can be faster, and with an epoch that is above all."""
    node.memory.depose(successor=7)
    before = node.memory.epoch

    run = node.handle(TakeOverRequested(5))

    assert run.asks[:3] == [
        ReadController(),
        ReadControllerEpoch(),
        TakeController(CONTROLLER, before, now_ms=5, deposes=True),
    ]
    assert node.memory.epoch.controller_epoch == before.controller_epoch + 1
    assert (node.memory.holder, node.state.is_active) == (CONTROLLER, True)


def test_a_take_over_of_a_free_role_is_an_election(node: Scene) -> None:
    """There is nothing to delete, and a deletion would fail the whole step."""
    run = node.handle(TakeOverRequested(5))

    assert TakeController(CONTROLLER, Fence(ControllerEpoch(0), ZkVersion(0)), 5) in run.asks
    assert node.state.is_active


def test_a_node_in_office_has_nothing_to_take_over(node: Scene) -> None:
    """It would depose itself, and run a failover for nothing."""
    node.elect()

    assert node.handle(TakeOverRequested(5)).steps == [ReadController()]


def test_a_controller_that_cannot_be_read_is_not_deposed(node: Scene) -> None:
    """It may be KRaft's, which does not look there whether it still rules."""
    node.memory.holder = Malformed("/controller", "claimed by KRaft")

    run = node.handle(TakeOverRequested(5))

    assert run.asks == [ReadController()]
    assert not node.state.is_active


def come_and_go(memory: FakeMemory) -> None:
    """Another node takes the role, and is gone again at once."""
    memory.depose()
    memory.free_role()


@pytest.mark.requirement("E2")
def test_a_race_that_nobody_wins_is_not_run_for_ever(node: Scene) -> None:
    """Each time the winner is gone again; the next event tries anew."""
    node.memory.before_write = lambda _: come_and_go(node.memory)

    run = node.elect()

    assert [type(ask) for ask in run.asks].count(TakeController) == ROUNDS_MAX
    assert (run.effects, node.state.is_active) == ([], False)


def test_a_role_that_cannot_be_read_is_held_and_said_aloud(node: Scene) -> None:
    """Taking it for a living controller must not pass in silence (KAFKA-9267)."""
    node.memory.holder = Malformed("/controller", "not JSON")

    run = node.elect()

    assert run.effects == [Journal([ZnodeIsolated("/controller", "not JSON")])]
    assert (node.state.active_id, node.state.is_active) == (None, False)


# --- taking office ----------------------------------------------------------------------------


@pytest.mark.requirement("E6")
def test_office_is_taken_in_kafkas_order(node: Scene) -> None:
    """Features, notifications, brokers, topics, leaderships, watches; then the two machines.

    What is pending comes last, when there is ground to stand on.
    """
    node.memory.register(1, 2)
    node.memory.create_topic("t", (1, 2))
    node.memory.leaderships[name("t", 0)] = leadership(1, (1, 2))

    run = node.elect()

    led = "t-0 leader=1 isr=1,2 epoch=0 v0"
    assert run.lines == [
        "ReadController",
        "ReadControllerEpoch",
        "TakeController",
        "ControllerElected()",
        "EnsureFeatures",
        "ReadIsrNotifications",
        "DeleteIsrNotifications all",
        "ReadLogDirEvents",
        "DeleteLogDirEvents all",
        "ReadConfigChanges",
        "ReadBrokerDefaults",
        "ReadBrokers",
        "open channel to 1 (1001)",
        "open channel to 2 (1002)",
        "BrokerUp(broker_id=1, broker_epoch=1001, rack=None, loaded=True)",
        "BrokerUp(broker_id=2, broker_epoch=1002, rack=None, loaded=True)",
        "ListTopics",
        "ReadTopics t",
        "ReadLeaderships t-0",
        "t loaded (id-of-t): 0 on 1,2 leader=1 isr=1,2 epoch=0 v0",
        "ListTopicDeletions",
        "WatchBrokers 1,2",
        "1 <- UpdateMetadata live=1,2",
        "2 <- UpdateMetadata live=1,2",
        "ReplicasStarted(topic='t', offline_brokers=())",
        f"1 <- LeaderAndIsr {led}",
        f"2 <- LeaderAndIsr {led}",
        f"1 <- UpdateMetadata live=1,2; {led} replicas=1,2",
        f"2 <- UpdateMetadata live=1,2; {led} replicas=1,2",
        "PartitionsStarted(topic='t', new=(), offline=())",
        "ReadReassignmentZnode",
        "ReadElectionZnode",
        "set timer leader-balance in 5000 ms",
    ]


@pytest.mark.fault("F28")
@pytest.mark.requirement("E6")
def test_every_broker_first_hears_who_is_alive(node: Scene) -> None:
    """It refuses to follow a leader that is not in its list of live brokers (KAFKA-4443)."""
    node.memory.register(1, 2, 3)
    for index in range(5):
        node.memory.create_topic(f"t{index}", (1, 2, 3), (2, 3, 4))

    run = node.elect()

    first: dict[BrokerId, ControlRequest] = {}
    for send in run.sends:
        first.setdefault(send.broker_id, send.request)
    assert [type(request) for request in first.values()] == [UpdateMetadata] * 3
    assert run.told[:3] == [f"{b} <- UpdateMetadata live=1,2,3" for b in (1, 2, 3)]


@pytest.mark.behaviour("int-031", "int-033")
@pytest.mark.parametrize(
    ("protocol", "enabled"), [("2.6", False), ("2.7-IV0", True), ("3.9", True)]
)
@pytest.mark.parametrize("before", [None, True, False])
def test_features_are_brought_to_the_status_that_the_protocol_wants(
    node: Scene, *, protocol: str, enabled: bool, before: bool | None
) -> None:
    """Made at version 0, rewritten once where it says otherwise, else left alone."""
    node.configure(protocol=protocol)
    node.memory.features = None if before is None else (before, 5)

    node.elect()

    if before is None:
        assert node.memory.features == (enabled, 0)
    else:
        assert node.memory.features == (enabled, 5 if before is enabled else 6)


@pytest.mark.requirement("P2", "R1")
def test_a_new_controller_elects_for_leaders_that_died_with_the_old_one(node: Scene) -> None:
    """One epoch for taking the dead replica out, one for the election."""
    node.memory.register(2)
    node.memory.create_topic("t", (1, 2))
    node.memory.leaderships[name("t", 0)] = leadership(1, (1, 2), leader_epoch=3, zk_version=3)

    node.elect()

    t0 = node.state.topics["t"].partitions[0]
    assert node.stored(t0) == leadership(2, (2,), leader_epoch=5, zk_version=5)
    assert t0.state is PartitionState.ONLINE


def test_notifications_are_dropped_before_anything_is_read(node: Scene) -> None:
    """The read covers what they announce; dropped later, they might be dropped unread."""
    node.memory.notifications["isr_change_0"] = (name("t", 0),)

    run = node.elect()

    lines = run.lines
    assert node.memory.notifications == {}
    assert lines.index("DeleteIsrNotifications all") < lines.index("ListTopics")


@pytest.mark.requirement("X3")
def test_what_cannot_be_read_does_not_stop_a_failover(node: Scene) -> None:
    """A broker, a topic and a state are broken; everything else is served."""
    memory = node.memory
    memory.register(1)
    memory.brokers[BrokerId(2)] = Malformed("/brokers/ids/2", "not JSON")
    memory.topics["a"] = Malformed("/brokers/topics/a", "not JSON")
    memory.create_topic("t", (1,), (1,))
    memory.leaderships[name("t", 0)] = Malformed("/state", "not JSON")

    run = node.elect()

    isolated = [fact for fact in run.facts if isinstance(fact, ZnodeIsolated)]
    assert [fact.path for fact in isolated] == ["/brokers/ids/2", "/brokers/topics/a", "/state"]
    t0, t1 = node.state.topics["t"].partitions.values()
    assert (t0.state, t1.state) == (PartitionState.OFFLINE, PartitionState.ONLINE)


def test_an_isr_with_strangers_in_it_is_reported_and_served(node: Scene) -> None:
    """They are never elected, and leave with the next election."""
    node.memory.register(1, 9)
    node.memory.create_topic("t", (1,))
    node.memory.leaderships[name("t", 0)] = leadership(1, (1, 9))

    run = node.elect()

    path = "/brokers/topics/t/partitions/0/state"
    reason = "the ISR names [9], which are not assigned"
    assert ZnodeIsolated(path, reason) in run.facts
    assert node.state.topics["t"].partitions[0].state is PartitionState.ONLINE


@pytest.mark.behaviour("fov-006")
@pytest.mark.parametrize(
    ("protocol", "topic_id"), [("3.9", "id-of-t"), ("2.7", "id-of-t"), ("2.7", None)]
)
def test_a_topic_keeps_its_id_through_a_failover(
    node: Scene, protocol: str, topic_id: str | None
) -> None:
    """And under 2.7 one without an id stays without."""
    node.configure(protocol=protocol)
    node.memory.register(1)
    node.memory.create_topic("t", (1,), topic_id=topic_id)
    node.elect()
    node.handle(ResignRequested(1))
    successor = Scene(node.memory, controller_id=101)
    successor.configure(protocol=protocol)

    successor.elect()

    assert successor.state.topics["t"].topic_id == topic_id
    assert node.memory.topics["t"].topic_id == topic_id  # type: ignore[union-attr]


# --- leaving office ---------------------------------------------------------------------------


@pytest.mark.requirement("E7", "E9")
def test_a_node_that_is_asked_to_resign_frees_the_role_first(scene: Scene) -> None:
    """So that another can stand at once; nothing is known afterwards."""
    scene.live(1)
    scene.partition(leadership=leadership(1, (1,)))
    fence = scene.memory.epoch

    run = scene.handle(ResignRequested(0))

    assert run.steps == [DropController(fence), *resigned_with("asked to resign")]
    assert scene.memory.holder is None
    assert (scene.state.is_active, scene.state.active_id, scene.state.topics) == (False, None, {})


def test_a_node_that_is_asked_to_resign_too_late_resigns_all_the_same(scene: Scene) -> None:
    """The role is another's by now, and is left alone."""
    scene.memory.depose(successor=7)

    run = scene.handle(ResignRequested(0))

    assert run.effects == resigned_with("asked to resign; the epoch is 2 by now")
    assert scene.memory.holder == 7


def test_a_node_that_is_not_in_office_has_nothing_to_resign(node: Scene) -> None:
    """Whether it is asked or its session expires."""
    assert node.handle(ResignRequested(0)).steps == []
    assert node.handle(SessionExpired(0)).steps == []


@pytest.mark.requirement("E4")
def test_a_node_whose_session_expired_resigns_and_waits_for_the_next(scene: Scene) -> None:
    """Nothing is written: the session that could write is gone, and the role with it."""
    scene.live(1)

    run = scene.handle(SessionExpired(0))

    assert run.steps == resigned_with("the ZooKeeper session expired")
    assert not scene.state.is_active


@pytest.mark.requirement("E3")
def test_a_node_whose_role_was_taken_resigns_and_knows_by_whom(scene: Scene) -> None:
    """It does not stand again: somebody is in office."""
    scene.memory.depose(successor=7)

    run = scene.handle(ControllerChanged(0))

    assert run.steps == [ReadController(), *resigned_with("/controller now names 7")]
    assert (scene.state.is_active, scene.state.active_id) == (False, 7)


@pytest.mark.requirement("E3")
def test_a_node_whose_role_was_deleted_resigns_and_stands_again(scene: Scene) -> None:
    """Somebody removed it by hand; the reign that follows is a new one."""
    scene.memory.free_role()

    run = scene.handle(ControllerChanged(0))

    assert run.effects[:5] == [
        *resigned_with("/controller now names None"),
        Journal([ControllerElected()]),
    ]
    assert (scene.memory.holder, scene.state.controller_epoch) == (CONTROLLER, 2)


@pytest.mark.requirement("E3")
def test_a_node_that_waits_stands_when_the_role_is_free(node: Scene) -> None:
    """And only takes note when another has taken it."""
    node.memory.holder = B7
    first = node.handle(ControllerChanged(0))
    node.memory.free_role()

    node.handle(ControllerChanged(1))

    assert first.steps == [ReadController()]
    assert (node.memory.holder, node.state.active_id) == (CONTROLLER, CONTROLLER)


def test_a_role_that_becomes_unreadable_is_given_up(scene: Scene) -> None:
    """It is not ours any more, whoever's it is."""
    scene.memory.holder = Malformed("/controller", "not JSON")

    run = scene.handle(ControllerChanged(0))

    assert run.effects == [
        Journal([ZnodeIsolated("/controller", "not JSON")]),
        *resigned_with("/controller now names -1"),
    ]
    assert scene.state.active_id is None


# --- being deposed ----------------------------------------------------------------------------


@pytest.mark.behaviour("fov-002")
@pytest.mark.requirement("E5")
def test_a_deposed_controller_can_change_nothing(scene: Scene) -> None:
    """Its first write is refused; it resigns and tells nobody anything."""
    scene.live(1)
    scene.memory.create_topic("t", (1,))
    scene.memory.depose(successor=7)

    run = scene.handle(TopicsChanged(0))

    assert not run.sends
    assert run.effects[-4:] == resigned_with(
        "deposed: the epoch is 2 by now; the epoch is 2 by now"
    )
    assert [type(ask) for ask in run.asks[-3:]] == [
        CreateLeaderships,
        DropController,
        ReadController,
    ]
    assert (scene.memory.leaderships, scene.memory.holder) == ({}, 7)
    assert (scene.state.is_active, scene.state.active_id) == (False, 7)


@pytest.mark.requirement("E5")
def test_nothing_is_sent_after_the_fence_held(scene: Scene) -> None:
    """Deposed between two writes: what the first led to was told, and nothing after the second."""
    scene.live(1, 2, 3)
    scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    scene.partition("t", 1, (3, 1), leadership=leadership(3, (3, 1)))
    scene.memory.lose(1)
    writes: list[Ask[Any]] = []

    def depose_at_the_second(ask: Ask[Any]) -> None:
        writes.append(ask)
        if len(writes) == 2:
            scene.memory.depose(successor=7)

    scene.memory.before_write = depose_at_the_second

    run = scene.handle(BrokersChanged(0))

    refused_at = run.steps.index(writes[1])
    assert not any(isinstance(step, Send) for step in run.steps[refused_at:])
    assert not scene.state.is_active


def test_a_deposed_controller_stands_again_when_the_role_is_free(scene: Scene) -> None:
    """Whoever deposed it has died meanwhile."""
    scene.live(1)
    scene.memory.create_topic("t", (1,))
    scene.memory.depose()
    scene.memory.free_role()

    scene.handle(TopicsChanged(0))

    assert (scene.state.is_active, scene.state.controller_epoch) == (True, 3)
    assert scene.stored(scene.state.topics["t"].partitions[0]).controller_epoch == 3


def stale_answer(controller_epoch: int) -> LeaderAndIsrAnswered:
    """Broker 1 says that it obeys a newer controller than the one of this epoch."""
    answer = ControlAnswer(ErrorCode.STALE_CONTROLLER_EPOCH)
    epoch = ControllerEpoch(controller_epoch)
    return LeaderAndIsrAnswered(0, BrokerId(1), broker_epoch(1), epoch, answer)


@pytest.mark.requirement("C5")
def test_a_broker_that_obeys_a_newer_controller_is_right(scene: Scene) -> None:
    """Its answer ends the reign as a refused write does."""
    scene.live(1)
    scene.memory.depose(successor=7)

    run = scene.handle(stale_answer(controller_epoch=1))

    answered = RequestAnswered(BrokerId(1), "LeaderAndIsr", ErrorCode.STALE_CONTROLLER_EPOCH)
    assert run.facts[0] == answered
    assert (scene.state.is_active, scene.state.active_id) == (False, 7)


@pytest.mark.requirement("C5")
def test_an_answer_to_an_earlier_reign_is_not_for_this_one(scene: Scene) -> None:
    """Of course the broker obeys a newer controller than that one: us."""
    scene.in_office(controller_epoch=2).live(1)

    assert scene.handle(stale_answer(controller_epoch=1)).steps == []
    assert scene.state.is_active


def test_a_role_that_was_given_up_for_nothing_is_free_again(scene: Scene) -> None:
    """The broker was wrong: `/controller` was still ours, and must not be held by nobody."""
    scene.live(1)

    scene.handle(stale_answer(controller_epoch=1))

    assert (scene.memory.holder, scene.state.controller_epoch) == (CONTROLLER, 2)


def test_a_session_that_ends_in_the_middle_of_an_event_ends_the_reign(scene: Scene) -> None:
    """The new session will stand again."""
    scene.memory.failures[ReadBrokers] = SessionLost("expired")

    run = scene.handle(BrokersChanged(0))

    assert run.steps == [ReadBrokers(), *resigned_with("expired")]


def test_a_session_that_ends_before_the_election_changes_nothing(node: Scene) -> None:
    """There is no reign to end."""
    node.memory.failures[ReadController] = SessionLost("expired")

    assert node.elect().steps == [ReadController()]


@pytest.mark.parametrize("lost_at", [DropController, ReadController])
def test_a_caller_is_answered_when_the_session_ends_while_the_role_is_given_up(
    scene: Scene, lost_at: type[Ask[Any]]
) -> None:
    """And the node is not in office any more, whatever it did not come to."""
    scene.live(1, 2)
    scene.partition(leadership=leadership(1, (1, 2)))
    scene.memory.depose()
    scene.memory.failures[lost_at] = SessionLost("expired")

    request = AlterPartitionRequested(0, 7, alter_partition(1, proposal(1)))
    run = scene.handle(request)

    assert run.reply.request_id == 7
    assert not scene.state.is_active


def test_nobody_is_half_in_office_when_a_second_reign_is_ended_too(node: Scene) -> None:
    """The epoch was lost: each reign finds what a later one is said to have written."""
    node.memory.register(2)
    node.memory.create_topic("t", (1, 2))
    written = leadership(1, (1, 2), controller_epoch=50)
    node.memory.leaderships[name("t", 0)] = written

    node.elect()
    assert (node.state.is_active, node.memory.holder) == (False, None)

    for _ in range(50):
        node.handle(ControllerChanged(0))
    assert node.state.is_active
    assert node.state.controller_epoch >= 50
    assert node.stored(node.state.topics["t"].partitions[0]).leader == 2


# --- the unforeseen ---------------------------------------------------------------------------


@pytest.mark.requirement("E6")
def test_the_unforeseen_comes_out_and_giving_up_frees_the_role(node: Scene) -> None:
    """In the middle of a failover: another controller starts clean."""
    node.memory.failures[ReadTopics] = ZeroDivisionError("a bug")
    node.memory.create_topic("t", (1,))

    with pytest.raises(ZeroDivisionError):
        node.elect()
    run = node.run(node.controller.give_up("ZeroDivisionError: a bug"))

    assert run.effects == [
        Journal([EventFailed("ZeroDivisionError: a bug")]),
        *resigned_with("ZeroDivisionError: a bug"),
    ]
    assert (node.memory.holder, node.state.is_active) == (None, False)


def test_giving_up_is_not_stopped_by_a_second_failure(scene: Scene) -> None:
    """The session is gone too; the node must not go on believing to be controller."""
    scene.memory.failures[DropController] = SessionLost("expired")

    run = scene.run(scene.controller.give_up("a bug"))

    assert run.effects == [
        Journal([EventFailed("a bug")]),
        Journal([EventFailed("expired")]),
        *resigned_with("expired"),
    ]


def test_giving_up_off_the_controller_only_records(node: Scene) -> None:
    """There is nothing to give up."""
    run = node.run(node.controller.give_up("a bug"))

    assert run.steps == [Journal([EventFailed("a bug")])]


# --- crash after every write ------------------------------------------------------------------


def dying_cluster() -> Scene:
    """Broker 1, which leads, has just died, and a topic has just been made."""
    scene = Scene()
    scene.memory.register(1, 2, 3)
    scene.memory.create_topic("t", (1, 2, 3), (2, 1, 3))
    scene.elect()
    scene.memory.lose(1)
    return scene


def end_of(memory: FakeMemory) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Who leads and who is in sync, whatever it cost."""
    found = memory.leaderships.items()
    return {str(n): (led.leader, led.isr) for n, led in found if not isinstance(led, Malformed)}


def crash_after(scene: Scene, answered_writes: int) -> bool:
    """Stop the controller after so many writes; whether it got that far."""
    procedure = scene.controller.handle(BrokersChanged(0))
    answer, writes = None, 0
    try:
        while True:
            step = procedure.send(answer)
            answer = scene.memory.answer(step) if isinstance(step, Ask) else None
            writes += isinstance(step, WriteLeaderships)
            if writes == answered_writes:
                procedure.close()
                return True
    except StopIteration:
        return False


@pytest.mark.parametrize("answered_writes", [1, 2])
def test_a_crash_after_any_write_comes_to_the_same_end(answered_writes: int) -> None:
    """A successor finishes from what the store holds, with nothing handed over."""
    unbroken, broken = dying_cluster(), dying_cluster()
    unbroken.handle(BrokersChanged(0))

    assert crash_after(broken, answered_writes)
    broken.memory.free_role()
    successor = Scene(broken.memory, controller_id=101)
    successor.elect()

    assert end_of(broken.memory) == end_of(unbroken.memory)
    assert end_of(unbroken.memory) == {"t-0": (2, ids(2, 3)), "t-1": (2, ids(2, 3))}
    assert broken_invariants(successor.state) == []


def test_the_same_events_make_the_same_run() -> None:
    """Nothing in the core depends on chance, time, or the order of a set."""
    first, second = dying_cluster(), dying_cluster()

    runs = [each.handle(BrokersChanged(0)) for each in (first, second)]

    assert runs[0].lines == runs[1].lines
    assert runs[0].sends == runs[1].sends
