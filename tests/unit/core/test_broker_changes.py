"""Brokers that come, die, bounce, or change their address (B1 to B3)."""

from contextlib import suppress

import pytest

from regent.core.asks import Ask, Malformed, ReadTopicConfigs, WatchBrokers
from regent.core.events import AlterPartitionRequested, BrokerChanged, BrokersChanged
from regent.core.state import ControllerState
from regent.model.facts import BrokerDown, BrokerUp, BrokerUpdated, ZnodeIsolated
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import (
    alter_partition,
    broker_epoch,
    ids,
    leadership,
    proposal,
    registered,
)
from tests.support.scene import Scene

CHANGED = BrokersChanged(0)


def known_epochs(state: ControllerState) -> dict[BrokerId, BrokerEpoch]:
    """The lives of brokers that the controller knows."""
    return {broker_id: entry.broker_epoch for broker_id, entry in state.brokers.items()}


def stored_epochs(scene: Scene) -> dict[BrokerId, BrokerEpoch]:
    """The lives of brokers that are registered."""
    entries = scene.memory.brokers.values()
    return {e.broker.broker_id: e.broker_epoch for e in entries if not isinstance(e, Malformed)}


# --- coming -----------------------------------------------------------------------------------


@pytest.mark.behaviour("int-009")
@pytest.mark.requirement("B1")
def test_a_newcomer_gets_everything_and_the_others_only_the_list_of_brokers(scene: Scene) -> None:
    """A thousand brokers need not hear of every partition because one has come (KAFKA-7537)."""
    scene.live(1, 2)
    followed = leadership(1, (1,), leader_epoch=2, zk_version=2)
    hosted = scene.partition("t", 0, (1, 3), leadership=followed)
    scene.set_replicas(hosted, ids(3), ReplicaState.OFFLINE)
    scene.partition("t", 1, (2,), leadership=leadership(2, (2,)))
    scene.memory.register(3)

    run = scene.handle(CHANGED)

    t0 = "t-0 leader=1 isr=1 epoch=2 v2"
    t1 = "t-1 leader=2 isr=2 epoch=0 v0"
    everybody = "live=1,2,3"
    assert run.lines == [
        "ReadBrokers",
        "open channel to 3 (1003)",
        "BrokerUp(broker_id=3, broker_epoch=1003, rack=None, loaded=False)",
        f"1 <- UpdateMetadata {everybody}",
        f"2 <- UpdateMetadata {everybody}",
        f"3 <- UpdateMetadata {everybody}; {t0} replicas=1,3; {t1} replicas=2",
        "t-0@3 OfflineReplica -> OnlineReplica",
        f"3 <- LeaderAndIsr {t0}",
        f"1 <- UpdateMetadata {everybody}; {t0} replicas=1,3",
        f"2 <- UpdateMetadata {everybody}; {t0} replicas=1,3",
        f"3 <- UpdateMetadata {everybody}; {t0} replicas=1,3",
        "WatchBrokers 3",
    ]


@pytest.mark.requirement("B1")
def test_a_newcomer_brings_what_waited_for_it_online(scene: Scene) -> None:
    """Both what was offline and what could never be led before."""
    led = leadership(-1, (1,), leader_epoch=1, zk_version=1)
    scene.partition(
        "t",
        0,
        (1,),
        leadership=led,
        state=PartitionState.OFFLINE,
        replica_state=ReplicaState.OFFLINE,
    )
    scene.partition("t", 1, (1,), state=PartitionState.NEW, replica_state=ReplicaState.OFFLINE)
    scene.memory.register(1)

    run = scene.handle(CHANGED)

    assert run.story[-2:] == [
        "t-0 OfflinePartition -> OnlinePartition leader=1 isr=1 epoch=2 v2",
        "t-1 NewPartition -> OnlinePartition leader=1 isr=1 epoch=0 v0",
    ]


