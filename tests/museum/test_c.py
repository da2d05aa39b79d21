"""Faults of Kafka's history, provoked: deletions, shutdowns and elections."""

import pytest
from msgspec.structs import replace

from regent.core.config import ControllerConfig
from regent.core.events import (
    BrokersChanged,
    ControlledShutdownRequested,
    ElectionZnodeChanged,
    ElectLeadersRequested,
    Event,
    TopicChanged,
    TopicDeletionsChanged,
    TopicsChanged,
)
from regent.model.admin_requests import (
    ControlledShutdown,
    ControlledShutdownAnswer,
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
)
from regent.model.assignment import Assignment
from regent.model.control_requests import LeaderAndIsr, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, LeaderElected
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.character import Character
from regent.sim.checkers import all_checkers
from regent.sim.plan import Plan, Step, draw_plan
from regent.sim.process import SHUTDOWN_AGAIN_MS, SHUTDOWN_TIMEOUT_MS, SHUTDOWN_TRIES
from regent.sim.run import begin
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.znodes import decode_topic
from tests.support.builders import assignment, broker_epoch, ids, leadership, name
from tests.support.deletions import MARKED, OFFLINE, delete, traces_of
from tests.support.drive import Run
from tests.support.interrupted import Ground
from tests.support.moves import grow
from tests.support.scene import CONTROLLER, Scene

CHANGED = BrokersChanged(0)


def shut_down(scene: Scene, broker_id: int) -> ControlledShutdownAnswer:
    """A broker wants to go."""
    request = ControlledShutdown(BrokerId(broker_id), broker_epoch(broker_id))
    run = scene.handle(ControlledShutdownRequested(0, 5, request))
    return run.answer(ControlledShutdownAnswer)


def elect_preferred(scene: Scene, *names: TopicPartition) -> Run[None]:
    """A caller wants preferred leaders."""
    return scene.handle(ElectLeadersRequested(0, 5, ElectLeaders(ElectionType.PREFERRED, names)))


# --- deletions ------------------------------------------------------------------------------------


