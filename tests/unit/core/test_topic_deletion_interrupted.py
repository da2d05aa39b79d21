"""What brokers, controllers and users do while a topic is deleted (T3)."""

import pytest

from regent.core.asks import DeleteTopicMarkers, Procedure, RemoveTopics, TopicRead
from regent.core.config import ControllerConfig
from regent.core.events import (
    BrokersChanged,
    ElectionZnodeChanged,
    Event,
    TopicChanged,
    TopicsChanged,
)
from regent.core.topic_deletion import resume_deletions
from regent.journal.replay import replay
from regent.model.control_requests import LeaderAndIsr
from regent.model.facts import DeletionAdvanced, Fact
from regent.model.ids import BrokerId
from regent.model.states import ReplicaState
from tests.support.builders import assignment, leadership, name
from tests.support.deletions import (
    INELIGIBLE,
    MARKED,
    OFFLINE,
    STARTED,
    SUCCESSFUL,
    answer,
    answers_to,
    confirm,
    delete,
    elected,
    phases,
    refusals,
    replica_states,
    sends_delete,
)
from tests.support.drive import Run
from tests.support.scene import Scene
from tests.unit.journal.builders import history

# --- brokers that go and come ---------------------------------------------------------------------


@pytest.mark.behaviour("del-006")
def test_with_a_dead_replica_the_others_are_deleted_and_the_topic_waits(scene: Scene) -> None:
    """Its replica goes back to where a deletion starts; nothing is removed."""
    scene.live(51, 53)
    p0 = scene.partition("p", 0, (51, 52, 53), leadership=leadership(51, (51, 52, 53)))
    scene.set_replicas(p0, (BrokerId(52),), OFFLINE)
    scene.memory.mark("p")
    run = scene.handle(MARKED)
    started = replica_states(scene, "p")

    after = confirm(scene, run)

    assert started == {"p-0@51": STARTED, "p-0@52": INELIGIBLE, "p-0@53": STARTED}
    assert replica_states(scene, "p") == {
        "p-0@51": SUCCESSFUL,
        "p-0@52": OFFLINE,
        "p-0@53": SUCCESSFUL,
    }
    assert (list(scene.state.topics_to_delete), list(scene.state.topics_ineligible)) == (
        ["p"],
        ["p"],
    )
    assert not [ask for each in after for ask in each.asks if isinstance(ask, RemoveTopics)]
    assert (list(scene.memory.topics), list(scene.memory.deletions)) == (["p"], ["p"])


@pytest.mark.behaviour("del-011")
@pytest.mark.requirement("T3", "B1")
def test_a_follower_that_comes_back_lets_the_deletion_finish(cluster: Scene) -> None:
    """What is alive is deleted at once; the marker stays until the last replica is."""
    cluster.memory.lose(3)
    cluster.handle(BrokersChanged(0))
    runs = delete(cluster, "t")
    waiting = list(cluster.memory.deletions)
    cluster.memory.register(3, life=2)

    back = cluster.handle(BrokersChanged(0))

    assert sends_delete(runs[0]) == [f"{b} <- StopReplica t-0 epoch=-2 delete" for b in (1, 2)]
    assert waiting == ["t"]
    assert sends_delete(back) == ["3 <- StopReplica t-0 epoch=-2 delete"]
    confirm(cluster, back)
    assert (cluster.memory.topics, cluster.memory.deletions) == ({}, {})


@pytest.mark.requirement("B2", "T3")
def test_a_broker_that_dies_before_it_answers_keeps_the_deletion_waiting(cluster: Scene) -> None:
    """And is asked again when it is back; those that have answered are not."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    cluster.handle(answer(2, name("t", 0)))
    cluster.memory.lose(1)

    lost = cluster.handle(BrokersChanged(0))
    states = replica_states(cluster)
    cluster.handle(answer(3, name("t", 0)))
    cluster.memory.register(1, life=2)
    back = cluster.handle(BrokersChanged(0))

    assert phases(lost) == ["t deletion ineligible: a replica is offline"]
    assert states == {"t-0@1": INELIGIBLE, "t-0@2": SUCCESSFUL, "t-0@3": STARTED}
    assert sends_delete(back) == ["1 <- StopReplica t-0 epoch=-2 delete"]
    confirm(cluster, back)
    assert cluster.memory.topics == {}


@pytest.mark.requirement("B3", "T3")
def test_a_broker_that_bounces_during_a_deletion_is_asked_again(cluster: Scene) -> None:
    """Its queue was dropped, and with it perhaps the order."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    cluster.handle(answer(2, name("t", 0)))
    cluster.handle(answer(3, name("t", 0)))
    cluster.memory.register(1, life=2)

    run = cluster.handle(BrokersChanged(0))

    assert sends_delete(run) == ["1 <- StopReplica t-0 epoch=-2 delete"]
    confirm(cluster, run)
    assert cluster.memory.topics == {}


