"""What a move does step by step: recorded (U), replicas added (A), finished (B)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from regent.core.asks import (
    Ask,
    Malformed,
    ReadLeaderships,
    WatchLeaderships,
    WriteLeaderships,
    WriteTopics,
)
from regent.core.events import BrokersChanged, IsrChangesNotified, LeadershipChanged
from regent.core.state import Partition
from regent.journal.replay import replay
from regent.model.admin_requests import AlterReassignmentsAnswer
from regent.model.alter_partition import AlterPartitionAnswer
from regent.model.error_codes import ErrorCode
from regent.model.facts import ControllerResigned, MoveRefused, ReassignmentAdvanced
from regent.model.ids import BrokerId, ControllerEpoch
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import assignment, ids, leadership, name
from tests.support.drive import Run
from tests.support.moves import ask_for_moves, codes, grow, leave_plan, plan, stored_assignment
from tests.support.scene import Scene
from tests.unit.journal.builders import history


def phases(run: Run[None]) -> list[str]:
    """Which phases were reached."""
    return [fact.phase for fact in run.facts if isinstance(fact, ReassignmentAdvanced)]


def states(scene: Scene, partition: Partition, *broker_ids: int) -> list[ReplicaState]:
    """Where these replicas are."""
    return [scene.state.replica_state(partition, b) for b in ids(*broker_ids)]


def before_writing(kind: type[Ask[Any]], act: Callable[[], None]) -> Callable[[Ask[Any]], None]:
    """Have something happen once, right before such a write."""
    pending = [act]

    def hook(ask: Ask[Any]) -> None:
        if isinstance(ask, kind) and pending:
            pending.pop()()

    return hook


@pytest.fixture
def lone(scene: Scene) -> Partition:
    """Partition t-0 on broker 1 alone, while 1 to 4 are alive."""
    scene.live(1, 2, 3, 4)
    return scene.partition(replicas=(1,), leadership=leadership(1, (1,)))


@pytest.fixture
def trio(scene: Scene) -> Partition:
    """Partition t-0 on brokers 5 to 7, all in sync; 8 and 9 are free."""
    scene.live(5, 6, 7, 8, 9)
    return scene.partition(replicas=(5, 6, 7), leadership=leadership(5, (5, 6, 7)))


# --- a move from beginning to end -------------------------------------------------------------


@pytest.mark.fault("F55")
@pytest.mark.requirement("A2", "A3")
def test_a_move_is_recorded_before_anybody_is_told(scene: Scene, lone: Partition) -> None:
    """The znode first, then memory, then the leader under a new epoch, then the new replica."""
    run = ask_for_moves(scene, ("t", 0, (2,)))

    new = "leader=1 isr=1 epoch=1 v1"
    told = [f"{b} <- UpdateMetadata live=1,2,3,4; t-0 {new} replicas=2,1" for b in (1, 2, 3, 4)]
    assert run.lines == [
        "ReadReassignmentZnode",
        "WriteTopics t (id-of-t)",
        "t-0 assigned to 2,1 adding=2 removing=1",
        "t-0 reassignment U",
        "ReadLeaderships t-0",
        "ReadLeaderships t-0",
        "WriteLeaderships t-0 leader=1 isr=1 epoch=1 v0",
        f"t-0 raised {new}",
        f"1 <- LeaderAndIsr t-0 {new}",
        f"2 <- LeaderAndIsr t-0 {new} new",
        *told,
        "t-0@2 NonExistentReplica -> NewReplica",
        f"2 <- LeaderAndIsr t-0 {new} new",
        *told,
        "t-0 reassignment A",
        "reply to 5: NONE",
    ]
    moving = assignment(2, 1, adding=(2,), removing=(1,))
    assert lone.assignment == stored_assignment(scene, lone) == moving


@pytest.mark.requirement("A4")
@pytest.mark.behaviour("rsg-002")
def test_a_move_ends_when_the_target_is_in_sync(scene: Scene, lone: Partition) -> None:
    """One leader epoch to announce, one to elect, one to shrink; the znode of the topic last."""
    ask_for_moves(scene, ("t", 0, (2,)))

    run = grow(scene, lone, 1, 2)

    told = [f"{b} <- UpdateMetadata live=1,2,3,4; t-0 " for b in (1, 2, 3, 4)]
    elected, shrunk = "leader=2 isr=1,2 epoch=2 v3", "leader=2 isr=2 epoch=3 v4"
    assert run.lines[run.lines.index("ReadLeaderships t-0") :] == [
        "ReadLeaderships t-0",
        "t-0@2 NewReplica -> OnlineReplica",
        "t-0 assigned to 2",
        "WriteLeaderships t-0 leader=2 isr=1,2 epoch=2 v2",
        f"t-0 OnlinePartition -> OnlinePartition {elected}",
        f"2 <- LeaderAndIsr t-0 {elected}",
        *(f"{each}{elected} replicas=2" for each in told),
        "WriteLeaderships t-0 leader=2 isr=2 epoch=3 v3",
        f"t-0@1 shrunk {shrunk}",
        "t-0@1 OnlineReplica -> OfflineReplica",
        f"2 <- LeaderAndIsr t-0 {shrunk}",
        *(f"{each}{shrunk} replicas=2" for each in told),
        "1 <- StopReplica t-0 epoch=2",
        "t-0@1 OfflineReplica -> ReplicaDeletionStarted",
        "1 <- StopReplica t-0 epoch=3 delete",
        "t-0@1 ReplicaDeletionStarted -> ReplicaDeletionSuccessful",
        "t-0@1 ReplicaDeletionSuccessful -> NonExistentReplica",
        "WriteTopics t (id-of-t)",
        "t-0 reassignment B",
        "ReadReassignmentZnode",
        *(f"{each}{shrunk} replicas=2" for each in told),
        "reply to 7: NONE",
    ]
    assert lone.assignment == stored_assignment(scene, lone) == assignment(2)
    assert scene.stored(lone) == leadership(2, (2,), leader_epoch=3, zk_version=4)


@pytest.mark.fault("F55")
@pytest.mark.behaviour("rsg-005")
def test_a_leader_of_the_target_stays_and_hears_of_it_first(scene: Scene, trio: Partition) -> None:
    """It must not take a removed replica back, so it knows before that one is stopped."""
    ask_for_moves(scene, ("t", 0, (5, 7, 8)))

    run = grow(scene, trio, 5, 6, 7, 8)

    led = leadership(5, (5, 7, 8), leader_epoch=3, zk_version=4)
    assert scene.stored(trio) == led
    assert trio.assignment == stored_assignment(scene, trio) == assignment(5, 7, 8)
    known, stopped = (
        next(i for i, line in enumerate(run.told) if line.startswith(start))
        for start in ("5 <- LeaderAndIsr", "6 <- StopReplica")
    )
    assert known < stopped
    assert states(scene, trio, 5, 6, 7, 8) == [
        ReplicaState.ONLINE,
        ReplicaState.NON_EXISTENT,
        ReplicaState.ONLINE,
        ReplicaState.ONLINE,
    ]


@pytest.mark.requirement("A3")
def test_a_move_waits_for_the_whole_target(scene: Scene, lone: Partition) -> None:
    """Two of three are not enough, and waiting costs no leader epoch."""
    ask_for_moves(scene, ("t", 0, (2, 3)))

    run = grow(scene, lone, 1, 2)

    assert phases(run) == []
    assert scene.stored(lone) == leadership(1, (1, 2), leader_epoch=1, zk_version=2)


@pytest.mark.requirement("A5")
def test_a_target_that_is_in_sync_and_dead_is_waited_for(scene: Scene, lone: Partition) -> None:
    """The origin is all that lives; it stays until somebody else can lead."""
    ask_for_moves(scene, ("t", 0, (2,)))
    scene.state.remove_broker(BrokerId(2))
    scene.memory.lose(2)
    scene.overwrite(lone, isr=ids(1, 2))

    scene.memory.notifications["isr_change_1"] = (name("t", 0),)
    run = scene.handle(IsrChangesNotified(0))

    assert phases(run) == []
    assert scene.stored(lone).leader == 1
    scene.memory.register(2, life=2)
    assert phases(scene.handle(BrokersChanged(0))) == ["B"]
    assert scene.stored(lone).leader == 2


def test_a_replica_on_a_dead_broker_does_not_come_online(scene: Scene, lone: Partition) -> None:
    """It counts as in sync for as long as nobody has taken it out; that does not make it alive."""
    ask_for_moves(scene, ("t", 0, (2, 3)))
    scene.state.remove_broker(BrokerId(3))
    scene.overwrite(lone, isr=ids(1, 2, 3))
    scene.memory.notifications["isr_change_1"] = (name("t", 0),)

    run = scene.handle(IsrChangesNotified(0))

    assert phases(run) == ["B"]
    assert states(scene, lone, 2, 3) == [ReplicaState.ONLINE, ReplicaState.NEW]


@pytest.mark.requirement("J1")
def test_the_journal_tells_the_whole_move(node: Scene) -> None:
    """Replayed, it knows replicas and leadership as the controller does, at every stage."""
    node.memory.register(1, 2, 3)
    node.memory.create_topic("t", (1,))
    facts = list(node.elect().facts)
    moving = node.state.partition("t", 0)
    assert moving is not None

    for act in (
        partial(ask_for_moves, node, ("t", 0, (2,))),
        partial(ask_for_moves, node, ("t", 0, (3,))),
        partial(ask_for_moves, node, ("t", 0, None)),
        partial(ask_for_moves, node, ("t", 0, (3, 2))),
        partial(grow, node, moving, 1, 2, 3),
    ):
        facts += act().facts
        replayed = replay(history(*facts)).partition("t", 0)
        assert replayed is not None
        assert (replayed.assignment, replayed.leadership, replayed.state) == (
            moving.assignment,
            moving.leadership,
            moving.state,
        )
        known = {b: held[moving] for b, held in node.state.replicas_on.items() if moving in held}
        assert replayed.replicas == known
    assert moving.assignment == assignment(3, 2)


# --- moves that move nothing ------------------------------------------------------------------


def test_a_new_order_is_written_at_once_and_moves_no_leader(scene: Scene, trio: Partition) -> None:
    """There is nothing to wait for; the preferred leader is another from now on."""
    run = ask_for_moves(scene, ("t", 0, (7, 5, 6)))

    assert phases(run) == ["U", "B"]
    assert trio.assignment == stored_assignment(scene, trio) == assignment(7, 5, 6)
    assert scene.stored(trio) == leadership(5, (5, 6, 7), leader_epoch=1, zk_version=1)
    assert not any("StopReplica" in line for line in run.told)


@pytest.mark.behaviour("rsg-014")
def test_a_plan_that_changes_nothing_is_complete(scene: Scene, lone: Partition) -> None:
    """It is not left in the znode to be waited for."""
    run = leave_plan(scene, ("t", 0, (1,)))

    assert phases(run) == ["B"]
    assert not any(isinstance(ask, WriteTopics) for ask in run.asks)
    assert scene.memory.plan is None
    assert lone.assignment == assignment(1)


def test_a_partition_that_nobody_can_lead_can_be_reordered(scene: Scene) -> None:
    """There is no leader to keep and none to elect, and the order is what was asked for."""
    scene.live(3)
    dark = scene.partition(
        replicas=(1, 2), leadership=leadership(-1, (1,)), state=PartitionState.OFFLINE
    )

    run = ask_for_moves(scene, ("t", 0, (2, 1)))

    assert codes(run) == [ErrorCode.NONE]
    assert stored_assignment(scene, dark) == assignment(2, 1)
    assert dark.state is PartitionState.OFFLINE


def test_a_partition_that_was_never_led_is_led_by_its_target(scene: Scene) -> None:
    """Its replicas were never alive, so there is nothing that the new one could lack."""
    scene.live(2)
    fresh = scene.partition(
        replicas=(1,), state=PartitionState.NEW, replica_state=ReplicaState.OFFLINE
    )

    run = ask_for_moves(scene, ("t", 0, (2,)))

    assert phases(run) == ["U", "B"]
    assert scene.stored(fresh).leader == 2
    assert stored_assignment(scene, fresh) == assignment(2)


# --- replaced and cancelled -------------------------------------------------------------------


@pytest.mark.requirement("A2", "A6")
@pytest.mark.behaviour("rsg-044")
def test_cancelling_stops_what_was_added_even_if_it_is_in_sync(
    scene: Scene, trio: Partition
) -> None:
    """Both are deleted, the one in the ISR leaves it, and the leader hears the old list."""
    ask_for_moves(scene, ("t", 0, (5, 8, 9)))
    grow(scene, trio, 5, 6, 7, 8)

    run = ask_for_moves(scene, ("t", 0, None))

    assert phases(run) == ["C", "B"]
    assert scene.stored(trio).isr == ids(5, 6, 7)
    assert stored_assignment(scene, trio) == trio.assignment == assignment(5, 6, 7)
    assert states(scene, trio, 8, 9) == [ReplicaState.NON_EXISTENT] * 2
    deleted = [line for line in run.told if line.endswith("delete")]
    assert deleted == ["8 <- StopReplica t-0 epoch=2 delete", "9 <- StopReplica t-0 epoch=2 delete"]
    last = next(line for line in reversed(run.told) if line.startswith("5 <- LeaderAndIsr"))
    assert last == "5 <- LeaderAndIsr t-0 leader=5 isr=5,6,7 epoch=3 v4"


@pytest.mark.requirement("A2")
def test_a_replaced_move_drops_what_only_it_wanted(scene: Scene, lone: Partition) -> None:
    """The origin is still the first one, however often the target changes (KAFKA-9089)."""
    ask_for_moves(scene, ("t", 0, (2,)))
    ask_for_moves(scene, ("t", 0, (3,)))

    assert stored_assignment(scene, lone) == assignment(3, 1, adding=(3,), removing=(1,))
    assert states(scene, lone, 1, 2, 3) == [
        ReplicaState.ONLINE,
        ReplicaState.NON_EXISTENT,
        ReplicaState.NEW,
    ]
    ask_for_moves(scene, ("t", 0, None))
    assert stored_assignment(scene, lone) == lone.assignment == assignment(1)


@pytest.mark.usefixtures("trio")
def test_while_replicas_are_dropped_the_znode_remembers_them(scene: Scene) -> None:
    """As coming and going: neither origin nor target is changed by it."""
    ask_for_moves(scene, ("t", 0, (5, 8)))
    seen = []

    def note(ask: Ask[Any]) -> None:
        if isinstance(ask, WriteTopics):
            seen.append(ask.writes[0].partitions[0])

    scene.memory.before_write = note
    ask_for_moves(scene, ("t", 0, (5, 9)))

    assert seen == [
        assignment(5, 9, 6, 7, 8, adding=(9, 8), removing=(6, 7, 8)),
        assignment(5, 9, 6, 7, adding=(9,), removing=(6, 7)),
    ]
    assert seen[0].origin == seen[1].origin == ids(5, 6, 7)
    assert seen[0].target == seen[1].target == ids(5, 9)


def test_dropping_the_leader_elects_another(scene: Scene, trio: Partition) -> None:
    """A replica that was being added may have been elected meanwhile."""
    ask_for_moves(scene, ("t", 0, (8,)))
    scene.overwrite(trio, leader=BrokerId(8), isr=ids(8, 7))
    scene.state.set_leadership(trio, scene.stored(trio))

    run = ask_for_moves(scene, ("t", 0, (9,)))

    assert codes(run) == [ErrorCode.NONE]
    assert (scene.stored(trio).leader, scene.stored(trio).isr) == (7, ids(7))
    assert trio.state is PartitionState.ONLINE


def test_the_only_replicas_in_sync_are_not_dropped(scene: Scene, trio: Partition) -> None:
    """Nobody else has the data. What is asked would lose it, and is refused."""
    ask_for_moves(scene, ("t", 0, (8,)))
    scene.overwrite(trio, leader=BrokerId(8), isr=ids(8))

    run = ask_for_moves(scene, ("t", 0, None))

    assert codes(run) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert stored_assignment(scene, trio).adding == ids(8)
    assert not any("StopReplica" in line for line in run.told)


def test_what_cannot_be_seen_is_not_dropped(scene: Scene, trio: Partition) -> None:
    """Who is in sync is in the znode that cannot be read."""
    ask_for_moves(scene, ("t", 0, (8,)))
    scene.memory.leaderships[trio.name] = Malformed("/state", "torn")

    run = ask_for_moves(scene, ("t", 0, None))

    assert codes(run) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert stored_assignment(scene, trio).adding == ids(8)


# --- races ------------------------------------------------------------------------------------


@pytest.mark.requirement("P4")
def test_announcing_a_move_takes_over_an_isr_that_was_written_meanwhile(
    scene: Scene, trio: Partition
) -> None:
    """The announcement changes neither leader nor ISR, whoever wrote last."""
    scene.memory.before_write = before_writing(
        WriteLeaderships, lambda: scene.overwrite(trio, isr=ids(5, 6))
    )

    ask_for_moves(scene, ("t", 0, (5, 8)))

    assert scene.stored(trio) == leadership(5, (5, 6), leader_epoch=1, zk_version=2)


@pytest.mark.fault("F49")
@pytest.mark.parametrize(("leader", "left"), [(1, (1,)), (9, (1, 9))])
def test_announcing_a_move_puts_strangers_out_of_the_isr(
    scene: Scene, lone: Partition, leader: int, left: tuple[int, ...]
) -> None:
    """A leader that did not know better took back what was stopped; a leader itself must stay."""
    scene.overwrite(lone, leader=BrokerId(leader), isr=ids(1, 9))

    ask_for_moves(scene, ("t", 0, (2,)))

    assert scene.stored(lone) == leadership(leader, left, leader_epoch=1, zk_version=2)


def test_a_race_that_is_always_lost_is_given_up(scene: Scene, lone: Partition) -> None:
    """The move stays recorded, and the next occasion announces it."""

    def race(ask: Ask[Any]) -> None:
        if isinstance(ask, WriteLeaderships):
            scene.overwrite(lone)

    scene.memory.before_write = race
    run = ask_for_moves(scene, ("t", 0, (2,)))

    lost = MoveRefused("t", 0, "lost 10 races in a row", PartitionState.ONLINE)
    assert lost in run.facts
    assert codes(run) == [ErrorCode.NONE]
    assert lone in scene.state.reassigning


def test_a_move_whose_end_fails_goes_on_as_recorded(scene: Scene, lone: Partition) -> None:
    """Memory must not be ahead of the znode, or a later write would lose the origin."""
    ask_for_moves(scene, ("t", 0, (2,)))

    def race(ask: Ask[Any]) -> None:
        if isinstance(ask, WriteLeaderships) and ask.writes[0].leadership.leader == 2:
            scene.overwrite(lone)

    scene.memory.before_write = race
    run = grow(scene, lone, 1, 2)

    assert phases(run) == []
    assert lone.assignment == stored_assignment(scene, lone)
    scene.memory.before_write = lambda _: None
    assert phases(grow(scene, lone, 1, 2)) == ["B"]


def test_a_topic_that_is_gone_is_not_moved(scene: Scene, lone: Partition) -> None:
    """Somebody removed its znode by hand."""
    del scene.memory.topics["t"]

    run = ask_for_moves(scene, ("t", 0, (2,)))

    assert codes(run) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert lone.assignment == assignment(1)


def test_a_topic_of_which_parts_cannot_be_read_is_not_rewritten(
    scene: Scene, lone: Partition
) -> None:
    """What we could not read would be lost. A move under way waits as well."""
    ask_for_moves(scene, ("t", 0, (2,)))
    scene.state.isolated["/brokers/topics/t"] = ("partition 1: torn",)

    refused, waiting = ask_for_moves(scene, ("t", 0, (3,))), grow(scene, lone, 1, 2)

    assert codes(refused) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert phases(waiting) == []
    assert stored_assignment(scene, lone) == assignment(2, 1, adding=(2,), removing=(1,))


@pytest.mark.requirement("P4")
def test_a_newer_controller_ends_the_reign(scene: Scene, lone: Partition) -> None:
    """Its mark on the partition says that this controller is no longer one."""
    scene.overwrite(lone, controller_epoch=ControllerEpoch(2))

    run = ask_for_moves(scene, ("t", 0, (2,)))

    resigned = ControllerResigned("deposed: t-0 was written by epoch 2")
    assert resigned in run.facts
    assert run.answer(AlterReassignmentsAnswer).error is ErrorCode.NOT_CONTROLLER


def test_a_leader_is_answered_once_even_if_the_end_of_a_move_deposes(
    scene: Scene, lone: Partition
) -> None:
    """The ISR was written; the leader finds that out when it asks the next controller."""
    ask_for_moves(scene, ("t", 0, (2,)))

    def depose(ask: Ask[Any]) -> None:
        if isinstance(ask, WriteLeaderships) and ask.writes[0].leadership.leader == 2:
            scene.memory.depose()

    scene.memory.before_write = depose
    run = grow(scene, lone, 1, 2)

    assert run.answer(AlterPartitionAnswer).error is ErrorCode.NOT_CONTROLLER
    assert scene.stored(lone).isr == ids(1, 2)
    assert not scene.state.is_active


# --- leaders that write the ISR themselves ----------------------------------------------------


@pytest.mark.behaviour("rsg-041")
def test_old_leaders_are_watched_until_the_move_ends(scene: Scene, lone: Partition) -> None:
    """Nobody asks for an ISR there; every look sets the next watch."""
    scene.configure(protocol="2.7-IV1")
    started = ask_for_moves(scene, ("t", 0, (2,)))

    idle = scene.handle(LeadershipChanged(0, "t", 0))
    scene.overwrite(lone, isr=ids(1, 2))
    ended = scene.handle(LeadershipChanged(0, "t", 0))

    assert [any(isinstance(a, WatchLeaderships) for a in r.asks) for r in (started, idle)] == [
        True,
        True,
    ]
    assert (phases(idle), phases(ended)) == ([], ["B"])
    assert scene.stored(lone).leader == 2
    assert scene.handle(LeadershipChanged(0, "t", 0)).steps == []
    assert scene.handle(LeadershipChanged(0, "ghost", 0)).steps == []


def test_what_a_lost_leader_has_written_last_elects_its_heir(scene: Scene) -> None:
    """It took a replica in and died before it could tell."""
    scene.configure(protocol="2.7-IV1")
    scene.live(2, 3)
    dark = scene.partition(
        replicas=assignment(3, 1, 2, adding=(3,), removing=(1, 2)),
        leadership=leadership(-1, (1,)),
        state=PartitionState.OFFLINE,
    )
    scene.overwrite(dark, isr=ids(1, 2))

    scene.handle(LeadershipChanged(0, "t", 0))

    assert (scene.stored(dark).leader, dark.state) == (2, PartitionState.ONLINE)


@pytest.mark.usefixtures("lone")
def test_new_leaders_are_not_watched(scene: Scene) -> None:
    """They ask, and a watch for each move would be a load for nothing."""
    run = ask_for_moves(scene, ("t", 0, (2,)))

    assert not any(isinstance(ask, WatchLeaderships) for ask in run.asks)
    assert any(isinstance(ask, ReadLeaderships) for ask in run.asks)


@pytest.mark.behaviour("rsg-042")
def test_a_notification_ends_a_move_as_well(scene: Scene, lone: Partition) -> None:
    """While brokers are being upgraded, some still write the ISR themselves."""
    ask_for_moves(scene, ("t", 0, (2,)))
    scene.overwrite(lone, isr=ids(1, 2))
    scene.memory.notifications["isr_change_1"] = (name("t", 0),)

    run = scene.handle(IsrChangesNotified(0))

    assert phases(run) == ["B"]
    assert scene.memory.notifications == {}
    assert stored_assignment(scene, lone) == assignment(2)


# --- brokers that were waited for -------------------------------------------------------------


@pytest.mark.requirement("A5", "B1")
@pytest.mark.behaviour("rsg-003")
def test_a_dead_target_of_a_plan_is_waited_for(scene: Scene) -> None:
    """Only the announcement costs a leader epoch, and the plan stays in its znode."""
    scene.live(1)
    waiting = scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
    leave_plan(scene, ("t", 0, (2,)))

    assert scene.stored(waiting) == leadership(1, (1,), leader_epoch=1, zk_version=1)
    left = [scene.memory.plan]

    scene.memory.register(2)
    run = scene.handle(BrokersChanged(0))
    assert "2 <- LeaderAndIsr t-0 leader=1 isr=1 epoch=2 v2 new" in run.told
    grow(scene, waiting, 1, 2)
    assert [*left, scene.memory.plan] == [plan(("t", 0, (2,))), None]
    assert stored_assignment(scene, waiting) == assignment(2)
