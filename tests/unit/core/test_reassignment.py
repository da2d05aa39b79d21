"""Who may have a partition moved, by which way, and what a new controller finds."""

import pytest

from regent.core.asks import Malformed, TopicRead, WriteReassignmentZnode, WriteTopics
from regent.core.effects import Reply
from regent.core.events import (
    BrokersChanged,
    ReassignmentListRequested,
    ReassignmentsRequested,
    ReassignmentZnodeChanged,
    StopReplicaAnswered,
    TopicDeletionsChanged,
)
from regent.core.state import Partition
from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    PartitionResult,
)
from regent.model.control_requests import ControlAnswer
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, ReassignmentAdvanced, ZnodeIsolated
from regent.model.ids import BrokerId, ControllerEpoch
from regent.model.states import PartitionState
from tests.support.builders import assignment, broker_epoch, ids, leadership, name
from tests.support.drive import Run
from tests.support.moves import (
    ask_for_moves,
    codes,
    grow,
    leave_plan,
    list_moves,
    plan,
    stored_assignment,
    target,
)
from tests.support.scene import Scene

PATH = "/admin/reassign_partitions"


def advances(run: Run[None]) -> list[str]:
    """Which partitions reached which phases."""
    facts = (fact for fact in run.facts if isinstance(fact, ReassignmentAdvanced))
    return [f"{fact.topic}-{fact.partition} {fact.phase}" for fact in facts]


def on_40(scene: Scene, topic: str = "t", index: int = 0) -> Partition:
    """A partition on broker 40 alone."""
    return scene.partition(topic, index, (40,), leadership=leadership(40, (40,)))


def succeed(scene: Scene) -> Run[None]:
    """Another node takes over what this one has in its shared memory."""
    scene.memory.free_role()
    successor = Scene(scene.memory, controller_id=101)
    run = successor.elect()
    scene.controller = successor.controller
    return run


def known(scene: Scene, topic: str = "t", index: int = 0) -> Partition:
    """The partition as the controller in office knows it."""
    found = scene.state.partition(topic, index)
    assert found is not None
    return found


def confirmed(broker_id: BrokerId) -> StopReplicaAnswered:
    """The broker has deleted its replica of t-0."""
    answer = ControlAnswer(partition_errors=((name("t", 0), ErrorCode.NONE),))
    epoch = broker_epoch(broker_id)
    return StopReplicaAnswered(0, broker_id, epoch, ControllerEpoch(1), answer, (name("t", 0),))


@pytest.fixture
def cluster(scene: Scene) -> Scene:
    """Brokers 40 to 43 are alive."""
    scene.live(40, 41, 42, 43)
    return scene


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.requirement("A5")
@pytest.mark.behaviour("rsg-047")
@pytest.mark.parametrize(
    ("replicas", "reason"),
    [
        ((), "the list of replicas is empty"),
        ((40, 41, 41), "a broker is named twice in [40, 41, 41]"),
        ((-9, 40), "a broker id in [-9, 40] is negative"),
        ((40, 50), "brokers [50] are not alive; alive are [40, 41, 42, 43]"),
    ],
)
def test_senseless_targets_are_refused_with_the_reason(
    cluster: Scene, replicas: tuple[int, ...], reason: str
) -> None:
    """Each by itself: the move beside it starts."""
    still, moving = on_40(cluster), on_40(cluster, index=1)

    run = ask_for_moves(cluster, ("t", 0, replicas), ("t", 1, (41,)))

    error = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    answer = AlterReassignmentsAnswer(
        results=(PartitionResult("t", 0, error, reason), PartitionResult("t", 1))
    )
    assert run.reply == Reply(5, answer)
    api = "AlterPartitionReassignments"
    assert CallRefused(api, error, topic="t", partition=0, reason=reason) in run.facts
    assert stored_assignment(cluster, still) == assignment(40)
    assert list(cluster.state.reassigning) == [moving]