def test_a_replica_that_is_deleted_stays_so_whatever_its_broker_does(cluster: Scene) -> None:
    """A dead broker that has nothing left keeps nobody waiting, and back it has nothing to make."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    cluster.handle(answer(1, name("t", 0)))
    cluster.memory.lose(1)
    lost = cluster.handle(BrokersChanged(0))
    cluster.memory.register(1, life=2)
    back = cluster.handle(BrokersChanged(0))

    cluster.handle(answer(2, name("t", 0)))
    cluster.handle(answer(3, name("t", 0)))

    assert (phases(lost), refusals(lost, back)) == ([], [])
    assert not [send for send in back.sends if isinstance(send.request, LeaderAndIsr)]
    assert cluster.memory.topics == {}


def test_a_broker_that_has_deleted_all_still_starts_the_deletion_anew_when_it_is_back(
    scene: Scene,
) -> None:
    """As under Kafka: what is dead is tried in vain, and the next look raises its epoch again."""
    scene.live(1, 3)
    scene.partition("t", 0, (3,), leadership=leadership(3, (3,)))
    dead = scene.partition("t", 1, (1,), leadership=leadership(1, (1,)))
    scene.memory.lose(1)
    scene.handle(BrokersChanged(0))
    delete(scene, "t")
    waiting = dead.leadership
    scene.memory.register(3, life=2)

    back = scene.handle(BrokersChanged(0))
    tried = replica_states(scene)
    scene.handle(MARKED)

    assert phases(back) == ["t deletion retried", "t deletion ineligible: a replica is offline"]
    assert tried == {"t-0@3": SUCCESSFUL, "t-1@1": INELIGIBLE}
    assert replica_states(scene) == {"t-0@3": SUCCESSFUL, "t-1@1": OFFLINE}
    assert waiting is not None
    assert dead.leadership is not None
    assert dead.leadership.leader_epoch == waiting.leader_epoch + 1


def test_a_dead_replica_of_a_topic_that_waits_is_deleted_in_the_end(scene: Scene) -> None:
    """It was online when its topic was queued, and nobody moved it while a reassignment ran."""
    scene.live(1, 2, 3)
    moving = scene.partition(
        replicas=assignment(2, 3, 1, adding=(3,)), leadership=leadership(2, (2, 1))
    )
    scene.memory.mark("t")
    scene.handle(MARKED)
    scene.memory.lose(1)
    lost = scene.handle(BrokersChanged(0))
    scene.state.set_assignment(moving, assignment(2, 3, 1))

    resumed = scene.run(resume_deletions(scene.state, ["t"]))
    confirm(scene, resumed)
    scene.memory.register(1, life=2)
    confirm(scene, scene.handle(BrokersChanged(0)))

    assert refusals(lost, resumed) == []
    assert phases(resumed) == [
        "t deletion started",
        "t deletion ineligible: a replica is offline",
    ]
    assert scene.memory.topics == {}


# --- a successor ----------------------------------------------------------------------------------


@pytest.mark.fault("F31")
@pytest.mark.requirement("T3", "E6")
def test_a_new_controller_tries_what_is_pending_without_being_asked(cluster: Scene) -> None:
    """All brokers are up and nothing else happens (KAFKA-1681)."""
    cluster.memory.mark("t")

    successor, run = elected(cluster)

    assert phases(run) == ["t deletion queued", "t deletion started"]
    confirm(successor, run)
    assert (cluster.memory.topics, cluster.memory.deletions) == ({}, {})


@pytest.mark.behaviour("del-012")
@pytest.mark.requirement("T3")
def test_a_deletion_survives_its_controller(cluster: Scene) -> None:
    """The successor finds the marker, waits for the follower that is down, and finishes."""
    cluster.memory.lose(3)
    cluster.handle(BrokersChanged(0))
    delete(cluster, "t")

    successor, run = elected(cluster)
    cluster.memory.register(3, life=2)
    back = successor.handle(BrokersChanged(0))

    assert phases(run) == ["t deletion queued", "t deletion ineligible: a replica is offline"]
    assert phases(back) == ["t deletion started"]
    confirm(successor, back)
    assert (cluster.memory.topics, cluster.memory.deletions) == ({}, {})


def test_a_topic_whose_znode_is_gone_is_cleared_away_with_its_config(node: Scene) -> None:
    """Its last controller died between the topic's znode and the marker."""
    node.memory.configs["t"] = {}
    node.memory.mark("t")

    run = node.elect()

    assert "RemoveTopics t" in run.asked
    assert phases(run) == ["t deletion finished"]
    assert (node.memory.configs, node.memory.deletions) == ({}, {})


