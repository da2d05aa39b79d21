"""The replica machine: which moves are legal, and what each does (R1 to R5)."""

from itertools import product
from typing import Any

import pytest

from regent.core.asks import Ask, Malformed, WriteLeaderships
from regent.core.leader_elections import CONFLICTS_MAX
from regent.core.replica_machine import TRANSITIONS, move_replicas
from regent.core.replica_start import start_replicas
from regent.core.state import Partition
from regent.errors import ControllerMoved
from regent.model.ids import BrokerId
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import assignment, ids, leadership
from tests.support.drive import Run
from tests.support.scene import Scene

NON_EXISTENT, NEW, ONLINE, OFFLINE, STARTED, SUCCESSFUL, INELIGIBLE = ReplicaState

# Kafka 3.9, ReplicaStateMachine.scala (validPreviousStates), written out a second time on
# purpose: the machine must agree with Kafka, not with itself.
KAFKA_VALID_PREVIOUS_STATES = {
    "NewReplica": {"NonExistentReplica"},
    "OnlineReplica": {"NewReplica", "OnlineReplica", "OfflineReplica", "ReplicaDeletionIneligible"},
    "OfflineReplica": {
        "NewReplica",
        "OnlineReplica",
        "OfflineReplica",
        "ReplicaDeletionIneligible",
    },
    "ReplicaDeletionStarted": {"OfflineReplica"},
    "ReplicaDeletionSuccessful": {"ReplicaDeletionStarted"},
    "ReplicaDeletionIneligible": {"OfflineReplica", "ReplicaDeletionStarted"},
    "NonExistentReplica": {"ReplicaDeletionSuccessful"},
}
PAIRS = list(product(ReplicaState, repeat=2))
ILLEGAL = [(before, after) for before, after in PAIRS if (before, after) not in TRANSITIONS]


def move(scene: Scene, partition: Partition, broker_id: int, target: ReplicaState) -> Run[None]:
    """Move one replica."""
    return scene.run(move_replicas(scene.state, {BrokerId(broker_id): [partition]}, target))


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_legal_moves_are_exactly_kafkas(before: ReplicaState, after: ReplicaState) -> None:
    """Every pair of states is legal here if, and only if, it is legal in Kafka 3.9."""
    legal_in_kafka = before.value in KAFKA_VALID_PREVIOUS_STATES[after.value]

    assert ((before, after) in TRANSITIONS) == legal_in_kafka


@pytest.mark.behaviour("rsm-005", "rsm-006", "rsm-007", "rsm-008", "rsm-010", "rsm-011")
@pytest.mark.behaviour("rsm-014", "rsm-015", "rsm-016", "rsm-017", "rsm-018", "rsm-019")
@pytest.mark.behaviour("rsm-025", "rsm-027", "rsm-029", "rsm-031", "rsm-032", "rsm-033", "rsm-034")
@pytest.mark.parametrize(("before", "after"), ILLEGAL)
def test_an_illegal_move_is_refused_and_changes_nothing(
    scene: Scene, before: ReplicaState, after: ReplicaState
) -> None:
    """It is recorded, not thrown, and no broker is told anything."""
    scene.live(17)
    led = leadership(17, (17,))
    orders = scene.partition("orders", 3, (17,), leadership=led, replica_state=before)

    run = move(scene, orders, 17, after)

    assert run.lines == [f"orders-3@17 stays {before}: {before} cannot become {after}"]
    assert scene.state.replica_state(orders, BrokerId(17)) is before


def test_an_illegal_move_does_not_stop_the_others(scene: Scene) -> None:
    """One replica in a wrong state must not keep its neighbours from being served."""
    scene.live(17)
    scene.partition("a", 0, (17,))
    scene.partition("b", 0, (17,), replica_state=NEW)

    run = scene.run(
        move_replicas(scene.state, {BrokerId(17): [*scene.state.all_partitions()]}, ONLINE)
    )

    assert run.story == [
        "a-0@17 stays NonExistentReplica: NonExistentReplica cannot become OnlineReplica",
        "b-0@17 NewReplica -> OnlineReplica",
    ]


# --- to New -----------------------------------------------------------------------------------


