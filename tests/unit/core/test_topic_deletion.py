"""Topics that are deleted, from the marker to the last znode (T3)."""

from collections.abc import Callable
from typing import Any

import pytest

from regent.core import topic_deletion
from regent.core.asks import Malformed, Procedure, RemoveTopics, TopicRead
from regent.core.config import ControllerConfig
from regent.core.events import (
    BrokersChanged,
    Event,
    StopReplicaAnswered,
    TopicsChanged,
)
from regent.core.state import ControllerState
from regent.core.topic_deletion import resume_deletions
from regent.model.control_requests import ControlAnswer
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, ControllerEpoch
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import assignment, broker_epoch, leadership, name
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
    phases,
    refusals,
    replica_states,
    sends_delete,
    traces_of,
)
from tests.support.scene import Scene

# --- from the marker to the last znode ------------------------------------------------------------


@pytest.mark.requirement("T3", "R5")
def test_a_deletion_starts_step_by_step(scene: Scene) -> None:
    """Partitions go, everybody hears leader -2, replicas stop, and only then are they deleted."""
    scene.live(1, 2)
    scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)))
    scene.memory.mark("t")

    run = scene.handle(MARKED)

    going = "t-0 leader=-2 isr=1,2 epoch=0 v0 replicas=1,2"
    assert run.lines == [
        "ListTopicDeletions",
        "t deletion queued",
        "t-0 OnlinePartition -> OfflinePartition",
        "t-0 OfflinePartition -> NonExistentPartition",
        "t deletion started",
        f"1 <- UpdateMetadata live=1,2; {going}",
        f"2 <- UpdateMetadata live=1,2; {going}",
        "WriteLeaderships t-0 leader=-1 isr=2 epoch=1 v0",
        "t-0@1 shrunk leader=-1 isr=2 epoch=1 v1",
        "t-0@1 OnlineReplica -> OfflineReplica",
        "WriteLeaderships t-0 leader=-1 isr=2 epoch=2 v1",
        "t-0@2 shrunk leader=-1 isr=2 epoch=2 v2",
        "t-0@2 OnlineReplica -> OfflineReplica",
        "1 <- UpdateMetadata live=1,2",
        "2 <- UpdateMetadata live=1,2",
        "1 <- StopReplica t-0 epoch=-2",
        "2 <- StopReplica t-0 epoch=-2",
        "t-0@1 OfflineReplica -> ReplicaDeletionStarted",
        "t-0@2 OfflineReplica -> ReplicaDeletionStarted",
        "1 <- StopReplica t-0 epoch=-2 delete",
        "2 <- StopReplica t-0 epoch=-2 delete",
    ]


@pytest.mark.requirement("T3", "R5", "C5")
def test_the_last_confirmation_finishes_a_deletion(cluster: Scene) -> None:
    """Replicas leave the machine, the znodes go, and nothing is remembered."""
    cluster.memory.configs["t"] = {"retention.ms": "1"}
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    first = cluster.handle(answer(1, name("t", 0)))
    cluster.handle(answer(2, name("t", 0)))

    last = cluster.handle(answer(3, name("t", 0)))

    assert first.story[1:] == ["t-0@1 ReplicaDeletionStarted -> ReplicaDeletionSuccessful"]
    moves = [line for line in last.story if "->" in line]
    assert moves == [
        "t-0@3 ReplicaDeletionStarted -> ReplicaDeletionSuccessful",
        "t-0@1 ReplicaDeletionSuccessful -> NonExistentReplica",
        "t-0@2 ReplicaDeletionSuccessful -> NonExistentReplica",
        "t-0@3 ReplicaDeletionSuccessful -> NonExistentReplica",
    ]
    assert last.asked == ["RemoveTopics t"]
    assert last.story[-2:] == ["t forgotten", "t deletion finished"]
    memory = cluster.memory
    left = (memory.topics, memory.configs, memory.leaderships, memory.deletions)
    assert left == ({}, {}, {}, {})


@pytest.mark.behaviour("del-010")
@pytest.mark.requirement("T3")
def test_a_topic_with_all_replicas_alive_is_deleted_everywhere(cluster: Scene) -> None:
    """Every replica is deleted, and then the marker and the topic are gone."""
    runs = delete(cluster, "t")

    assert sends_delete(runs[0]) == [f"{b} <- StopReplica t-0 epoch=-2 delete" for b in (1, 2, 3)]
    assert (cluster.memory.topics, cluster.memory.deletions) == ({}, {})
    assert refusals(*runs) == []


