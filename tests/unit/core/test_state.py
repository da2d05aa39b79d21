"""What the controller knows: indexes and counters that cannot drift (X1, X2)."""

import pytest

from regent.model.assignment import Assignment
from regent.model.ids import BrokerId
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import assignment, broker, broker_epoch, ids, leadership, registered
from tests.support.scene import Scene

B1, B2 = ids(1, 2)


@pytest.mark.behaviour("ctx-001")
@pytest.mark.requirement("X1")
def test_an_assignment_is_kept_with_what_is_coming_and_going(scene: Scene) -> None:
    """All three lists, exactly as they were given."""
    a0 = scene.partition("A", 0, (14,))
    before = a0.assignment

    scene.state.set_assignment(a0, assignment(13, adding=(11,), removing=(12,)))

    assert before == Assignment(ids(14), adding=(), removing=())
    assert a0.assignment == Assignment(ids(13), adding=ids(11), removing=ids(12))
    assert list(scene.state.reassigning) == [a0]
    assert scene.state.reassigning_in("A") == 1
    scene.state.set_assignment(a0, assignment(13, adding=(10,)))
    assert scene.state.reassigning_in("A") == 1
    scene.state.set_assignment(a0, assignment(13))
    assert scene.state.reassigning_in("A") == 0


@pytest.mark.behaviour("ctx-003", "ctx-005")
def test_what_is_unknown_has_no_replicas(scene: Scene) -> None:
    """Not an error: events speak of topics that were deleted meanwhile."""
    for index in (0, 1):
        scene.partition("A", index, (1,))

    assert scene.state.replicas_of("ghost", 0) == ()
    assert scene.state.replicas_of("A", 77) == ()
    assert scene.state.assignments_of("ghost") == {}
    assert scene.state.partition("ghost", 0) is None


@pytest.mark.behaviour("ctx-006")
def test_the_assignments_of_a_topic_are_its_own(scene: Scene) -> None:
    """Each with its replicas in order."""
    scene.partition("A", 0, (1, 2))
    scene.partition("A", 1, (2, 1))
    scene.partition("B", 0, (3,))

    assert scene.state.assignments_of("A") == {0: assignment(1, 2), 1: assignment(2, 1)}
    assert scene.state.replicas_of("A", 1) == ids(2, 1)


@pytest.mark.behaviour("ctx-016", "ctx-017")
@pytest.mark.requirement("X2")
def test_the_imbalance_follows_leaders_and_assignments(scene: Scene) -> None:
    """A partition that nobody leads does not count; a new order of replicas does."""
    partitions = [scene.partition(t, i, (7, 8, 9)) for t, i in (("A", 0), ("A", 1), ("B", 0))]
    counts = [scene.state.preferred_imbalance_count]

    for each, leader in zip(partitions, (7, 8, 9), strict=True):
        scene.state.set_leadership(each, leadership(leader, (7, 8, 9)))
        counts.append(scene.state.preferred_imbalance_count)
    for each in partitions[:2]:
        scene.state.set_assignment(each, assignment(8, 9, 7))

    assert counts == [0, 0, 1, 2]
    assert [each.is_imbalanced for each in partitions] == [True, False, True]
    assert scene.state.preferred_imbalance_count == 2


def test_a_preferred_replica_that_is_still_coming_counts_once_it_is_in_sync(scene: Scene) -> None:
    """Until then nobody could elect it."""
    moving = scene.partition(replicas=assignment(4, 1, adding=(4,)), leadership=leadership(1, (1,)))
    before = scene.state.preferred_imbalance_count

    scene.state.set_leadership(moving, leadership(1, (1, 4)))

    assert (before, scene.state.preferred_imbalance_count) == (0, 1)


def test_queueing_a_topic_for_deletion_takes_it_out_of_both_counts_once(scene: Scene) -> None:
    """Unknown topics are not queued, and queueing twice is queueing once."""
    led = leadership(2, (2,))
    scene.partition("t", 0, (1, 2), leadership=led, state=PartitionState.OFFLINE)

    for _ in range(2):
        scene.state.queue_deletions(["t", "ghost"])

    state = scene.state
    assert list(state.topics_to_delete) == ["t"]
    assert (state.offline_partition_count, state.preferred_imbalance_count) == (0, 0)


def test_only_a_queued_deletion_can_begin(scene: Scene) -> None:
    """Whatever else began would have been counted wrongly."""
    scene.partition()

    with pytest.raises(AssertionError, match="queued"):
        scene.state.begin_deletions(["t"])


def test_a_forgotten_topic_leaves_nothing_behind(scene: Scene) -> None:
    """Neither in an index nor in a count, nor does its id name anything."""
    gone = scene.partition(
        replicas=assignment(1, 2, adding=(1,)),
        leadership=leadership(2, (1, 2)),
        state=PartitionState.OFFLINE,
        replica_state=ReplicaState.OFFLINE,
    )
    scene.state.offline_dirs[B1] = {gone: None}
    scene.state.queue_deletions(["t"])
    scene.state.begin_deletions(["t"])

    scene.state.remove_topic("t")
    scene.state.remove_topic("t")

    state = scene.state
    assert (state.topics, state.topic_names, state.reassigning) == ({}, {}, {})
    assert (state.topics_to_delete, state.topics_in_deletion) == ({}, {})
    assert state.partitions_in == {each: {} for each in PartitionState}
    assert (state.replicas_on, state.offline_dirs) == ({B1: {}, B2: {}}, {B1: {}})
    assert (state.offline_partition_count, state.preferred_imbalance_count) == (0, 0)