def test_a_newcomer_is_not_told_of_topics_being_deleted(scene: Scene) -> None:
    """It would only have to forget them again."""
    scene.live(1)
    scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
    scene.state.queue_deletions(["t"])
    scene.memory.register(2)

    run = scene.handle(CHANGED)

    assert run.told == ["1 <- UpdateMetadata live=1,2", "2 <- UpdateMetadata live=1,2"]


def test_a_broker_whose_address_changed_while_it_was_welcomed_is_read_again(scene: Scene) -> None:
    """The watch is set last, and shows what was missed."""
    scene.memory.register(1)
    first = scene.controller.handle(CHANGED)
    step = next(first)
    answer = scene.memory.answer(step)  # type: ignore[arg-type]
    scene.memory.brokers[BrokerId(1)] = registered(1, port=9999)
    first.send(answer)

    run = scene.run(first)

    assert BrokerUpdated(BrokerId(1), broker_epoch(1)) in run.facts
    assert scene.state.brokers[BrokerId(1)] == registered(1, port=9999)


# --- dying ------------------------------------------------------------------------------------


@pytest.mark.requirement("B2")
def test_the_partitions_of_a_dead_leader_are_led_by_another(scene: Scene) -> None:
    """Offline, then elected, and only then is the dead replica moved: it has left the ISR."""
    scene.live(1, 2, 3)
    led = leadership(1, (1, 2, 3), leader_epoch=5, zk_version=8)
    scene.partition(leadership=led)
    scene.memory.lose(1)

    run = scene.handle(CHANGED)

    new = "leader=2 isr=2,3 epoch=6 v9"
    metadata = f"UpdateMetadata live=2,3; t-0 {new} replicas=1,2,3 offline=1"
    assert run.lines == [
        "ReadBrokers",
        "close channel to 1",
        "BrokerDown(broker_id=1, broker_epoch=1001, bounced=False)",
        "t-0 OnlinePartition -> OfflinePartition",
        "WriteLeaderships t-0 leader=2 isr=2,3 epoch=6 v8",
        f"t-0 OfflinePartition -> OnlinePartition {new}",
        f"2 <- LeaderAndIsr t-0 {new}",
        f"3 <- LeaderAndIsr t-0 {new}",
        f"2 <- {metadata}",
        f"3 <- {metadata}",
        "ReadLeaderships t-0",
        "t-0@1 OnlineReplica -> OfflineReplica",
        f"2 <- LeaderAndIsr t-0 {new}",
        f"3 <- LeaderAndIsr t-0 {new}",
        f"2 <- {metadata}",
        f"3 <- {metadata}",
    ]


@pytest.mark.behaviour("int-008")
@pytest.mark.requirement("B2")
def test_a_dead_follower_leaves_the_isr_and_is_listed_as_offline(scene: Scene) -> None:
    """The leader stays, and what it did not host is not touched."""
    scene.live(1, 2, 3)
    scene.partition("t", 0, (1, 3), leadership=leadership(1, (1, 3)))
    untouched = scene.partition("t", 1, (1, 2), leadership=leadership(1, (1, 2)))
    scene.memory.lose(3)

    run = scene.handle(CHANGED)

    new = "leader=1 isr=1 epoch=1 v1"
    assert run.told == [
        f"1 <- LeaderAndIsr t-0 {new}",
        f"1 <- UpdateMetadata live=1,2; t-0 {new} replicas=1,3 offline=3",
        f"2 <- UpdateMetadata live=1,2; t-0 {new} replicas=1,3 offline=3",
    ]
    assert scene.stored(untouched) == leadership(1, (1, 2))


@pytest.mark.requirement("B2", "R4")
def test_a_partition_whose_only_in_sync_replica_dies_stays_offline(scene: Scene) -> None:
    """Leader -1, the ISR kept: it alone says who has the data."""
    scene.live(1, 2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,)))
    scene.memory.lose(1)

    scene.handle(CHANGED)

    assert scene.stored(led) == leadership(-1, (1,), leader_epoch=1, zk_version=1)
    assert led.state is PartitionState.OFFLINE
    assert scene.state.offline_partition_count == 1