@pytest.mark.behaviour("rsm-004")
@pytest.mark.requirement("R2")
def test_a_replica_of_an_unled_partition_becomes_new_in_silence(scene: Scene) -> None:
    """There is nobody to follow yet."""
    scene.live(17)
    orders = scene.partition("orders", 3, (17,))

    run = move(scene, orders, 17, NEW)

    assert run.lines == ["orders-3@17 NonExistentReplica -> NewReplica"]


@pytest.mark.requirement("R2")
def test_a_new_replica_is_told_whom_to_follow(scene: Scene) -> None:
    """Marked as new, because its broker has never heard of it."""
    scene.live(1, 2)
    led = scene.partition(
        replicas=(1, 2), leadership=leadership(1, (1,)), replica_state=NON_EXISTENT
    )

    run = move(scene, led, 2, NEW)

    assert run.told == [
        "2 <- LeaderAndIsr t-0 leader=1 isr=1 epoch=0 v0 new",
        "1 <- UpdateMetadata live=1,2; t-0 leader=1 isr=1 epoch=0 v0 replicas=1,2",
        "2 <- UpdateMetadata live=1,2; t-0 leader=1 isr=1 epoch=0 v0 replicas=1,2",
    ]


@pytest.mark.requirement("R2")
def test_the_leader_cannot_become_a_new_replica(scene: Scene) -> None:
    """A new replica only follows, and starts with nothing."""
    scene.live(1)
    led = scene.partition(replicas=(1,), leadership=leadership(1, (1,)), replica_state=NON_EXISTENT)

    run = move(scene, led, 1, NEW)

    assert run.lines == ["t-0@1 stays NonExistentReplica: the leader cannot be a new replica"]


# --- to Online --------------------------------------------------------------------------------


@pytest.mark.requirement("R3")
def test_a_new_replica_that_goes_online_joins_the_assignment(scene: Scene) -> None:
    """It has been told all there is to tell; at the end of a reassignment it may be missing."""
    scene.live(1, 2)
    led = scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
    scene.set_replicas(led, ids(2), NEW)

    run = move(scene, led, 2, ONLINE)

    assert run.lines == ["t-0 assigned to 1,2", "t-0@2 NewReplica -> OnlineReplica"]
    assert led.assignment == assignment(1, 2)


@pytest.mark.behaviour("rsm-037")
@pytest.mark.requirement("R3")
def test_an_online_replica_that_goes_online_again_is_told_what_it_hosts(scene: Scene) -> None:
    """A restarted broker learns it like this: the same leadership, nothing written."""
    scene.live(17)
    led = leadership(17, (17,), leader_epoch=31)
    orders = scene.partition("orders", 3, (17,), leadership=led)

    run = move(scene, orders, 17, ONLINE)

    assert run.lines == [
        "17 <- LeaderAndIsr orders-3 leader=17 isr=17 epoch=31 v0",
        "17 <- UpdateMetadata live=17; orders-3 leader=17 isr=17 epoch=31 v0 replicas=17",
    ]


@pytest.mark.behaviour("rsm-039", "rsm-045")
@pytest.mark.requirement("R3")
@pytest.mark.parametrize("before", [OFFLINE, INELIGIBLE])
def test_a_replica_that_comes_back_is_told_what_it_hosts(
    scene: Scene, before: ReplicaState
) -> None:
    """Also one whose deletion had to be given up."""
    scene.live(17)
    led = leadership(17, (17,))
    orders = scene.partition("orders", 3, (17,), leadership=led, replica_state=before)

    run = move(scene, orders, 17, ONLINE)

    assert run.story == [f"orders-3@17 {before} -> OnlineReplica"]
    assert run.told[0] == "17 <- LeaderAndIsr orders-3 leader=17 isr=17 epoch=0 v0"


def test_a_replica_of_a_partition_nobody_leads_comes_online_in_silence(scene: Scene) -> None:
    """What it is to do, the first election will tell it."""
    scene.live(17)
    orders = scene.partition("orders", 3, (17,), replica_state=OFFLINE)

    run = move(scene, orders, 17, ONLINE)

    assert run.lines == ["orders-3@17 OfflineReplica -> OnlineReplica"]


# --- to Offline -------------------------------------------------------------------------------