def test_a_broker_that_is_shutting_down_is_no_target(cluster: Scene) -> None:
    """It could never join the ISR. One that holds the partition already is no news."""
    on_40(cluster)
    cluster.state.mark_shutting_down(BrokerId(40))
    cluster.state.mark_shutting_down(BrokerId(41))

    assert codes(ask_for_moves(cluster, ("t", 0, (40, 41)))) == [
        ErrorCode.INVALID_REPLICA_ASSIGNMENT
    ]
    assert codes(ask_for_moves(cluster, ("t", 0, (40, 42)))) == [ErrorCode.NONE]


@pytest.mark.requirement("A5")
@pytest.mark.behaviour("rsg-046", "rsg-052")
def test_what_is_unknown_is_refused_by_itself(cluster: Scene) -> None:
    """Also when it is to be cancelled; the others start."""
    on_40(cluster)

    run = ask_for_moves(
        cluster, ("ghost", 0, (41,)), ("t", 77, (41,)), ("t", 78, None), ("t", 0, (41,))
    )

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(run) == [unknown, unknown, unknown, ErrorCode.NONE]
    assert list(list_moves(cluster)) == [name("t", 0)]


@pytest.mark.requirement("A5", "T3")
@pytest.mark.behaviour("del-016")
def test_a_topic_that_is_being_deleted_is_not_moved(cluster: Scene) -> None:
    """By either way it does not exist any more, and nothing of the attempt is left."""
    doomed = cluster.partition(replicas=(40, 50), leadership=leadership(40, (40,)))
    cluster.memory.mark("t")
    cluster.handle(TopicDeletionsChanged(0))

    asked, planned = ask_for_moves(cluster, ("t", 0, (41,))), leave_plan(cluster, ("t", 0, (41,)))

    assert codes(asked) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    gone = CallRefused(
        PATH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        topic="t",
        partition=0,
        reason="t is being deleted",
    )
    assert gone in planned.facts
    assert cluster.memory.plan is None
    assert (doomed.assignment, cluster.state.reassigning) == (assignment(40, 50), {})
    cluster.memory.register(50)
    cluster.handle(BrokersChanged(0))
    for broker_id in ids(40, 50):
        cluster.handle(confirmed(broker_id))
    assert cluster.memory.topics == {}


@pytest.mark.requirement("K1")
def test_a_node_that_is_not_in_office_moves_nothing(node: Scene) -> None:
    """The caller looks for the controller and asks there."""
    wish = AlterReassignments((target("t", 0, (41,)),))

    altered = node.handle(ReassignmentsRequested(0, 5, wish))
    listed = node.handle(ReassignmentListRequested(0, 6, ListReassignments()))
    planned = node.handle(ReassignmentZnodeChanged(0))

    assert altered.steps == [Reply(5, AlterReassignmentsAnswer(ErrorCode.NOT_CONTROLLER))]
    assert listed.steps == [Reply(6, ListReassignmentsAnswer(ErrorCode.NOT_CONTROLLER))]
    assert planned.steps == []


# --- cancelling and listing -------------------------------------------------------------------


@pytest.mark.requirement("A6")
@pytest.mark.behaviour("rsg-035")
def test_a_move_is_cancelled_by_no_target(cluster: Scene) -> None:
    """The replicas are the old ones again, and nothing else of the move is left."""
    moving = cluster.partition(replicas=(40, 41), leadership=leadership(40, (40, 41)))
    ask_for_moves(cluster, ("t", 0, (42, 41)))

    run = ask_for_moves(cluster, ("t", 0, None))

    assert codes(run) == [ErrorCode.NONE]
    after = stored_assignment(cluster, moving)
    assert (sorted(after.replicas), after.adding, after.removing) == ([40, 41], (), ())
    assert moving.assignment == after
    assert list_moves(cluster) == {}


@pytest.mark.requirement("A6")
@pytest.mark.behaviour("rsg-037")
def test_one_call_can_cancel_redirect_and_start(cluster: Scene) -> None:
    """Only what is not moving cannot be cancelled, and that alone is refused."""
    partitions = [on_40(cluster, index=index) for index in range(4)]
    ask_for_moves(cluster, ("t", 0, (41,)), ("t", 1, (41,)))

    run = ask_for_moves(cluster, ("t", 0, None), ("t", 1, (42,)), ("t", 2, (41,)), ("t", 3, None))
    grow(cluster, partitions[1], 40, 42)
    grow(cluster, partitions[2], 40, 41)

    none, idle = ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert codes(run) == [none, none, none, idle]
    assert [stored_assignment(cluster, p) for p in partitions] == [
        assignment(40),
        assignment(42),
        assignment(41),
        assignment(40),
    ]