def test_a_topic_without_any_state_znode_is_deleted_by_a_successor(node: Scene) -> None:
    """Its last controller died when it had removed those; start-up does not make them again."""
    node.memory.register(1, 2)
    node.memory.create_topic("t", (1, 2), (2, 1))
    node.memory.mark("t")

    run = node.elect()

    assert node.memory.leaderships == {}
    confirm(node, run)
    assert (node.memory.topics, node.memory.deletions) == ({}, {})


def test_a_successor_that_deletes_nothing_removes_the_markers(node: Scene) -> None:
    """And serves the topics as ever (KAFKA-3175)."""
    node.state.config = ControllerConfig(deletes_topics=False)
    node.memory.register(1)
    node.memory.create_topic("t", (1,))
    node.memory.mark("ghost", "t")

    run = node.elect()

    assert "DeleteTopicMarkers ghost,t" in run.asked
    assert node.memory.deletions == {}
    assert node.stored(node.state.topics["t"].partitions[0]) == leadership(1, (1,))


@pytest.mark.behaviour("fov-003")
@pytest.mark.requirement("E5")
def test_a_deposed_controller_deletes_nothing(cluster: Scene) -> None:
    """Its first write is refused, and it resigns."""
    cluster.memory.mark("t")
    cluster.memory.depose()
    before = dict(cluster.memory.leaderships)

    cluster.handle(MARKED)

    assert not cluster.state.is_active
    assert cluster.memory.leaderships == before
    assert (list(cluster.memory.topics), list(cluster.memory.deletions)) == (["t"], ["t"])


@pytest.mark.parametrize("kind", [RemoveTopics, DeleteTopicMarkers])
def test_a_controller_deposed_at_the_end_of_a_deletion_removes_nothing(
    cluster: Scene, kind: type
) -> None:
    """Whatever its successor makes of the marker is the successor's business."""
    cluster.memory.mark("t", "ghost")

    def depose(ask: object) -> None:
        if isinstance(ask, kind):
            cluster.memory.depose()

    cluster.memory.before_write = depose
    confirm(cluster, cluster.handle(MARKED))

    assert not cluster.state.is_active
    assert list(cluster.memory.topics) == ["t"]
    assert "t" in cluster.memory.deletions


# --- what else happens to such a topic ------------------------------------------------------------


@pytest.mark.behaviour("del-019")
@pytest.mark.requirement("T2")
def test_partitions_added_during_a_deletion_are_undone_and_it_completes(cluster: Scene) -> None:
    """No replica of theirs is ever made."""
    cluster.memory.mark("t")
    run = cluster.handle(MARKED)
    cluster.memory.create_topic("t", (1, 2, 3), (1, 2, 3))

    grown = cluster.handle(TopicChanged(0, "t"))
    restored = cluster.memory.topics["t"]
    confirm(cluster, run)

    assert (grown.told, restored) == ([], TopicRead("id-of-t", {0: assignment(1, 2, 3)}))
    assert cluster.memory.topics == {}