@pytest.mark.behaviour("rsm-036")
@pytest.mark.requirement("R4")
def test_without_a_leadership_the_replica_is_stopped_and_everybody_updated(scene: Scene) -> None:
    """Stopped with no leader epoch to compare, and nothing is read or written."""
    scene.live(16, 17)
    orders = scene.partition("orders", 3, (17,), replica_state=NEW)

    run = move(scene, orders, 17, OFFLINE)

    assert run.lines == [
        "orders-3@17 NewReplica -> OfflineReplica",
        "16 <- UpdateMetadata live=16,17",
        "17 <- UpdateMetadata live=16,17",
        "17 <- StopReplica orders-3 epoch=-1",
    ]


@pytest.mark.behaviour("rsm-038")
@pytest.mark.requirement("R4")
def test_a_leader_that_goes_offline_leaves_the_isr_and_the_leadership(scene: Scene) -> None:
    """The stop carries the epoch from before, and the others hear the version just written."""
    scene.live(17, 18)
    led = leadership(17, (17, 18), leader_epoch=5, zk_version=8)
    orders = scene.partition("orders", 3, (17, 18), leadership=led)

    run = move(scene, orders, 17, OFFLINE)

    written = "leader=-1 isr=18 epoch=6 v9"
    assert run.lines == [
        "WriteLeaderships orders-3 leader=-1 isr=18 epoch=6 v8",
        f"orders-3@17 shrunk {written}",
        "orders-3@17 OnlineReplica -> OfflineReplica",
        f"18 <- LeaderAndIsr orders-3 {written}",
        f"17 <- UpdateMetadata live=17,18; orders-3 {written} replicas=17,18",
        f"18 <- UpdateMetadata live=17,18; orders-3 {written} replicas=17,18",
        "17 <- StopReplica orders-3 epoch=5",
    ]
    assert orders.leadership == scene.stored(orders)


@pytest.mark.requirement("R4")
def test_the_last_in_sync_replica_is_never_taken_out(scene: Scene) -> None:
    """It alone has the data; who has it must not be forgotten with it."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,)))

    move(scene, led, 1, OFFLINE)

    assert scene.stored(led) == leadership(-1, (1,), leader_epoch=1, zk_version=1)


@pytest.mark.requirement("R4")
def test_a_replica_outside_the_isr_goes_offline_without_a_write(scene: Scene) -> None:
    """The others are told all the same: some of them may not know the leadership yet."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (2,)))

    run = move(scene, led, 1, OFFLINE)

    assert run.lines == [
        "ReadLeaderships t-0",
        "t-0@1 OnlineReplica -> OfflineReplica",
        "2 <- LeaderAndIsr t-0 leader=2 isr=2 epoch=0 v0",
        "2 <- UpdateMetadata live=2; t-0 leader=2 isr=2 epoch=0 v0 replicas=1,2 offline=1",
    ]


def test_a_lost_race_for_the_isr_is_decided_afresh(scene: Scene) -> None:
    """The leader took the dead replica out itself, meanwhile: nothing is left to write."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (1, 2)))
    scene.memory.before_write = lambda _: scene.overwrite(led, isr=ids(2))

    run = move(scene, led, 1, OFFLINE)

    assert run.asked == [
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v0",
        "ReadLeaderships t-0",
    ]
    assert run.story == [
        "t-0 learned leader=2 isr=2 epoch=0 v1",
        "t-0@1 OnlineReplica -> OfflineReplica",
    ]


def test_races_for_the_isr_are_not_run_for_ever(scene: Scene) -> None:
    """The replica stays as it is until the next event."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (1, 2)))

    def write_first(_: Ask[Any]) -> None:
        scene.overwrite(led)

    scene.memory.before_write = write_first

    run = move(scene, led, 1, OFFLINE)

    assert sum(isinstance(ask, WriteLeaderships) for ask in run.asks) == CONFLICTS_MAX
    assert run.story[-1] == "t-0@1 stays OnlineReplica: lost 10 races in a row"