@pytest.mark.requirement("A6")
@pytest.mark.behaviour("rsg-028", "rsg-031")
def test_only_what_is_moving_is_listed(cluster: Scene) -> None:
    """Whichever way the move was asked for."""
    on_40(cluster, "a"), on_40(cluster, "b", 0), on_40(cluster, "b", 1)
    ask_for_moves(cluster, ("a", 0, (41,)))
    leave_plan(cluster, ("b", 1, (41,)))

    listed = list_moves(cluster, ("a", 0), ("b", 0), ("b", 1), ("ghost", 0))

    moving = assignment(41, 40, adding=(41,), removing=(40,))
    assert listed == {name("a", 0): moving, name("b", 1): moving} == list_moves(cluster)


# --- the plan in the znode --------------------------------------------------------------------


@pytest.mark.requirement("A1")
@pytest.mark.behaviour("rsg-008")
def test_what_a_plan_names_and_nobody_knows_is_taken_out(cluster: Scene) -> None:
    """The rest of the plan is followed, and stays there until it is done."""
    moving = on_40(cluster)

    run = leave_plan(cluster, ("ghost", 0, (41,)), ("t", 0, (41,)), ("t", 9, ()))

    assert cluster.memory.plan == plan(("t", 0, (41,)))
    assert [(f.topic, f.partition) for f in run.facts if isinstance(f, CallRefused)] == [
        ("ghost", 0),
        ("t", 9),
    ]
    assert moving in cluster.state.reassigning
    assert "ghost" not in cluster.memory.topics


def test_looking_at_a_plan_again_announces_nothing_again(cluster: Scene) -> None:
    """Every rewriting of the znode fires the watch; what is under way is not disturbed."""
    on_40(cluster)
    leave_plan(cluster, ("t", 0, (41,)))

    run = cluster.handle(ReassignmentZnodeChanged(0))

    assert run.lines == ["ReadReassignmentZnode"]


@pytest.mark.fault("F58")
def test_a_plan_stays_until_its_last_move_is_done(cluster: Scene) -> None:
    """An entry that moves nothing must not take the others with it (KAFKA-6193)."""
    idle, first, second = (on_40(cluster, index=index) for index in range(3))
    leave_plan(cluster, ("t", 0, (40,)), ("t", 1, (41,)), ("t", 2, (41,)))
    left = [cluster.memory.plan]

    for partition in (first, second):
        grow(cluster, partition, 40, 41)
        left.append(cluster.memory.plan)

    assert left == [plan(("t", 1, (41,)), ("t", 2, (41,))), plan(("t", 2, (41,))), None]
    assert idle.assignment == assignment(40)


def test_a_plan_that_was_not_looked_at_yet_survives_the_end_of_another_move(
    cluster: Scene,
) -> None:
    """Only an entry that says what was reached is done."""
    moving = on_40(cluster)
    ask_for_moves(cluster, ("t", 0, (41,)))
    cluster.memory.plan = plan(("t", 0, (42,)))

    grow(cluster, moving, 40, 41)

    assert stored_assignment(cluster, moving) == assignment(41)
    assert cluster.memory.plan == plan(("t", 0, (42,)))


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("content", [Malformed(PATH, "torn"), {}], ids=["malformed", "empty"])
def test_a_plan_that_says_nothing_is_removed(
    cluster: Scene, content: Malformed | dict[object, object]
) -> None:
    """Otherwise no tool could leave another; what was wrong is said each time."""
    for _ in range(2):
        cluster.memory.plan = content  # type: ignore[assignment]
        run = cluster.handle(ReassignmentZnodeChanged(0))

        told = [ZnodeIsolated(PATH, "torn")] if isinstance(content, Malformed) else []
        assert run.facts == told
        assert cluster.memory.plan is None
    assert cluster.state.isolated == {}