@pytest.mark.behaviour("del-003")
def test_nothing_is_left_of_deleted_topics_anywhere(scene: Scene) -> None:
    """Not of one among many with many partitions either (KAFKA-1742)."""
    scene.live(1, 2, 3)
    for topic in ("p", "q", *(f"kept{number}" for number in range(20))):
        for index in range(4):
            scene.partition(topic, index, leadership=leadership(1, (1, 2, 3)))

    delete(scene, "p", "q")

    assert traces_of(scene.state, "kept0")
    assert traces_of(scene.state, "p") + traces_of(scene.state, "q") == []
    assert len(scene.state.topics) == 20
    assert {each.topic for each in scene.memory.leaderships} == set(scene.state.topics)


@pytest.mark.behaviour("del-004")
def test_each_step_of_many_deletions_is_one_call_of_a_machine(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of a deletion must not grow with the number of topics (KAFKA-9499)."""
    scene.live(1, 2)
    for topic in ("p", "q"):
        scene.partition(topic, 0, leadership=leadership(1, (1, 2)))
        scene.set_replicas(scene.state.topics[topic].partitions[0], (BrokerId(3),), OFFLINE)
    scene.memory.mark("p", "q")
    calls: list[str] = []

    def counted(machine: Callable[..., Procedure[Any]]) -> Callable[..., Procedure[Any]]:
        def call(state: ControllerState, moved: Any, target: Any) -> Procedure[Any]:
            touched = moved if isinstance(moved, list) else [p for on in moved.values() for p in on]
            if touched:
                calls.append(f"{target} {'+'.join(sorted({p.topic for p in touched}))}")
            return (yield from machine(state, moved, target))

        return call

    for machine in ("move_partitions", "move_replicas"):
        monkeypatch.setattr(topic_deletion, machine, counted(getattr(topic_deletion, machine)))
    scene.handle(MARKED)
    scene.handle(answer(1, name("p", 0), name("q", 0)))

    assert calls == [
        "OfflinePartition p+q",
        "NonExistentPartition p+q",
        "OfflineReplica p+q",
        "ReplicaDeletionIneligible p+q",
        "ReplicaDeletionStarted p+q",
        "ReplicaDeletionSuccessful p+q",
    ]


@pytest.mark.fault("F74")
def test_two_hundred_topics_cost_a_broker_as_many_requests_as_one(scene: Scene) -> None:
    """One for each step; and the znodes of all go in one ask (KAFKA-9499)."""
    scene.live(1, 2)
    topics = [f"t{number}" for number in range(200)]
    for topic in topics:
        scene.partition(topic, 0, (1, 2), leadership=leadership(1, (1, 2)))

    runs = delete(scene, *topics)

    told = [(send.broker_id, type(send.request).__name__) for run in runs for send in run.sends]
    kinds = ("UpdateMetadata", "UpdateMetadata", "StopReplica", "StopReplica")
    assert told == [(b, kind) for kind in kinds for b in (1, 2)]
    assert [type(ask) for run in runs for ask in run.asks if isinstance(ask, RemoveTopics)] == [
        RemoveTopics
    ]
    assert scene.state.topics == {}


def test_a_topic_that_nobody_ever_led_is_deleted(scene: Scene) -> None:
    """There is no leadership to write, and none to tell; the replicas are deleted all the same."""
    scene.live(1)
    scene.partition(replicas=(1,), state=PartitionState.NEW, replica_state=ReplicaState.ONLINE)

    runs = delete(scene, "t")

    assert runs[0].told == [
        "1 <- UpdateMetadata live=1",
        "1 <- UpdateMetadata live=1",
        "1 <- StopReplica t-0 epoch=-2",
        "1 <- StopReplica t-0 epoch=-2 delete",
    ]
    assert scene.memory.topics == {}


# --- what is marked -------------------------------------------------------------------------------


@pytest.mark.behaviour("del-024")
@pytest.mark.requirement("T3")
def test_a_marker_without_a_topic_is_removed(cluster: Scene) -> None:
    """And nothing else happens to any topic."""
    cluster.memory.mark("ghost")

    run = cluster.handle(MARKED)

    assert run.lines == ["ListTopicDeletions", "DeleteTopicMarkers ghost"]
    assert (list(cluster.memory.topics), cluster.memory.deletions) == (["t"], {})


@pytest.mark.behaviour("del-027")
@pytest.mark.requirement("T3")
def test_where_topics_are_not_deleted_the_marker_is_removed(cluster: Scene) -> None:
    """Left in place it would make the topic unusable (KAFKA-3175)."""
    cluster.state.config = ControllerConfig(deletes_topics=False)
    cluster.memory.mark("ghost", "t")

    run = cluster.handle(MARKED)

    assert run.lines == ["ListTopicDeletions", "DeleteTopicMarkers ghost,t"]
    assert cluster.memory.deletions == {}
    assert cluster.stored(cluster.state.topics["t"].partitions[0]) == leadership(1, (1, 2, 3))
    assert not cluster.state.is_being_deleted("t")


def test_a_topic_that_cannot_be_read_keeps_its_marker(scene: Scene) -> None:
    """It is there, and nobody knows which brokers hold replicas of it."""
    scene.memory.topics["t"] = Malformed("/brokers/topics/t", "not JSON")
    scene.handle(TopicsChanged(0))
    scene.memory.mark("t")

    run = scene.handle(MARKED)

    assert run.lines == ["ListTopicDeletions"]
    assert list(scene.memory.deletions) == ["t"]


def test_a_topic_of_which_a_part_cannot_be_read_is_not_deleted(node: Scene) -> None:
    """Whoever holds that part would never hear of it."""
    node.memory.register(1, 2)
    node.memory.topics["t"] = TopicRead("id-of-t", {}, malformed={0: "no replicas"})
    node.memory.mark("t")

    node.elect()

    assert list(node.memory.topics) == ["t"]
    assert list(node.memory.deletions) == ["t"]


def test_a_list_that_is_announced_again_queues_nothing_twice(scene: Scene) -> None:
    """Counters change once for each real change, and never fall below zero (KAFKA-13572)."""
    scene.live(1, 2)
    for topic in ("a", "b", "c"):
        scene.partition(topic, 0, (2, 1), leadership=leadership(1, (1, 2)))
    counted = []
    queued: list[str] = []

    for topic in ("a", "b", "c"):
        scene.memory.mark(topic)
        queued += [line for line in phases(scene.handle(MARKED)) if line.endswith("queued")]
        counted.append(scene.state.preferred_imbalance_count)
    scene.handle(MARKED)

    assert (counted, scene.state.preferred_imbalance_count) == ([2, 1, 0], 0)
    assert queued == ["a deletion queued", "b deletion queued", "c deletion queued"]


@pytest.mark.requirement("T3", "A4")
def test_a_topic_that_waits_for_a_reassignment_is_still_led(scene: Scene) -> None:
    """Without a leader the reassignment would never end, and so neither would the deletion."""
    scene.live(1, 2)
    moving = scene.partition(
        "t", 0, assignment(3, 1, 2, adding=(3,), removing=(2,)), leadership=leadership(1, (1, 2))
    )
    delete(scene, "t")
    scene.memory.lose(1)

    scene.handle(BrokersChanged(0))

    assert scene.state.leader_of(moving) == 2
    assert moving.state is PartitionState.ONLINE


@pytest.mark.requirement("T3", "A4")
def test_a_topic_that_waits_for_a_reassignment_is_told_of_as_it_is(scene: Scene) -> None:
    """To the newcomer and to the others: a leader that heard the farewell finds no topic by its id.

    Its followers fetch by id, so the reassignment would never end. Apache's brokers showed it.
    """
    scene.live(1, 2)
    scene.partition(
        "t", 0, assignment(3, 1, 2, adding=(3,), removing=(2,)), leadership=leadership(1, (1, 2))
    )
    delete(scene, "t")
    scene.memory.register(3)

    run = scene.handle(BrokersChanged(0))

    told = [line for line in run.told if "UpdateMetadata" in line and "t-0" in line]
    assert {line.split()[0] for line in told} == {"1", "2", "3"}
    assert all("t-0 leader=1" in line for line in told)
    assert "t-0 leader=1" in next(line for line in run.told if line.startswith("3 <-"))


@pytest.mark.fault("F64")
@pytest.mark.requirement("T3")
def test_a_topic_under_reassignment_waits_for_its_end(scene: Scene) -> None:
    """The conflict is noted before the deletion could start (KAFKA-1558); its neighbour goes."""
    scene.live(1, 2)
    moving = scene.partition(
        "t", 0, assignment(2, 1, adding=(2,), removing=(1,)), leadership=leadership(1, (1,))
    )
    scene.partition("u", 0, (1,), leadership=leadership(1, (1,)))
    waiting = delete(scene, "t", "u")
    still = scene.run(resume_deletions(scene.state, ["t"]))
    scene.state.set_assignment(moving, assignment(2))
    scene.state.set_replica_state(moving, BrokerId(1), ReplicaState.NON_EXISTENT)

    resumed = scene.run(resume_deletions(scene.state, ["t"]))

    assert phases(waiting[0]) == [
        "t deletion queued",
        "u deletion queued",
        "t deletion ineligible: a partition is being reassigned",
        "u deletion started",
    ]
    assert (still.lines, phases(resumed)) == ([], ["t deletion started"])
    confirm(scene, resumed)
    assert scene.memory.topics == {}


def test_resuming_topics_that_nobody_deletes_does_nothing(cluster: Scene) -> None:
    """Every broker that starts and every reassignment that ends asks for it."""
    cluster.partition("u", 0, (1,), leadership=leadership(1, (1,)))
    cluster.state.queue_deletions(["u"])

    assert cluster.run(resume_deletions(cluster.state, ["t", "ghost"])).lines == []


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.behaviour("chn-014")
@pytest.mark.requirement("C5")
def test_an_answer_counts_for_topics_whose_deletion_has_started_only(scene: Scene) -> None:
    """A reassignment deletes replicas too, and waits for nobody."""
    scene.live(1, 2)
    for topic in ("x", "y"):
        scene.partition(topic, 0, (1, 2), leadership=leadership(1, (1, 2)))
    scene.memory.mark("x")
    scene.handle(MARKED)
    scene.set_replicas(scene.state.topics["y"].partitions[0], (BrokerId(1),), STARTED)

    run = scene.handle(answer(1, name("x", 0), name("y", 0)))

    assert run.story[1:] == ["x-0@1 ReplicaDeletionStarted -> ReplicaDeletionSuccessful"]
    assert replica_states(scene, "y")["y-0@1"] is STARTED


@pytest.mark.fault("F70")
@pytest.mark.requirement("C5")
def test_the_answer_to_a_plain_stop_confirms_nothing(cluster: Scene) -> None:
    """The topic would be declared gone with its data left (KAFKA-9946)."""
    cluster.memory.mark("t")
    run = cluster.handle(MARKED)
    plain = [event for event in answers_to(run) if not event.deleted]

    for event in plain:
        cluster.handle(event)

    assert len(plain) == 3
    assert replica_states(cluster) == dict.fromkeys(("t-0@1", "t-0@2", "t-0@3"), STARTED)


FAILURES = [
    answer(1, name("t", 0), refused=(name("t", 0),)),
    answer(1, name("t", 0), error=ErrorCode.STALE_BROKER_EPOCH),
]


@pytest.mark.requirement("T3", "C5")
@pytest.mark.parametrize("failure", FAILURES, ids=["for the partition", "for all"])
def test_a_deletion_that_failed_is_tried_again_when_a_broker_of_the_topic_starts(
    cluster: Scene, failure: Event
) -> None:
    """There is no timer; until then the replica waits where every deletion starts from."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    cluster.handle(answer(2, name("t", 0)))
    cluster.handle(answer(3, name("t", 0)))

    failed = cluster.handle(failure)
    waiting = (replica_states(cluster), list(cluster.state.topics_ineligible))
    cluster.memory.register(1, life=2)
    retried = cluster.handle(BrokersChanged(0))

    assert phases(failed) == ["t deletion ineligible: broker 1 did not delete a replica"]
    assert waiting == (
        {"t-0@1": OFFLINE, "t-0@2": SUCCESSFUL, "t-0@3": SUCCESSFUL},
        ["t"],
    )
    assert phases(retried) == ["t deletion retried"]
    assert sends_delete(retried) == ["1 <- StopReplica t-0 epoch=-2 delete"]
    assert refusals(retried) == []
    confirm(cluster, retried)
    assert (cluster.memory.topics, cluster.memory.deletions) == ({}, {})


def test_a_failure_waits_until_no_deletion_of_the_topic_is_under_way(cluster: Scene) -> None:
    """The order of answers must not decide which replicas are tried again."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)

    cluster.handle(answer(1, name("t", 0), refused=(name("t", 0),)))
    between = replica_states(cluster)
    cluster.handle(answer(2, name("t", 0)))
    cluster.handle(answer(3, name("t", 0)))

    assert between == {"t-0@1": INELIGIBLE, "t-0@2": STARTED, "t-0@3": STARTED}
    assert replica_states(cluster)["t-0@1"] is OFFLINE


def test_an_answer_that_does_not_mention_the_partition_is_no_confirmation(cluster: Scene) -> None:
    """Nothing is declared gone on the strength of silence."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    silent = StopReplicaAnswered(
        0, BrokerId(1), broker_epoch(1), ControllerEpoch(1), ControlAnswer(), (name("t", 0),)
    )

    cluster.handle(silent)

    assert replica_states(cluster)["t-0@1"] is INELIGIBLE


@pytest.mark.parametrize(
    "late",
    [
        answer(1, name("t", 0), life=1),
        answer(1, name("t", 0), life=2, controller_epoch=7),
        answer(1, name("ghost", 0), name("t", 9), life=2),
    ],
    ids=["of the last life", "of another reign", "about the unknown"],
)
def test_an_answer_that_nobody_waits_for_confirms_nothing(cluster: Scene, late: Event) -> None:
    """What the broker said before it restarted, it may have been told to undo since."""
    cluster.memory.mark("t")
    cluster.handle(MARKED)
    cluster.memory.register(1, life=2)
    cluster.handle(BrokersChanged(0))
    cluster.handle(answer(2, name("t", 0)))
    cluster.handle(answer(3, name("t", 0)))
    before = replica_states(cluster)

    cluster.handle(late)

    assert replica_states(cluster) == before