@pytest.mark.fault("F64")
@pytest.mark.parametrize("way", ["request", "znode"])
def test_an_election_that_is_skipped_skips_no_other(scene: Scene, way: str) -> None:
    """A topic that goes stood before one that stays, and neither was elected."""
    scene.live(1, 2)
    for topic in ("going", "staying"):
        scene.partition(topic, 0, (1, 2), leadership=leadership(2, (1, 2)))
    scene.memory.mark("going")
    scene.handle(MARKED)
    named = (name("going", 0), name("staying", 0))

    if way == "request":
        results = elect_preferred(scene, *named).answer(ElectLeadersAnswer).results
        told = [(r.topic, r.error) for r in results]
    else:
        scene.memory.elections = named
        facts = scene.handle(ElectionZnodeChanged(0)).facts
        refused = [(f.topic, f.error) for f in facts if isinstance(f, CallRefused)]
        told = [(topic or "", error) for topic, error in refused]

    assert told[0] == ("going", ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert scene.state.leader_of(scene.state.topics["staying"].partitions[0]) == 1


@pytest.mark.fault("F65")
def test_one_of_fifty_topics_goes_and_leaves_no_trace(scene: Scene) -> None:
    """Neither when it is deleted nor when its znode is suddenly gone."""
    scene.live(1, 2)
    for number in range(50):
        for index in range(10):
            scene.partition(f"t{number}", index, (2, 1), leadership=leadership(1, (1, 2)))
    deleted, vanished = "t7", "t23"

    delete(scene, deleted)
    del scene.memory.topics[vanished]
    scene.handle(TopicsChanged(0))

    assert (traces_of(scene.state, deleted), traces_of(scene.state, vanished)) == ([], [])
    assert len(scene.state.topics) == 48
    assert {len(on) for on in scene.state.replicas_on.values()} == {480}
    assert scene.state.preferred_imbalance_count == 480


@pytest.mark.fault("F67")
@pytest.mark.parametrize("found_by", ["the one in office", "a successor"])
def test_with_deletion_off_a_marked_topic_is_served_on(cluster: Scene, found_by: str) -> None:
    """Its leader dies: another is elected, and everybody hears of it as of any topic's."""
    serving = cluster
    serving.memory.mark("t")
    if found_by == "a successor":
        serving.memory.free_role()
        serving = Scene(cluster.memory, controller_id=CONTROLLER + 1)
    serving.state.config = ControllerConfig(deletes_topics=False)
    if found_by == "a successor":
        serving.elect()
    else:
        serving.handle(MARKED)
    markers = dict(serving.memory.deletions)
    serving.memory.lose(1)

    run = serving.handle(CHANGED)

    told = [s.request for s in run.sends if isinstance(s.request, UpdateMetadata)]
    assert markers == {}
    assert {p.leader for request in told for p in request.partitions} == {2}
    assert serving.state.topics_to_delete == {}


@pytest.mark.fault("F68")
def test_partitions_added_to_a_suspended_deletion_bring_nothing_back() -> None:
    """Undone by the controller that is told of them, deleted with the rest by the next one."""
    ground = Ground()
    ground.register(1, 2, 3)
    ground.write_topic("t", (1, 2, 3))
    first = ground.controller(9)
    first.stand()
    ground.lose(3)
    first.handle(CHANGED)
    ground.mark_for_deletion("t")
    first.handle(TopicDeletionsChanged(0))
    first.confirm_deletions()

    ground.write_topic("t", (1, 2, 3), (1, 2, 3))
    first.handle(TopicChanged(0, "t"))
    node = ground.server.peek(paths.topic("t"))
    assert node is not None, "broker 3 has not deleted its replica"
    assert list(decode_topic(paths.topic("t"), node.data).partitions) == [0]

    first.die()
    ground.write_topic("t", (1, 2, 3), (1, 2, 3))
    second = ground.controller(8)
    second.stand()
    assert ground.server.peek(paths.partition_state("t", 1)) is None
    ground.register(3)
    second.handle(CHANGED)
    second.confirm_deletions()
    assert [path for path in ground.server.dump() if path.endswith("/t") or "/t/" in path] == []
    assert second.controller.state.topics == {}


@pytest.mark.fault("F71")
@pytest.mark.parametrize("going", [(4, 5), assignment(5, 4, adding=(5,), removing=(4,))])
def test_a_topic_that_is_deleted_does_not_keep_its_last_replica_from_going(
    scene: Scene, going: tuple[int, ...] | Assignment
) -> None:
    """Nobody can lead it after broker 4, and nobody needs to: begun or waiting for a move."""
    scene.live(4, 6)
    for topic, replicas in (("going", going), ("staying", (4, 5))):
        partition = scene.partition(topic, 0, replicas, leadership=leadership(4, (4,)))
        scene.set_replicas(partition, ids(5), OFFLINE)
    scene.memory.mark("going")
    scene.handle(MARKED)

    remaining = shut_down(scene, 4).remaining

    assert remaining == (name("staying", 0),)
    assert scene.state.is_being_deleted("going")


@pytest.mark.fault("F73")
def test_no_counter_falls_below_zero_however_often_deletions_are_announced(scene: Scene) -> None:
    """All three deletions wait for broker 9, so that each announcement names the earlier ones."""
    scene.live(1, 2)
    for topic in ("a", "b", "c"):
        partition = scene.partition(topic, 0, (2, 1, 9), leadership=leadership(1, (1, 2)))
        scene.set_replicas(partition, ids(9), OFFLINE)
    counts = [scene.state.preferred_imbalance_count]

    def count(event: Event) -> None:
        scene.handle(event)
        counts.append(scene.state.preferred_imbalance_count)

    scene.memory.mark("a")
    count(MARKED)
    elect_preferred(scene, name("b", 0))
    scene.memory.mark("b")
    count(MARKED)
    scene.memory.mark("c")
    elect_preferred(scene, name("c", 0))
    scene.memory.lose(2)
    count(CHANGED)
    count(MARKED)
    count(MARKED)

    assert counts == [3, 2, 1, 1, 0, 0]


# --- shutdowns and elections ----------------------------------------------------------------------


@pytest.mark.fault("F77")
def test_followers_that_restart_relieve_a_leader_that_is_going(scene: Scene) -> None:
    """They are told its address and join its ISR; then the leadership can move."""
    scene.live(4)
    partition = scene.partition("t", 0, (4, 5, 6), leadership=leadership(4, (4,)))
    scene.set_replicas(partition, ids(5, 6), OFFLINE)
    first_answer = shut_down(scene, 4)
    scene.memory.register(5, 6)

    run = scene.handle(CHANGED)
    grow(scene, partition, 4, 5, 6)
    last_answer = shut_down(scene, 4)

    told = {
        send.broker_id: send.request.live_leaders
        for send in run.sends
        if isinstance(send.request, LeaderAndIsr)
    }
    assert first_answer == ControlledShutdownAnswer(remaining=(name("t", 0),))
    assert told == dict.fromkeys(ids(5, 6), ids(4))
    assert last_answer == ControlledShutdownAnswer()
    assert (scene.stored(partition).leader, scene.stored(partition).isr) == (5, ids(5, 6))


@pytest.mark.fault("F79")
def test_a_broker_stops_within_a_bound_when_zookeeper_is_gone() -> None:
    """Whoever the controller is, the broker knows from what it was told."""
    cuts = [Step(6_000, "cut_from_zookeeper", (number,), 60_000) for number in (1, 2, 3)]
    stop = Step(6_500, "shut_down", (2,), 60_000)
    world = World(Plan(1, _quiet_cluster(), (*cuts, stop)), all_checkers())
    begin(world)
    world.schedule.run_until(6_500)
    began = BrokerId(2) in world.processes

    bound_ms = SHUTDOWN_TRIES * (SHUTDOWN_TIMEOUT_MS + SHUTDOWN_AGAIN_MS)
    world.schedule.run_until(6_500 + bound_ms)

    assert (began, BrokerId(2) in world.processes) == (True, False)


def _quiet_cluster() -> Character:
    """Three brokers to which nothing happens but what a test plans."""
    return replace(
        draw_plan(0).character,
        broker_count=3,
        latency_us=500,
        session_timeout_ms=3_000,
        faults=(),
        break_per_mille=0,
        lose_answer_per_mille=0,
        late_per_mille=0,
        stall_per_mille=0,
        topics=(),
    )


@pytest.mark.fault("F80")
@pytest.mark.parametrize("way", ["dies", "shuts down"])
def test_the_order_of_the_assignment_decides_and_not_that_of_the_isr(
    scene: Scene, way: str
) -> None:
    """Whatever takes a leader away: its partitions go to those that should have them."""
    scene.live(1, 2, 3, 4)
    partition = scene.partition("t", 0, (3, 1, 2, 4), leadership=leadership(4, (4, 1, 2, 3)))

    if way == "dies":
        scene.memory.lose(4)
        scene.handle(CHANGED)
    else:
        shut_down(scene, 4)

    assert (scene.stored(partition).leader, scene.stored(partition).isr) == (3, ids(1, 2, 3))


@pytest.mark.fault("F85")
def test_unclean_elections_are_counted_once_and_clean_ones_never(scene: Scene) -> None:
    """Two topics lose their leaders twice; only one of them may be led by who was not in sync."""
    scene.live(1, 2)
    scene.memory.configs["dirty"] = {"unclean.leader.election.enable": "true"}
    scene.partition("clean", 0, (1, 2), leadership=leadership(1, (1, 2)))
    scene.partition("dirty", 0, (1, 2), leadership=leadership(1, (1,)))
    counts = []
    elected: list[tuple[str, bool]] = []

    for lost, back in ((1, ()), (2, (1,)), (1, (2,))):
        scene.memory.lose(lost)
        scene.memory.register(*back, life=2)
        facts = scene.handle(CHANGED).facts
        elected += [(f.topic, f.unclean) for f in facts if isinstance(f, LeaderElected)]
        counts.append(scene.state.unclean_election_count)

    assert elected == [
        ("clean", False),
        ("dirty", True),
        ("dirty", True),
        ("clean", False),
        ("dirty", True),
    ]
    assert counts == [1, 2, 3]