@pytest.mark.behaviour("rsg-033")
def test_a_later_plan_replaces_a_call(cluster: Scene) -> None:
    """The latest word counts: what only the call wanted is dropped."""
    moving = on_40(cluster)
    ask_for_moves(cluster, ("t", 0, (41,)))

    leave_plan(cluster, ("t", 0, (42,)))

    redirected = assignment(42, 40, adding=(42,), removing=(40,))
    assert list_moves(cluster) == {moving.name: redirected}
    grow(cluster, moving, 40, 42)
    assert stored_assignment(cluster, moving) == assignment(42)
    assert cluster.memory.plan is None


@pytest.mark.fault("F59")
@pytest.mark.behaviour("rsg-034")
def test_a_later_call_takes_its_partitions_out_of_the_plan(cluster: Scene) -> None:
    """So the plan is done when the rest of it is, whatever the call still moves."""
    a0, a1, b0 = on_40(cluster, "a"), on_40(cluster, "a", 1), on_40(cluster, "b")
    leave_plan(cluster, ("a", 0, (41,)), ("a", 1, (41,)))

    ask_for_moves(cluster, ("a", 1, (42,)), ("b", 0, (42,)))

    left = [cluster.memory.plan]
    grow(cluster, a0, 40, 41)
    left.append(cluster.memory.plan)
    assert left == [plan(("a", 0, (41,))), None]
    assert list(cluster.state.reassigning) == [a1, b0]
    grow(cluster, a1, 40, 42)
    grow(cluster, b0, 40, 42)
    assert [stored_assignment(cluster, p) for p in (a0, a1, b0)] == [
        assignment(41),
        assignment(42),
        assignment(42),
    ]


@pytest.mark.behaviour("rsg-036")
def test_a_plan_can_be_cancelled_by_calls(cluster: Scene) -> None:
    """The znode goes with its last entry."""
    partitions = [on_40(cluster), on_40(cluster, index=1)]
    leave_plan(cluster, ("t", 0, (41,)), ("t", 1, (41,)))

    ask_for_moves(cluster, ("t", 0, None), ("t", 1, None))

    assert [stored_assignment(cluster, p) for p in partitions] == [assignment(40)] * 2
    assert cluster.memory.plan is None
    assert list_moves(cluster) == {}


def test_a_refused_call_leaves_the_plan_alone(cluster: Scene) -> None:
    """Only a word that counts replaces an earlier one."""
    on_40(cluster)
    leave_plan(cluster, ("t", 0, (41,)))

    ask_for_moves(cluster, ("t", 0, (50,)))

    assert cluster.memory.plan == plan(("t", 0, (41,)))


@pytest.mark.behaviour("rsg-026")
def test_a_second_plan_moves_reorders_and_widens(cluster: Scene) -> None:
    """The first is done; the new order is written although no data moves."""
    first = on_40(cluster)
    second = cluster.partition("t", 1, (40, 41), leadership=leadership(40, (40, 41)))
    third = on_40(cluster, index=2)
    leave_plan(cluster, ("t", 0, (41,)))
    grow(cluster, first, 40, 41)

    leave_plan(cluster, ("t", 0, (42,)), ("t", 1, (41, 40)), ("t", 2, (40, 43)))
    grow(cluster, first, 41, 42)
    grow(cluster, third, 40, 43)

    assert [stored_assignment(cluster, p) for p in (first, second, third)] == [
        assignment(42),
        assignment(41, 40),
        assignment(40, 43),
    ]
    assert cluster.memory.plan is None


# --- failover ---------------------------------------------------------------------------------


@pytest.mark.requirement("A1", "A5", "E6")
def test_a_new_controller_announces_a_move_again(cluster: Scene) -> None:
    """Its predecessor may have died before anybody was told."""
    on_40(cluster)
    ask_for_moves(cluster, ("t", 0, (41,)))

    run = succeed(cluster)

    assert advances(run) == ["t-0 A"]
    assert cluster.stored(known(cluster)).leader_epoch == 2
    assert "41 <- LeaderAndIsr t-0 leader=40 isr=40 epoch=2 v2 new" in run.told
    grow(cluster, known(cluster), 40, 41)
    assert stored_assignment(cluster, known(cluster)) == assignment(41)