def test_an_isr_written_by_a_newer_controller_deposes_us(scene: Scene) -> None:
    """Nothing is written over it."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (1, 2)))
    theirs = leadership(2, (1, 2), controller_epoch=2, zk_version=1)
    scene.memory.leaderships[led.name] = theirs

    with pytest.raises(ControllerMoved, match="epoch 2"):
        move(scene, led, 1, OFFLINE)

    assert scene.stored(led) == theirs


@pytest.mark.parametrize(
    ("found", "word"), [(None, "missing"), (Malformed("/state", "not JSON"), "unreadable")]
)
def test_without_a_usable_state_the_replica_stays(
    scene: Scene, found: Malformed | None, word: str
) -> None:
    """Whether it is in the ISR, nobody can tell."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (1, 2)))
    del scene.memory.leaderships[led.name]
    if found is not None:
        scene.memory.leaderships[led.name] = found

    run = move(scene, led, 1, OFFLINE)

    assert run.story == [f"t-0@1 stays OnlineReplica: the partition's state znode is {word}"]


def test_a_replica_of_a_topic_being_deleted_goes_offline_whatever_the_state(scene: Scene) -> None:
    """A half-deleted topic has no state any more, and must still go; nobody is asked to lead."""
    scene.live(1, 2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (1, 2)))
    scene.state.queue_deletions(["t"])
    scene.memory.leaderships.clear()

    run = move(scene, led, 1, OFFLINE)

    assert run.story == ["t-0@1 OnlineReplica -> OfflineReplica"]
    assert run.told[-1] == "1 <- StopReplica t-0 epoch=-2"
    assert not any("LeaderAndIsr" in line for line in run.told)


@pytest.mark.requirement("R4")
def test_a_replica_of_a_topic_being_deleted_leaves_the_isr_and_nobody_is_told_to_lead(
    scene: Scene,
) -> None:
    """The others are about to be stopped themselves."""
    scene.live(1, 2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)))
    scene.state.queue_deletions(["t"])

    run = move(scene, led, 1, OFFLINE)

    assert scene.stored(led) == leadership(-1, (2,), leader_epoch=1, zk_version=1)
    assert run.told == [
        "1 <- UpdateMetadata live=1,2",
        "2 <- UpdateMetadata live=1,2",
        "1 <- StopReplica t-0 epoch=-2",
    ]


# --- deletion ---------------------------------------------------------------------------------


@pytest.mark.behaviour("rsm-040")
@pytest.mark.requirement("R5")
def test_a_deletion_starts_with_a_stop_that_deletes(scene: Scene) -> None:
    """The answer comes back as an event."""
    scene.live(17)
    led = leadership(17, (17,))
    orders = scene.partition("orders", 3, (17,), leadership=led, replica_state=OFFLINE)

    run = move(scene, orders, 17, STARTED)

    assert run.lines == [
        "orders-3@17 OfflineReplica -> ReplicaDeletionStarted",
        "17 <- StopReplica orders-3 epoch=0 delete",
    ]


@pytest.mark.requirement("R5")
@pytest.mark.parametrize(
    ("before", "after"), [(STARTED, SUCCESSFUL), (STARTED, INELIGIBLE), (OFFLINE, INELIGIBLE)]
)
def test_the_end_of_a_deletion_changes_only_the_state(
    scene: Scene, before: ReplicaState, after: ReplicaState
) -> None:
    """Whether it succeeded or was given up."""
    scene.live(17)
    orders = scene.partition("orders", 3, (17,), replica_state=before)

    run = move(scene, orders, 17, after)

    assert run.lines == [f"orders-3@17 {before} -> {after}"]


@pytest.mark.behaviour("rsm-044")
@pytest.mark.requirement("R5")
def test_a_deleted_replica_leaves_the_assignment_and_no_state_behind(scene: Scene) -> None:
    """A state kept as non-existent would be there for ever."""
    scene.live(17)
    orders = scene.partition("orders", 3, (17,), replica_state=SUCCESSFUL)

    run = move(scene, orders, 17, NON_EXISTENT)

    assert run.lines == [
        "orders-3 assigned to ",
        "orders-3@17 ReplicaDeletionSuccessful -> NonExistentReplica",
    ]
    assert orders.assignment == assignment()
    assert scene.state.replicas_on == {BrokerId(17): {}}


# --- the start --------------------------------------------------------------------------------


