"""Topics that appear, grow or vanish (T1, T2)."""

import pytest

from regent.core.asks import ListTopics, Malformed, ReadTopics, TopicRead, WriteTopics
from regent.core.events import BrokersChanged, TopicChanged, TopicsChanged
from regent.model.control_requests import LeaderAndIsr
from regent.model.facts import TopicForgotten, TopicIdGiven, ZnodeIsolated
from regent.model.states import PartitionState
from tests.support.builders import assignment, ids, leadership, name
from tests.support.scene import Scene

CHANGED = TopicsChanged(0)
GROWN = TopicChanged(0, "t")


@pytest.mark.requirement("T1")
def test_a_new_topic_goes_new_new_online_online(scene: Scene) -> None:
    """Partitions, replicas, partitions, replicas: nothing is told before it is written."""
    scene.live(1, 2)
    scene.memory.create_topic("t", (1, 2))

    run = scene.handle(CHANGED)

    led = "leader=1 isr=1,2 epoch=0 v0"
    assert run.lines == [
        "ListTopics",
        "ReadTopics t",
        "t loaded (id-of-t): 0 on 1,2",
        "t-0 NonExistentPartition -> NewPartition",
        "t-0@1 NonExistentReplica -> NewReplica",
        "t-0@2 NonExistentReplica -> NewReplica",
        f"CreateLeaderships t-0 {led}",
        f"t-0 NewPartition -> OnlinePartition {led}",
        f"1 <- LeaderAndIsr t-0 {led} new",
        f"2 <- LeaderAndIsr t-0 {led} new",
        f"1 <- UpdateMetadata live=1,2; t-0 {led} replicas=1,2",
        f"2 <- UpdateMetadata live=1,2; t-0 {led} replicas=1,2",
        "t-0@1 NewReplica -> OnlineReplica",
        "t-0@2 NewReplica -> OnlineReplica",
    ]


@pytest.mark.behaviour("int-004")
def test_the_first_leadership_names_the_controller_that_made_it(scene: Scene) -> None:
    """Controller epoch 1, leader 7, leader epoch 0."""
    scene.live(7)
    scene.memory.create_topic("t", (7,))

    scene.handle(CHANGED)

    t0 = scene.state.topics["t"].partitions[0]
    assert scene.stored(t0) == leadership(7, (7,), leader_epoch=0, controller_epoch=1)


@pytest.mark.behaviour("int-005")
@pytest.mark.requirement("P3")
def test_a_topic_is_made_without_waiting_for_a_dead_replica(scene: Scene) -> None:
    """The ISR is made of live replicas only."""
    scene.live(2)
    scene.memory.create_topic("t", (1, 2))

    scene.handle(CHANGED)

    assert scene.stored(scene.state.topics["t"].partitions[0]) == leadership(2, (2,))


def test_a_topic_whose_replicas_are_all_dead_waits_for_one(scene: Scene) -> None:
    """It stays new, and the first broker that comes makes it whole."""
    scene.memory.create_topic("t", (1,))
    scene.handle(CHANGED)
    t0 = scene.state.topics["t"].partitions[0]
    before = t0.state
    scene.memory.register(1)

    scene.handle(BrokersChanged(0))

    assert (before, t0.state) == (PartitionState.NEW, PartitionState.ONLINE)
    assert scene.stored(t0) == leadership(1, (1,))


def test_many_new_topics_are_one_batch(scene: Scene) -> None:
    """A thousand topics at once cost four rounds, not four thousand."""
    scene.live(1, 2)
    for number in range(20):
        scene.memory.create_topic(f"t{number}", (1, 2), (2, 1))

    run = scene.handle(CHANGED)

    assert [type(ask).__name__ for ask in run.asks] == [
        "ListTopics",
        "ReadTopics",
        "CreateLeaderships",
    ]
    assert [len(send.request.partitions) for send in run.sends] == [40, 40, 40, 40]