def test_equal_assignments_are_one_object(scene: Scene) -> None:
    """Two hundred thousand partitions have only a few thousand different ones."""
    first = scene.partition("t", 0, assignment(1, 2))
    second = scene.partition("t", 1, assignment(1, 2))

    assert first.assignment is second.assignment


def test_a_broker_that_shuts_down_is_alive_but_not_electable(scene: Scene) -> None:
    """One live set is not enough."""
    scene.live(1, 2)
    some = scene.partition()

    scene.state.mark_shutting_down(B1)

    assert list(scene.state.brokers) == [B1, B2]
    assert scene.state.electable == scene.state.electable_for(some) == {B2}
    assert scene.state.reachable_for(some) == {B1, B2}


def test_a_broker_that_is_gone_leaves_its_replicas_known(scene: Scene) -> None:
    """They are where its data is; its marks go with its life."""
    scene.live(1)
    hosted = scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
    scene.state.mark_shutting_down(B1)
    scene.state.offline_dirs[B1] = {hosted: None}

    scene.state.remove_broker(B1)

    state = scene.state
    assert (state.brokers, state.shutting_down, state.offline_dirs) == ({}, {}, {})
    assert (state.electable, state.broker_epoch(B1)) == (frozenset(), None)
    assert state.replica_state(hosted, B1) is ReplicaState.ONLINE


def test_an_updated_broker_is_in_the_same_life(scene: Scene) -> None:
    """Other endpoints do not make it another broker."""
    scene.live(1)

    scene.state.update_broker(broker(1, port=9999))

    assert scene.state.brokers == {B1: registered(1, port=9999)}
    assert scene.state.broker_epoch(B1) == broker_epoch(1)


def test_a_replica_that_does_not_exist_has_no_entry(scene: Scene) -> None:
    """Asking for it is no error."""
    some = scene.partition()

    scene.state.set_replica_state(some, B1, ReplicaState.NEW)
    scene.state.set_replica_state(some, B1, ReplicaState.NON_EXISTENT)

    assert scene.state.replicas_on == {B1: {}}
    assert scene.state.replica_state(some, BrokerId(77)) is ReplicaState.NON_EXISTENT


def test_a_cleared_state_knows_nothing_and_is_not_in_office(scene: Scene) -> None:
    """As one does when resigning: the next reign must not see anything of this one."""
    scene.live(1)
    scene.partition(leadership=leadership(2, (2,)), state=PartitionState.OFFLINE)

    scene.state.clear()

    state = scene.state
    assert (state.brokers, state.topics, state.replicas_on, state.electable) == (
        {},
        {},
        {},
        frozenset(),
    )
    assert (state.offline_partition_count, state.preferred_imbalance_count) == (0, 0)
    assert not state.is_active


def test_the_leader_of_an_unled_partition_is_nobody(scene: Scene) -> None:
    """Kafka's word for nobody is -1."""
    assert scene.state.leader_of(scene.partition()) == -1


def test_the_first_states_of_many_are_counted_as_those_of_one(scene: Scene) -> None:
    """What is about to be deleted does not count as offline, at a start neither."""
    kept, going = (scene.partition(topic, 0, (1,)) for topic in ("kept", "going"))
    scene.state.queue_deletions(["going"])

    scene.state.set_first_states([kept, going], PartitionState.OFFLINE)

    assert list(scene.state.partitions_in[PartitionState.OFFLINE]) == [kept, going]
    assert [kept.state, going.state] == [PartitionState.OFFLINE, PartitionState.OFFLINE]
    assert scene.state.offline_partition_count == 1


def test_many_partitions_of_a_topic_are_known_in_the_order_of_their_numbers(scene: Scene) -> None:
    """ZooKeeper's JSON has them in any order; equal assignments are kept once."""
    topic = scene.state.add_topic("t", None)

    scene.state.add_partitions(
        topic, {10: assignment(1, 2), 2: assignment(1, 2), 3: assignment(1, 2, adding=(2,))}
    )

    two, three, ten = topic.partitions.values()
    assert [two.index, three.index, ten.index] == [2, 3, 10]
    assert two.assignment is ten.assignment
    assert list(scene.state.reassigning) == [three]


def test_a_replica_that_moves_says_where_it_was(scene: Scene) -> None:
    """One that is gone leaves nothing behind."""
    partition = scene.partition("t", 0, (1,))
    moves = [ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.NON_EXISTENT]

    before = [scene.state.set_replica_state(partition, B1, after) for after in moves]

    assert before == [ReplicaState.NON_EXISTENT, ReplicaState.NEW, ReplicaState.ONLINE]
    assert scene.state.replicas_on == {B1: {}}


def test_topics_are_named_once_with_the_ids_that_they_have(scene: Scene) -> None:
    """Neither the old ones without an id nor those that are gone."""
    scene.state.add_topic("new", "id-of-new")
    scene.state.add_topic("old", None)

    assert scene.state.topic_ids_of(["new", "old", "gone", "new"]) == (("new", "id-of-new"),)
