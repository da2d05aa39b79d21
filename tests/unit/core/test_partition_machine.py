"""The partition machine: which moves are legal, and what each does (P1, P2, P5)."""

from itertools import product

import pytest

from regent.core.asks import CreateLeaderships
from regent.core.election import Strategy
from regent.core.partition_machine import (
    TRANSITIONS,
    move_partitions,
    start_partitions,
    try_online,
)
from regent.model.states import PartitionState
from tests.support.builders import leadership
from tests.support.scene import Scene

NON_EXISTENT, NEW, ONLINE, OFFLINE = PartitionState

# Kafka 3.9, PartitionStateMachine.scala:571-586 (validPreviousStates), written out a second
# time on purpose: the machine must agree with Kafka, not with itself.
KAFKA_VALID_PREVIOUS_STATES = {
    "NewPartition": {"NonExistentPartition"},
    "OnlinePartition": {"NewPartition", "OnlinePartition", "OfflinePartition"},
    "OfflinePartition": {"NewPartition", "OnlinePartition", "OfflinePartition"},
    "NonExistentPartition": {"OfflinePartition"},
}
PAIRS = list(product(PartitionState, repeat=2))
ILLEGAL = [(before, after) for before, after in PAIRS if (before, after) not in TRANSITIONS]


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_legal_moves_are_exactly_kafkas(before: PartitionState, after: PartitionState) -> None:
    """Every pair of states is legal here if, and only if, it is legal in Kafka 3.9."""
    legal_in_kafka = before.value in KAFKA_VALID_PREVIOUS_STATES[after.value]

    assert ((before, after) in TRANSITIONS) == legal_in_kafka


@pytest.mark.behaviour("psm-002", "psm-003", "psm-008", "psm-013")
@pytest.mark.requirement("P1")
@pytest.mark.parametrize(("before", "after"), ILLEGAL)
def test_an_illegal_move_is_refused_and_changes_nothing(
    scene: Scene, before: PartitionState, after: PartitionState
) -> None:
    """It is recorded, not thrown: the rest of the batch must go on."""
    scene.live(17)
    led = None if before in (NON_EXISTENT, NEW) else leadership(17, (17,))
    orders = scene.partition("orders", 3, (17,), leadership=led, state=before)

    run = scene.run(move_partitions(scene.state, [orders], after))

    assert run.lines == [f"orders-3 stays {before}: {before} cannot become {after}"]
    assert orders.state is before


@pytest.mark.requirement("P1")
def test_an_illegal_move_does_not_stop_the_others(scene: Scene) -> None:
    """One partition in a wrong state must not keep a thousand others offline."""
    scene.live(17)
    wrong = scene.partition("a", 0, (17,))
    right = scene.partition("b", 0, (17,), state=NEW)

    run = scene.run(move_partitions(scene.state, [wrong, right], OFFLINE))

    assert run.story == [
        "a-0 stays NonExistentPartition: NonExistentPartition cannot become OfflinePartition",
        "b-0 NewPartition -> OfflinePartition",
    ]


@pytest.mark.behaviour("psm-007", "psm-018")
@pytest.mark.requirement("P5")
@pytest.mark.parametrize(
    ("before", "after"),
    [(NON_EXISTENT, NEW), (NEW, OFFLINE), (ONLINE, OFFLINE), (OFFLINE, NON_EXISTENT)],
)
def test_these_moves_change_nothing_but_the_state(
    scene: Scene, before: PartitionState, after: PartitionState
) -> None:
    """ZooKeeper keeps the last leadership for the next election, and no broker hears of it."""
    scene.live(17)
    led = leadership(17, (17,)) if before in (ONLINE, OFFLINE) else None
    orders = scene.partition("orders", 3, (17,), leadership=led, state=before)

    run = scene.run(move_partitions(scene.state, [orders], after))

    assert run.lines == [f"orders-3 {before} -> {after}"]
    assert (orders.state, orders.leadership) == (after, led)


def test_going_offline_again_is_legal_and_not_worth_a_record(scene: Scene) -> None:
    """Two brokers may die in one event, and both led nothing but hosted the same."""
    gone = scene.partition(leadership=leadership(1, (1,)), state=OFFLINE)

    run = scene.run(move_partitions(scene.state, [gone], OFFLINE))

    assert run.lines == []