def test_a_topic_that_is_gone_is_forgotten(scene: Scene) -> None:
    """With all that was known about it; its neighbour is left alone."""
    scene.live(1)
    for topic in ("t", "u"):
        scene.partition(topic, 0, (1,), leadership=leadership(1, (1,)))
    del scene.memory.topics["t"]

    run = scene.handle(CHANGED)

    assert run.facts == [TopicForgotten("t")]
    assert list(scene.state.topics) == ["u"]
    assert [str(p) for on in scene.state.replicas_on.values() for p in on] == ["u-0"]


def test_a_topic_that_vanishes_between_list_and_read_is_not_known(scene: Scene) -> None:
    """The list will have changed again by then."""
    procedure = scene.controller.handle(CHANGED)

    assert next(procedure) == ListTopics()
    assert procedure.send(("t",)) == ReadTopics(("t",))
    with pytest.raises(StopIteration):
        procedure.send({"t": None})
    assert scene.state.topics == {}


# --- growing ----------------------------------------------------------------------------------


@pytest.mark.behaviour("int-006")
@pytest.mark.requirement("T2")
def test_added_partitions_are_served_and_the_old_ones_not_touched(scene: Scene) -> None:
    """The new one is led from epoch 0 and is in everybody's metadata."""
    scene.live(6, 7)
    scene.partition("t", 0, (7,), leadership=leadership(7, (7,), leader_epoch=5))
    scene.memory.create_topic("t", (7,), (7,))

    run = scene.handle(GROWN)

    assert scene.stored(scene.state.topics["t"].partitions[1]) == leadership(7, (7,))
    assert run.told == [
        "7 <- LeaderAndIsr t-1 leader=7 isr=7 epoch=0 v0 new",
        "6 <- UpdateMetadata live=6,7; t-1 leader=7 isr=7 epoch=0 v0 replicas=7",
        "7 <- UpdateMetadata live=6,7; t-1 leader=7 isr=7 epoch=0 v0 replicas=7",
    ]


@pytest.mark.requirement("T2")
def test_other_changes_of_a_topic_are_not_looked_at(scene: Scene) -> None:
    """Partitions are never removed, and replicas are changed by reassignment only."""
    scene.live(1, 2)
    for index in (0, 1):
        scene.partition("t", index, (1,), leadership=leadership(1, (1,)))
    scene.memory.create_topic("t", (2,))

    run = scene.handle(GROWN)

    assert run.lines == ["ReadTopics t"]
    assert scene.state.assignments_of("t") == {0: assignment(1), 1: assignment(1)}


@pytest.mark.requirement("T2")
def test_growth_of_a_topic_being_deleted_is_undone(scene: Scene) -> None:
    """The set of partitions is frozen, or the deletion would never be complete."""
    scene.live(1)
    scene.partition("t", 0, (1,), leadership=leadership(1, (1,)))
    scene.state.queue_deletions(["t"])
    scene.memory.create_topic("t", (1,), (1,))

    run = scene.handle(GROWN)

    assert run.lines == ["ReadTopics t", "WriteTopics t (id-of-t)"]
    assert scene.memory.topics["t"] == TopicRead("id-of-t", {0: assignment(1)})


def test_a_change_of_a_topic_that_is_gone_is_nothing(scene: Scene) -> None:
    """The change of the list of topics tells."""
    assert scene.handle(GROWN).lines == ["ReadTopics t"]


# --- what cannot be read ----------------------------------------------------------------------


@pytest.mark.requirement("X3")
def test_a_topic_that_cannot_be_read_is_isolated_and_served_once_it_can(scene: Scene) -> None:
    """Its neighbour is served at once."""
    scene.live(1)
    scene.memory.topics["t"] = Malformed("/brokers/topics/t", "not JSON")
    scene.memory.create_topic("u", (1,))

    first = scene.handle(CHANGED)
    served_first = list(scene.state.topics)
    scene.memory.create_topic("t", (1,))
    scene.handle(GROWN)

    assert first.facts[0] == ZnodeIsolated("/brokers/topics/t", "not JSON")
    assert served_first == ["u"]
    assert scene.stored(scene.state.topics["t"].partitions[0]) == leadership(1, (1,))