def test_partitions_added_while_nobody_was_controller_are_deleted_too(cluster: Scene) -> None:
    """They must not bring the topic back to life (KAFKA-6612)."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    cluster.memory.create_topic("t", (1, 2, 3), (1, 2, 3))

    successor, run = elected(cluster)

    assert sends_delete(run) == [
        f"{b} <- StopReplica t-0 epoch=-2 delete; t-1 epoch=-2 delete" for b in (1, 2, 3)
    ]
    confirm(successor, run)
    assert (cluster.memory.topics, cluster.memory.deletions) == ({}, {})


@pytest.mark.behaviour("del-014")
@pytest.mark.requirement("L1", "T3")
def test_a_preferred_election_during_a_deletion_moves_no_leader(scene: Scene) -> None:
    """It is not left pending either, and the deletion completes."""
    scene.live(1, 2)
    t0 = scene.partition(replicas=(1, 2), leadership=leadership(2, (1, 2)))
    scene.memory.mark("t")
    run = scene.handle(MARKED)
    scene.memory.elections = (t0.name,)
    before = scene.stored(t0)

    held = scene.handle(ElectionZnodeChanged(0))

    assert held.asked == ["ReadElectionZnode", "DeleteElectionZnode", "ReadElectionZnode"]
    assert scene.stored(t0) == before
    confirm(scene, run)
    assert (scene.memory.topics, scene.memory.deletions) == ({}, {})


@pytest.mark.behaviour("del-021")
@pytest.mark.requirement("T3")
def test_a_deleted_topic_can_be_made_again(cluster: Scene) -> None:
    """What the watches say of the deletion is no news, and nothing of it is in the way."""
    delete(cluster, "t")
    echoes = [cluster.handle(e) for e in (TopicsChanged(0), TopicChanged(0, "t"), MARKED)]
    cluster.memory.create_topic("t", (3, 2))

    made = cluster.handle(TopicsChanged(0))

    assert [echo.lines for echo in echoes] == [
        ["ListTopics"],
        ["ReadTopics t"],
        ["ListTopicDeletions"],
    ]
    assert cluster.stored(cluster.state.topics["t"].partitions[0]) == leadership(3, (3, 2))
    assert [line for line in made.told if "LeaderAndIsr" in line] == [
        f"{b} <- LeaderAndIsr t-0 leader=3 isr=3,2 epoch=0 v0 new" for b in (2, 3)
    ]
    assert replica_states(cluster) == dict.fromkeys(("t-0@3", "t-0@2"), ReplicaState.ONLINE)


@pytest.mark.behaviour("int-027")
def test_a_topics_id_stays_when_it_grows_and_goes_when_it_is_deleted(cluster: Scene) -> None:
    """Requests that speak of the id find the topic as long as there is one."""
    cluster.memory.create_topic("t", (1, 2, 3), (1, 2, 3))
    cluster.handle(TopicChanged(0, "t"))
    grown = (cluster.memory.topics["t"], dict(cluster.state.topic_names))

    delete(cluster, "t")

    both = {0: assignment(1, 2, 3), 1: assignment(1, 2, 3)}
    assert grown == (TopicRead("id-of-t", both), {"id-of-t": "t"})
    assert (cluster.memory.topics, cluster.state.topic_names) == ({}, {})


@pytest.mark.fault("F94")
@pytest.mark.behaviour("del-036")
@pytest.mark.requirement("X2")
def test_no_counter_stirs_while_topics_are_made_and_deleted(scene: Scene) -> None:
    """Not between two steps either (KAFKA-4441); and no leader hears of a smaller ISR."""
    scene.live(1, 2)
    counts = []
    runs: list[Run[None]] = []

    def watched(event: Event) -> Procedure[None]:
        procedure, sent = scene.controller.handle(event), None
        try:
            while True:
                step = procedure.send(sent)
                state = scene.state
                counts.append((state.offline_partition_count, state.preferred_imbalance_count))
                sent = yield step
        except StopIteration:
            return

    def handle(event: Event) -> None:
        runs.append(scene.run(watched(event)))
        for answered in answers_to(runs[-1]):
            handle(answered)

    for _ in range(3):
        for topic in ("a", "b", "c"):
            scene.memory.create_topic(topic, (1, 2), (2, 1))
        handle(TopicsChanged(0))
        scene.memory.mark("a", "b", "c")
        handle(MARKED)
        assert scene.state.topics == {}

    told = [send.request for run in runs for send in run.sends]
    isrs = [p.leadership.isr for r in told if isinstance(r, LeaderAndIsr) for p in r.partitions]
    assert set(counts) == {(0, 0)}
    assert {len(isr) for isr in isrs} == {2}


@pytest.mark.requirement("J1")
def test_the_journal_of_a_deletion_suffices(cluster: Scene) -> None:
    """Half-way it gives every replica's state, in the end it gives nothing."""
    facts: list[Fact] = []
    successor, taken = elected(cluster)
    facts += taken.facts
    cluster.memory.mark("t")
    run = successor.handle(MARKED)
    first, *rest = answers_to(run)[3:]
    facts += run.facts + successor.handle(first).facts

    half = replay(history(*facts, epoch=2))
    t0 = half.partition("t", 0)
    known = successor.state.topics["t"].partitions[0]

    assert t0 is not None
    assert (t0.state, t0.leadership, t0.assignment) == (
        known.state,
        known.leadership,
        known.assignment,
    )
    assert t0.replicas == {1: SUCCESSFUL, 2: STARTED, 3: STARTED}
    for event in rest:
        facts += successor.handle(event).facts
    whole = replay(history(*facts, epoch=2))
    assert (whole.topics, whole.unplaced_count) == ({}, 0)
    assert DeletionAdvanced("t", "finished") in facts