@pytest.mark.behaviour("int-011")
@pytest.mark.requirement("B2")
def test_the_death_of_a_broker_that_hosts_nothing_is_told_all_the_same(scene: Scene) -> None:
    """Or it would be in everybody's list for ever (KAFKA-13225), also while others are offline."""
    scene.live(1, 2, 3)
    scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
    scene.memory.lose(1)
    scene.handle(CHANGED)
    scene.memory.lose(2)

    run = scene.handle(CHANGED)

    assert run.told == ["3 <- UpdateMetadata live=3"]


def test_replicas_of_a_topic_being_deleted_are_not_elected_when_their_broker_dies(
    scene: Scene,
) -> None:
    """Nobody needs them any more; the list of brokers is told."""
    scene.live(1, 2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)))
    scene.state.queue_deletions(["t"])
    scene.memory.lose(1)

    run = scene.handle(CHANGED)

    assert run.told == ["2 <- UpdateMetadata live=2"]
    assert scene.stored(led) == leadership(1, (1, 2))


def test_thirty_brokers_that_die_at_once_are_one_event(scene: Scene) -> None:
    """One election for all, and each survivor hears of it once, not thirty times."""
    scene.live(*range(1, 61))
    for index in range(30):
        replicas = (index + 1, index + 31)
        scene.partition("t", index, replicas, leadership=leadership(replicas[0], replicas))
    scene.memory.lose(*range(1, 31))

    run = scene.handle(CHANGED)

    kinds = [type(ask).__name__ for ask in run.asks]
    assert kinds[:2] == ["ReadBrokers", "WriteLeaderships"]
    assert kinds.count("WriteLeaderships") == 1
    assert {p.leadership.leader for p in scene.state.all_partitions() if p.leadership} == set(
        ids(*range(31, 61))
    )
    # The election and the removal of the dead replicas: LeaderAndIsr and UpdateMetadata each.
    assert len(run.sends) == 30 * 2 * 2


# --- bouncing ---------------------------------------------------------------------------------


@pytest.mark.fault("F32")
@pytest.mark.behaviour("evt-010")
@pytest.mark.requirement("B3")
def test_a_bounced_broker_is_lost_and_then_new(scene: Scene) -> None:
    """By its id nothing happened; by its epoch it has forgotten everything (KAFKA-7235)."""
    scene.live(1, 2)
    scene.partition(replicas=(2, 1), leadership=leadership(2, (2, 1)))
    scene.memory.register(2, life=2)

    run = scene.handle(CHANGED)

    lines = run.lines
    assert [line for line in lines if line.startswith(("open", "close", "Broker"))] == [
        "close channel to 2",
        "BrokerDown(broker_id=2, broker_epoch=1002, bounced=True)",
        "open channel to 2 (2002)",
        "BrokerUp(broker_id=2, broker_epoch=2002, rack=None, loaded=False)",
    ]
    t0 = "t-0 leader=1 isr=1 epoch=1 v1"
    to_bounced = [send for send in run.sends if send.broker_id == 2]
    assert [line for line in run.told if line.startswith("2 <-")][:2] == [
        f"2 <- UpdateMetadata live=1,2; {t0} replicas=2,1",
        f"2 <- LeaderAndIsr {t0}",
    ]
    assert {send.request.broker_epoch for send in to_bounced} == {2002}


def test_an_older_epoch_than_the_known_one_is_no_bounce(scene: Scene) -> None:
    """It can only be an old answer."""
    scene.memory.register(1, life=2)
    scene.state.add_broker(registered(1, life=2))
    scene.memory.register(1, life=1)

    assert scene.handle(CHANGED).lines == ["ReadBrokers"]