@pytest.mark.behaviour("psm-020")
@pytest.mark.requirement("X2")
def test_the_offline_count_follows_the_moves(scene: Scene) -> None:
    """It is kept by the changes: counting five thousand partitions at each event is too slow."""
    scene.live(17)
    clicks = [scene.partition("clicks", index, (17,)) for index in range(5)]

    scene.run(move_partitions(scene.state, clicks, NEW))
    scene.run(move_partitions(scene.state, clicks, OFFLINE))
    offline_count = scene.state.offline_partition_count
    for each in clicks:
        scene.memory.leaderships[each.name] = leadership(-1, (17,))
    scene.run(move_partitions(scene.state, clicks, ONLINE))

    assert (offline_count, scene.state.offline_partition_count) == (5, 0)
    assert [each.state for each in clicks] == [ONLINE] * 5


@pytest.mark.behaviour("psm-021")
def test_partitions_of_a_topic_being_deleted_never_count_as_offline(scene: Scene) -> None:
    """Nobody misses them."""
    scene.live(17)
    clicks = [scene.partition("clicks", index, (17,)) for index in range(5)]
    scene.state.queue_deletions(["clicks"])
    scene.state.begin_deletions(["clicks"])

    scene.run(move_partitions(scene.state, clicks, NEW))
    scene.run(move_partitions(scene.state, clicks, OFFLINE))

    assert scene.state.offline_partition_count == 0


@pytest.mark.behaviour("psm-022")
def test_queueing_a_deletion_takes_the_topic_out_of_the_offline_count_once(scene: Scene) -> None:
    """The later steps of the deletion must not count it out a second time."""
    scene.live(17)
    clicks = [scene.partition("clicks", index, (17,), state=OFFLINE) for index in range(5)]
    before = scene.state.offline_partition_count

    scene.state.queue_deletions(["clicks"])
    queued = scene.state.offline_partition_count
    scene.run(move_partitions(scene.state, clicks, OFFLINE))
    scene.run(move_partitions(scene.state, clicks, NON_EXISTENT))

    assert (before, queued, scene.state.offline_partition_count) == (5, 0, 0)


@pytest.mark.requirement("P2")
def test_at_the_start_a_partition_is_what_its_leadership_says(scene: Scene) -> None:
    """Never led is new, a live leader online, a dead one offline; then all are tried."""
    scene.live(1)
    scene.partition("t", 0, (1,), leadership=leadership(1, (1,)), state=NON_EXISTENT)
    scene.partition("t", 1, (2,), leadership=leadership(2, (2,)), state=NON_EXISTENT)
    scene.partition("t", 2, (2,))
    scene.partition("t", 3, (1,))

    run = scene.run(start_partitions(scene.state))

    assert run.story == [
        "PartitionsStarted(topic='t', new=(2, 3), offline=(1,))",
        "t-1 stays OfflinePartition: no in-sync replica is alive",
        "t-2 stays NewPartition: no assigned replica is alive",
        "t-3 NewPartition -> OnlinePartition leader=1 isr=1 epoch=0 v0",
    ]


@pytest.mark.requirement("P2")
def test_partitions_of_a_topic_being_deleted_are_not_tried(scene: Scene) -> None:
    """A leader for them would only be in the way."""
    scene.live(1)
    scene.partition("t", 0, (1,), state=NEW)
    scene.state.queue_deletions(["t"])

    assert scene.run(try_online(scene.state)).lines == []


def test_a_partition_whose_state_cannot_be_read_starts_offline(scene: Scene) -> None:
    """As new it would be led for a first time, and all that it ever held forgotten."""
    scene.live(1)
    broken = scene.partition("t", 0, (1,))
    scene.state.unreadable[broken] = None

    run = scene.run(start_partitions(scene.state))

    assert run.story == [
        "PartitionsStarted(topic='t', new=(), offline=(0,))",
        "t-0 stays OfflinePartition: its state znode is missing",
    ]
    assert scene.state.offline_partition_count == 1


@pytest.mark.behaviour("psm-004")
@pytest.mark.requirement("P3", "P6")
def test_a_new_partition_is_led_for_the_first_time(scene: Scene) -> None:
    """The state znode is durable before the replica hears of it, marked as new."""
    scene.in_office(controller_epoch=31).live(17)
    orders = scene.partition("orders", 3, (17,), state=NEW)

    run = scene.run(move_partitions(scene.state, [orders], ONLINE))

    led = "leader=17 isr=17 epoch=0 v0"
    assert run.lines == [
        f"CreateLeaderships orders-3 {led}",
        f"orders-3 NewPartition -> OnlinePartition {led}",
        f"17 <- LeaderAndIsr orders-3 {led} new",
        f"17 <- UpdateMetadata live=17; orders-3 {led} replicas=17",
    ]
    assert {send.request.controller_epoch for send in run.sends} == {31}
    assert scene.stored(orders) == leadership(17, (17,), controller_epoch=31) == orders.leadership
    (create,) = run.asks
    assert isinstance(create, CreateLeaderships)
    assert create.fence == scene.memory.epoch