@pytest.mark.behaviour("rsm-002")
@pytest.mark.requirement("R1")
def test_a_replica_of_a_dead_broker_goes_through_the_offline_move_at_the_start(
    scene: Scene,
) -> None:
    """A label alone would leave it in the ISR (KAFKA-3143)."""
    scene.live(18)
    led = leadership(17, (17, 18))
    orders = scene.partition("orders", 3, (17, 18), leadership=led, replica_state=NON_EXISTENT)

    run = scene.run(start_replicas(scene.state))

    assert run.story == [
        "ReplicasStarted(topic='orders', offline_brokers=(17,))",
        "orders-3@17 shrunk leader=-1 isr=18 epoch=1 v1",
        "orders-3@17 ReplicaDeletionIneligible -> OfflineReplica",
    ]
    assert scene.stored(orders).isr == ids(18)


@pytest.mark.requirement("R1")
def test_at_the_start_every_live_replica_is_told_what_it_hosts(scene: Scene) -> None:
    """One request for each broker, whatever the number of partitions; unled ones wait."""
    scene.live(1, 2)
    for index in range(3):
        led = leadership(1, (1, 2)) if index else None
        scene.partition("t", index, (1, 2), leadership=led, state=PartitionState.NON_EXISTENT)

    run = scene.run(start_replicas(scene.state))

    told = [send for send in run.told if "LeaderAndIsr" in send]
    both = "t-1 leader=1 isr=1,2 epoch=0 v0; t-2 leader=1 isr=1,2 epoch=0 v0"
    assert told == [f"1 <- LeaderAndIsr {both}", f"2 <- LeaderAndIsr {both}"]
    assert {s for on in scene.state.replicas_on.values() for s in on.values()} == {ONLINE}


@pytest.mark.requirement("R1")
def test_at_the_start_a_broker_hears_of_each_topic_in_one_piece(scene: Scene) -> None:
    """In the order of topics, whoever else hosts them: such requests are written fastest."""
    scene.live(1, 2, 3)
    for topic, index, replicas in (
        ("x", 0, (1, 3)),
        ("x", 1, (2, 3)),
        ("y", 0, (1, 3)),
        ("y", 1, (3, 2)),
    ):
        scene.partition(topic, index, replicas, leadership=leadership(3, replicas))

    run = scene.run(start_replicas(scene.state))

    (told,) = [line for line in run.told if line.startswith("3 <- LeaderAndIsr ")]
    entries = told.removeprefix("3 <- LeaderAndIsr ").split("; ")
    assert [each.split()[0] for each in entries] == ["x-0", "x-1", "y-0", "y-1"]


@pytest.mark.requirement("R1")
def test_at_the_start_what_no_live_broker_hosts_waits_for_the_offline_move(scene: Scene) -> None:
    """It is told once, with what that move has found."""
    scene.live(1)
    scene.partition("t", 0, (1,), leadership=leadership(1, (1,)))
    scene.partition("t", 1, (2,), leadership=leadership(2, (2,)))

    run = scene.run(start_replicas(scene.state))

    assert [line for line in run.told if "UpdateMetadata" in line] == [
        "1 <- UpdateMetadata live=1; t-0 leader=1 isr=1 epoch=0 v0 replicas=1",
        "1 <- UpdateMetadata live=1; t-1 leader=-1 isr=2 epoch=1 v1 replicas=2 offline=2",
    ]


@pytest.mark.requirement("R4")
@pytest.mark.fault("F49")
@pytest.mark.parametrize(
    ("isr", "after"),
    [((2, 4, 1, 3), (2,)), ((2, 4), (2,)), ((4, 1), (4,))],
)
def test_strangers_leave_the_isr_with_the_replica_that_dies(
    scene: Scene, isr: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """A leader took them in before it heard that they had moved away; the last member stays."""
    scene.live(1, 2, 3)
    leader = 2 if 2 in isr else 4
    moved = scene.partition("t", 0, (2, 4), leadership=leadership(leader, isr, zk_version=3))

    scene.run(move_replicas(scene.state, {BrokerId(4): [moved]}, ReplicaState.OFFLINE))

    assert moved.leadership is not None
    assert moved.leadership.isr == after