@pytest.mark.behaviour("ctx-021")
@pytest.mark.requirement("X1")
def test_the_known_lives_are_the_registered_ones_after_each_change(scene: Scene) -> None:
    """A broker that is started again has a larger epoch."""
    scene.live(1, 2)
    seen = []

    for life in (None, 2):
        if life is None:
            scene.memory.lose(2)
        else:
            scene.memory.register(2, life=life)
        scene.handle(CHANGED)
        seen.append(known_epochs(scene.state) == stored_epochs(scene))

    assert seen == [True, True]
    assert scene.state.broker_epoch(BrokerId(2)) == broker_epoch(2, 2) > broker_epoch(2, 1)


# --- changing ---------------------------------------------------------------------------------


@pytest.mark.requirement("B3")
def test_a_new_address_is_told_to_everybody(scene: Scene) -> None:
    """The broker itself included, and no partition with it."""
    scene.live(1, 2)
    scene.memory.brokers[BrokerId(2)] = registered(2, port=9999)

    run = scene.handle(BrokerChanged(0, BrokerId(2)))

    assert run.lines == [
        "WatchBrokers 2",
        "BrokerUpdated(broker_id=2, broker_epoch=1002)",
        "1 <- UpdateMetadata live=1,2",
        "2 <- UpdateMetadata live=1,2",
    ]
    assert scene.state.brokers[BrokerId(2)] == registered(2, port=9999)


@pytest.mark.requirement("B3")
def test_a_new_rack_alone_is_not_worth_a_request(scene: Scene) -> None:
    """Only placement looks at racks."""
    scene.live(1)
    scene.memory.brokers[BrokerId(1)] = registered(1, rack="north")

    assert scene.handle(BrokerChanged(0, BrokerId(1))).lines == ["WatchBrokers 1"]


@pytest.mark.parametrize("life", [None, 2], ids=["gone", "in another life"])
def test_a_change_of_a_broker_that_is_no_longer_the_same_waits(
    scene: Scene, life: int | None
) -> None:
    """The change of the list of brokers tells what there is to tell."""
    scene.live(1)
    scene.memory.lose(1)
    if life is not None:
        scene.memory.brokers[BrokerId(1)] = registered(1, life=life, port=9999)

    run = scene.handle(BrokerChanged(0, BrokerId(1)))

    assert run.lines == ["WatchBrokers 1"]
    assert scene.state.brokers == {BrokerId(1): registered(1)}


def test_a_change_of_an_unknown_broker_is_nothing(scene: Scene) -> None:
    """It will be met when the list of brokers is read."""
    assert scene.handle(BrokerChanged(0, BrokerId(7))).lines == []


# --- what cannot be read ----------------------------------------------------------------------


@pytest.mark.requirement("X3")
def test_a_registration_that_cannot_be_read_is_isolated_and_reported_once(scene: Scene) -> None:
    """Its neighbour is welcomed all the same."""
    scene.memory.brokers[BrokerId(1)] = Malformed("/brokers/ids/1", "not JSON")
    scene.memory.register(2)

    first = scene.handle(CHANGED)
    again = scene.handle(CHANGED)

    assert first.facts[:2] == [
        ZnodeIsolated("/brokers/ids/1", "not JSON"),
        BrokerUp(BrokerId(2), broker_epoch(2)),
    ]
    assert list(scene.state.brokers) == ids_list(2)
    assert again.lines == ["ReadBrokers", "WatchBrokers 1"]


def test_a_registration_is_noticed_when_it_can_be_read(scene: Scene) -> None:
    """It is watched for that; the list of brokers stays as it was."""
    scene.memory.brokers[BrokerId(1)] = Malformed("/brokers/ids/1", "not JSON")
    assert WatchBrokers(ids(1)) in scene.handle(CHANGED).asks
    scene.memory.register(1)

    scene.handle(BrokerChanged(0, BrokerId(1)))

    assert list(scene.state.brokers) == ids_list(1)