def test_a_new_controller_ends_a_move_that_has_arrived(cluster: Scene) -> None:
    """The ISR was complete and nobody was left to see it."""
    moving = on_40(cluster)
    ask_for_moves(cluster, ("t", 0, (41,)))
    cluster.overwrite(moving, isr=ids(40, 41))

    run = succeed(cluster)

    assert advances(run) == ["t-0 B"]
    assert stored_assignment(cluster, known(cluster)) == assignment(41)


def test_a_new_controller_stops_what_was_being_dropped(cluster: Scene) -> None:
    """The znode has it as coming and going; nothing else remembers it."""
    moving = cluster.partition(
        replicas=assignment(42, 40, 41, adding=(42, 41), removing=(40, 41)),
        leadership=leadership(40, (40, 41)),
    )

    run = succeed(cluster)

    assert advances(run) == ["t-0 U", "t-0 A"]
    assert "41 <- StopReplica t-0 epoch=1 delete" in run.told
    now = assignment(42, 40, adding=(42,), removing=(40,))
    assert stored_assignment(cluster, known(cluster)) == now
    assert cluster.stored(moving).isr == ids(40)


def test_what_is_alone_in_sync_is_not_dropped_by_a_new_controller_either(cluster: Scene) -> None:
    """It goes on as an ordinary move: what is dropped goes with the rest, at the end."""
    cluster.partition(
        replicas=assignment(42, 40, 41, adding=(42, 41), removing=(40, 41)),
        leadership=leadership(41, (41,)),
    )

    run = succeed(cluster)

    assert advances(run) == ["t-0 A"]
    assert not any("StopReplica" in line for line in run.told)
    grow(cluster, known(cluster), 41, 42)
    assert stored_assignment(cluster, known(cluster)) == assignment(42)


@pytest.mark.fault("F59")
@pytest.mark.requirement("A5")
def test_replaced_and_taken_over_again_and_again_a_move_still_knows_its_origin(
    cluster: Scene,
) -> None:
    """X by Y by Z, by both ways, a failover between each, then cancelled (KAFKA-9089)."""
    on_40(cluster)
    ask_for_moves(cluster, ("t", 0, (41, 42)))
    succeed(cluster)
    leave_plan(cluster, ("t", 0, (42, 43)))
    succeed(cluster)
    ask_for_moves(cluster, ("t", 0, (43,)))
    succeed(cluster)

    assert list_moves(cluster) == {name("t", 0): assignment(43, 40, adding=(43,), removing=(40,))}
    ask_for_moves(cluster, ("t", 0, None))
    succeed(cluster)
    assert stored_assignment(cluster, known(cluster)) == assignment(40)
    assert cluster.memory.plan is None


@pytest.mark.behaviour("rsg-009")
def test_a_move_off_a_broker_that_never_lived_can_be_done(node: Scene) -> None:
    """Topic and plan were there before any broker was."""
    node.memory.create_topic("t", (5, 7))
    node.memory.plan = plan(("t", 0, (5, 6)))
    node.elect()

    node.memory.register(5, 6)
    node.handle(BrokersChanged(0))
    grow(node, known(node), 5, 6)

    assert stored_assignment(node, known(node)) == assignment(5, 6)
    assert node.stored(known(node)).isr == ids(5, 6)
    assert node.memory.plan is None


@pytest.mark.behaviour("rsg-010")
def test_a_plan_is_found_by_the_first_controller(node: Scene) -> None:
    """What moves is moved, what does not stays, what is unknown does not come into being."""
    node.memory.create_topic("t", (40,), (40,))
    node.memory.plan = plan(("t", 0, (41,)), ("t", 1, (40,)), ("ghost", 0, (41,)))
    node.memory.register(40, 41)

    node.elect()
    grow(node, known(node), 40, 41)

    assert stored_assignment(node, known(node)) == assignment(41)
    assert stored_assignment(node, known(node, index=1)) == assignment(40)
    assert list(node.memory.topics) == ["t"]
    assert not node.memory.plan