def test_a_topic_that_breaks_while_it_is_served_is_served_on(scene: Scene) -> None:
    """What was known of it is still true."""
    scene.live(1)
    scene.partition("t", 0, (1,), leadership=leadership(1, (1,)))
    scene.memory.topics["t"] = Malformed("/brokers/topics/t", "not JSON")

    run = scene.handle(GROWN)

    assert run.facts == [ZnodeIsolated("/brokers/topics/t", "not JSON")]
    assert list(scene.state.topics) == ["t"]


@pytest.mark.requirement("X3")
def test_a_partition_that_cannot_be_read_does_not_keep_its_topic_back(scene: Scene) -> None:
    """Its entry is not lost either: such a topic's znode is never rewritten, not even for an id."""
    scene.live(1)
    read = TopicRead(None, {0: assignment(1)}, {1: "replicas are no list"})
    scene.memory.topics["t"] = read

    run = scene.handle(CHANGED)

    assert run.facts[0] == ZnodeIsolated("/brokers/topics/t", "partition 1: replicas are no list")
    assert list(scene.state.topics["t"].partitions) == [0]
    assert scene.memory.topics["t"] == read


# --- ids --------------------------------------------------------------------------------------


@pytest.mark.behaviour("int-028")
def test_a_topic_without_an_id_gets_one_that_is_written_before_it_is_used(scene: Scene) -> None:
    """It is in the znode and in memory, and the first request carries it to the broker."""
    scene.live(1)
    scene.memory.create_topic("t", (1,), topic_id=None)

    run = scene.handle(CHANGED)

    assert run.asked[:4] == [
        "ListTopics",
        "ReadTopics t",
        "MintTopicIds",
        "WriteTopics t (minted-1)",
    ]
    assert scene.memory.topics["t"] == TopicRead("minted-1", {0: assignment(1)})
    assert TopicIdGiven("t", "minted-1") in run.facts
    assert scene.state.topic_names == {"minted-1": "t"}
    told = [send.request for send in run.sends if isinstance(send.request, LeaderAndIsr)]
    assert [request.topic_ids for request in told] == [(("t", "minted-1"),)]


def test_below_two_eight_no_ids_are_given(scene: Scene) -> None:
    """The brokers would not know what to do with them."""
    scene.configure(protocol="2.7")
    scene.live(1)
    scene.memory.create_topic("t", (1,), topic_id=None)

    run = scene.handle(CHANGED)

    assert "MintTopicIds" not in run.asked
    assert scene.state.topics["t"].topic_id is None


def test_an_id_that_could_not_be_written_is_not_used(scene: Scene) -> None:
    """Another controller would give the topic another one."""
    scene.live(1)
    scene.memory.create_topic("t", (1,), topic_id=None)

    def vanish(ask: object) -> None:
        if isinstance(ask, WriteTopics):
            scene.memory.topics.clear()

    scene.memory.before_write = vanish

    run = scene.handle(CHANGED)

    assert not [fact for fact in run.facts if isinstance(fact, TopicIdGiven)]
    assert scene.state.topics["t"].topic_id is None


def test_a_topic_that_can_be_read_again_is_served_at_once(node: Scene) -> None:
    """Its brokers have come and gone meanwhile: they must hear of what they hold."""
    node.memory.register(1, 2, 3)
    node.memory.topics["t"] = Malformed("/brokers/topics/t", "not JSON")
    node.memory.leaderships[name("t", 0)] = leadership(1, (1, 2), leader_epoch=4)
    node.elect()
    node.memory.create_topic("t", (1, 2, 3))

    run = node.handle(GROWN)

    served = node.state.topics["t"].partitions[0]
    assert served.state is PartitionState.ONLINE
    assert node.stored(served).isr == ids(1, 2)
    assert not [line for line in run.asked if line.startswith("CreateLeaderships")]
    assert {told[0] for told in run.told if "LeaderAndIsr" in told} == {"1", "2", "3"}