def test_a_registration_that_was_put_right_before_it_is_watched_is_noticed(scene: Scene) -> None:
    scene.memory.brokers[BrokerId(1)] = Malformed("/brokers/ids/1", "not JSON")
    proceeds = scene.controller.handle(CHANGED)
    step = next(proceeds)
    while not isinstance(step, WatchBrokers):
        answer = scene.memory.answer(step) if isinstance(step, Ask) else None
        step = proceeds.send(answer)
    scene.memory.register(1)
    with suppress(StopIteration):
        while True:
            answer = scene.memory.answer(step) if isinstance(step, Ask) else None
            step = proceeds.send(answer)

    assert list(scene.state.brokers) == ids_list(1)


def ids_list(*numbers: int) -> list[BrokerId]:
    """Broker ids in a list."""
    return list(ids(*numbers))


def test_a_known_broker_whose_registration_breaks_is_not_dead(scene: Scene) -> None:
    """It is there; taking it for dead would move every partition it leads."""
    scene.live(1)
    scene.memory.brokers[BrokerId(1)] = Malformed("/brokers/ids/1", "not JSON")

    run = scene.handle(CHANGED)

    assert run.facts == [ZnodeIsolated("/brokers/ids/1", "not JSON")]
    assert list(scene.state.brokers) == ids_list(1)


def test_a_broker_that_vanishes_while_it_is_welcomed_is_known_until_the_next_look(
    scene: Scene,
) -> None:
    """It was listed and is gone when it is watched: the next event takes it out."""
    scene.memory.register(1)
    welcome = scene.controller.handle(CHANGED)
    step = next(welcome)
    answer = scene.memory.answer(step)  # type: ignore[arg-type]
    scene.memory.lose(1)
    welcome.send(answer)
    scene.run(welcome)
    known = list(scene.state.brokers)

    run = scene.handle(CHANGED)

    assert known == ids_list(1)
    assert run.facts == [BrokerDown(BrokerId(1), broker_epoch(1))]


# --- a life in full ---------------------------------------------------------------------------


@pytest.mark.behaviour("elc-016")
def test_leadership_goes_to_the_survivor_each_time_and_its_epoch_only_grows(node: Scene) -> None:
    """One epoch for a leader's death; two when it took the controller with it."""
    node.memory.register(2, 3)
    node.memory.create_topic("t", (2, 3))
    node.elect()
    t0 = node.state.topics["t"].partitions[0]
    history = [node.stored(t0)]

    node.memory.lose(2)
    node.handle(CHANGED)
    history.append(node.stored(t0))
    node.memory.register(2, life=2)
    node.handle(CHANGED)
    rejoin = alter_partition(3, proposal(3, 2, leader_epoch=1, zk_version=1))
    node.handle(AlterPartitionRequested(0, 1, rejoin))
    history.append(node.stored(t0))
    node.memory.lose(3)
    node.memory.free_role()
    successor = Scene(node.memory, controller_id=2)
    successor.elect()
    history.append(node.stored(t0))

    assert history == [
        leadership(2, (2, 3)),
        leadership(3, (3,), leader_epoch=1, zk_version=1),
        leadership(3, (3, 2), leader_epoch=1, zk_version=2),
        leadership(2, (2,), leader_epoch=3, zk_version=4, controller_epoch=2),
    ]


@pytest.mark.requirement("B2", "P4")
def test_an_isr_that_grew_during_the_election_is_used_at_once(scene: Scene) -> None:
    """The lost leader took 2 in after we had looked: nobody else would hold another election."""
    scene.live(2)
    alone = leadership(1, (1,), leader_epoch=3, zk_version=4)
    partition = scene.partition("t", 0, (1, 2), leadership=alone)
    scene.state.add_broker(registered(1))
    joined = leadership(1, (1, 2), leader_epoch=3, zk_version=5)

    def grow(ask: object) -> None:
        if isinstance(ask, ReadTopicConfigs):
            scene.memory.leaderships[partition.name] = joined

    scene.memory.before_answer = grow

    scene.handle(CHANGED)

    assert partition.state is PartitionState.ONLINE
    assert scene.state.leader_of(partition) == 2