@pytest.mark.behaviour("psm-005")
def test_a_failure_while_creating_leaves_nothing_behind(scene: Scene) -> None:
    """The partition stays new, nobody was told, and the next batch starts empty.

    Unlike Kafka's, the exception goes on to the driver; it finds the state as if never tried.
    """
    scene.live(17)
    orders = scene.partition("orders", 3, (17,), state=NEW)
    procedure = move_partitions(scene.state, [orders], ONLINE)

    first_step = next(procedure)
    with pytest.raises(OSError, match="broken"):
        procedure.throw(OSError("the client is broken"))
    after_failure = (orders.state, orders.leadership)
    again = scene.run(move_partitions(scene.state, [orders], ONLINE))

    assert isinstance(first_step, CreateLeaderships)
    assert after_failure == (NEW, None)
    assert [type(send.request).__name__ for send in again.sends] == [
        "LeaderAndIsr",
        "UpdateMetadata",
    ]


@pytest.mark.behaviour("psm-009")
@pytest.mark.requirement("P4")
def test_a_leader_is_elected_on_what_the_store_says_now(scene: Scene) -> None:
    """Write over the version that is known, and tell the version that the store gave back."""
    scene.live(17)
    led = leadership(17, (17,), leader_epoch=2, zk_version=4)
    orders = scene.partition("orders", 3, (17,), leadership=led)

    run = scene.run(move_partitions(scene.state, [orders], ONLINE, Strategy.PREFERRED))

    assert run.lines == [
        "WriteLeaderships orders-3 leader=17 isr=17 epoch=3 v4",
        "orders-3 OnlinePartition -> OnlinePartition leader=17 isr=17 epoch=3 v5",
        "17 <- LeaderAndIsr orders-3 leader=17 isr=17 epoch=3 v5",
        "17 <- UpdateMetadata live=17; orders-3 leader=17 isr=17 epoch=3 v5 replicas=17",
    ]
    assert orders.leadership == scene.stored(orders)


@pytest.mark.behaviour("psm-014")
@pytest.mark.requirement("P4", "S1")
def test_an_offline_partition_comes_back_with_its_in_sync_replica(scene: Scene) -> None:
    """No topic config is asked for: it would only matter if no in-sync replica lived."""
    scene.live(17)
    led = leadership(-1, (17,), leader_epoch=2, zk_version=4)
    orders = scene.partition("orders", 3, (17,), leadership=led, state=OFFLINE)

    run = scene.run(move_partitions(scene.state, [orders], ONLINE))

    assert run.asked == [
        "WriteLeaderships orders-3 leader=17 isr=17 epoch=3 v4",
    ]
    assert run.told[0] == "17 <- LeaderAndIsr orders-3 leader=17 isr=17 epoch=3 v5"
    assert orders.state is ONLINE


@pytest.mark.behaviour("psm-017")
@pytest.mark.requirement("P4")
def test_a_missing_state_fails_alone_and_no_leader_is_invented(scene: Scene) -> None:
    """What memory says is not what the data says; the others in the batch are elected."""
    scene.live(17)
    led = leadership(-1, (17,))
    lost = scene.partition("orders", 3, (17,), leadership=led, state=OFFLINE)
    fine = scene.partition("orders", 4, (17,), leadership=led, state=OFFLINE)
    del scene.memory.leaderships[lost.name]

    run = scene.run(move_partitions(scene.state, [lost, fine], ONLINE))

    assert run.story == [
        "orders-3 stays OfflinePartition: its state znode is missing",
        "orders-4 OfflinePartition -> OnlinePartition leader=17 isr=17 epoch=1 v1",
    ]
    assert run.result == {lost: "its state znode is missing", fine: scene.stored(fine)}


@pytest.mark.requirement("P7")
def test_a_batch_of_partitions_costs_one_write(scene: Scene) -> None:
    """And each broker hears of all of them in one request."""
    scene.live(1, 2)
    led = leadership(2, (2,))
    moved = [scene.partition("t", i, (1, 2), leadership=led, state=OFFLINE) for i in range(50)]

    run = scene.run(move_partitions(scene.state, moved, ONLINE))

    kinds = [type(step).__name__ for step in run.asks]
    assert kinds == ["WriteLeaderships"]
    assert [(send.broker_id, len(send.request.partitions)) for send in run.sends] == [
        (1, 50),
        (2, 50),
        (1, 50),
        (2, 50),
    ]