@pytest.mark.behaviour("rsg-011")
def test_the_plan_wins_over_what_topics_record(cluster: Scene) -> None:
    """Also where it names the very same move; the fourth goes on as it is recorded."""
    for index in range(4):
        recorded = assignment(41, 40, adding=(41,), removing=(40,))
        cluster.partition("t", index, recorded, leadership=leadership(40, (40,)))
    cluster.memory.plan = plan(("t", 0, (42,)), ("t", 1, (41,)), ("t", 2, (40, 43)))

    run = succeed(cluster)

    assert advances(run) == ["t-0 U", "t-0 A", "t-2 U", "t-2 A", "t-1 A", "t-3 A"]
    for index, arriving in enumerate((42, 41, 43, 41)):
        grow(cluster, known(cluster, index=index), 40, arriving)
    assert [stored_assignment(cluster, known(cluster, index=index)) for index in range(4)] == [
        assignment(42),
        assignment(41),
        assignment(40, 43),
        assignment(41),
    ]
    assert cluster.memory.plan is None


@pytest.mark.requirement("E5")
@pytest.mark.behaviour("fov-005")
def test_a_deposed_controller_starts_no_move(cluster: Scene) -> None:
    """It does not know yet that it is none; its first write is refused, and it resigns."""
    moving = on_40(cluster)
    before = (stored_assignment(cluster, moving), cluster.stored(moving))
    cluster.memory.depose()

    run = leave_plan(cluster, ("t", 0, (41,)))

    assert next(type(ask) for ask in run.asks if hasattr(ask, "fence")) is WriteTopics
    assert not cluster.state.is_active
    assert (stored_assignment(cluster, moving), cluster.stored(moving)) == before
    assert cluster.memory.plan == plan(("t", 0, (41,)))
    assert run.sends == []


# --- deletion ---------------------------------------------------------------------------------


@pytest.mark.requirement("A4", "T3")
@pytest.mark.behaviour("del-017")
def test_a_deletion_waits_for_the_move_and_takes_the_new_replica_too(scene: Scene) -> None:
    """The move ends first; then all replicas go, wherever they are by then."""
    scene.live(4, 5, 6, 7)
    moving = scene.partition(replicas=(4, 5, 6), leadership=leadership(4, (4, 5, 6)))
    ask_for_moves(scene, ("t", 0, (5, 6, 7)))
    scene.memory.mark("t")

    waiting = scene.handle(TopicDeletionsChanged(0))
    states = [moving.state]
    ended = grow(scene, moving, 4, 5, 6, 7)

    assert not any("StopReplica" in line for line in waiting.told)
    assert states == [PartitionState.ONLINE]
    assert advances(ended) == ["t-0 B"]
    assert stored_assignment(scene, moving) == assignment(5, 6, 7)
    deleted = [line for line in ended.told if "delete" in line]
    assert [line.split()[0] for line in deleted] == ["4", "5", "6", "7"]


def test_a_plan_is_written_only_under_the_fence(cluster: Scene) -> None:
    """A deposed controller must not take out what its successor has just been told to do."""
    on_40(cluster)
    cluster.memory.plan = plan(("t", 0, (41,)))
    cluster.memory.depose()

    run = ask_for_moves(cluster, ("t", 0, (42,)))

    assert any(isinstance(ask, WriteReassignmentZnode) for ask in run.asks)
    assert cluster.memory.plan == plan(("t", 0, (41,)))
    assert not cluster.state.is_active


def test_nothing_is_dropped_from_a_partition_whose_state_cannot_be_read(node: Scene) -> None:
    """The newcomer may be all that is in sync by now."""
    node.memory.register(1, 2, 3, 4)
    moving = assignment(4, 1, 2, adding=(4,), removing=(1, 2))
    node.memory.topics["t"] = TopicRead("id-of-t", {0: moving})
    state_path = "/brokers/topics/t/partitions/0/state"
    node.memory.leaderships[name("t", 0)] = Malformed(state_path, "not JSON")
    node.elect()

    run = ask_for_moves(node, ("t", 0, None))

    assert codes(run) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert not [told for told in run.told if "StopReplica" in told]
