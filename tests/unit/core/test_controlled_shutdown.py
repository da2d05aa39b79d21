"""Brokers that want to go (B4): alive for being told things, dead for being elected."""

import pytest

from regent.core.events import BrokersChanged, ControlledShutdownRequested
from regent.core.state import Partition
from regent.model.admin_requests import ControlledShutdown, ControlledShutdownAnswer
from regent.model.control_requests import LeaderAndIsr, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, ShutdownAdvanced
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerEpoch, BrokerId
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import broker_epoch, leadership, name
from tests.support.drive import Run
from tests.support.scene import Scene


def shut_down(scene: Scene, broker_id: int, epoch: BrokerEpoch | None = None) -> Run[None]:
    """A broker wants to go; it knows its epoch unless a test says otherwise."""
    known = broker_epoch(broker_id) if epoch is None else epoch
    request = ControlledShutdown(BrokerId(broker_id), known)
    return scene.handle(ControlledShutdownRequested(0, 5, request))


def led_by_4(scene: Scene, index: int = 0) -> Partition:
    """A partition on three brokers, all in sync."""
    return scene.partition("t", index, (4, 5, 6), leadership=leadership(4, (4, 5, 6)))


# --- going ------------------------------------------------------------------------------------


@pytest.mark.behaviour("shd-001")
@pytest.mark.requirement("B4", "R4")
def test_a_follower_that_goes_stops_fetching_and_leaves_the_isr(scene: Scene) -> None:
    """It is stopped before the ISR shrinks, or it would be taken back."""
    scene.live(4, 5, 6)
    partition = led_by_4(scene)

    run = shut_down(scene, 6)

    led = "leader=4 isr=4,5 epoch=1 v1"
    shown = f"live=4,5,6; t-0 {led} replicas=4,5,6 offline=6"
    assert run.lines == [
        "ShutdownAdvanced(broker_id=6, partition_count=0)",
        "6 <- StopReplica t-0 epoch=0",
        "WriteLeaderships t-0 leader=4 isr=4,5 epoch=1 v0",
        f"t-0@6 shrunk {led}",
        "t-0@6 OnlineReplica -> OfflineReplica",
        f"4 <- LeaderAndIsr t-0 {led}",
        f"5 <- LeaderAndIsr t-0 {led}",
        f"4 <- UpdateMetadata {shown}",
        f"5 <- UpdateMetadata {shown}",
        f"6 <- UpdateMetadata {shown}",
        "6 <- StopReplica t-0 epoch=0",
        "ShutdownAdvanced(broker_id=6, partition_count=0)",
        "reply to 5: NONE",
    ]
    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer()
    assert scene.state.replica_state(partition, BrokerId(6)) is ReplicaState.OFFLINE


@pytest.mark.behaviour("shd-002")
@pytest.mark.requirement("B4")
def test_a_second_broker_that_goes_does_not_bring_the_first_one_back(scene: Scene) -> None:
    """All three brokers hear of it, those that go included."""
    scene.live(4, 5, 6)
    partition = led_by_4(scene)
    shut_down(scene, 6)

    run = shut_down(scene, 5)

    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer()
    assert scene.stored(partition) == leadership(4, (4,), leader_epoch=2, zk_version=2)
    told = [s.broker_id for s in run.sends if isinstance(s.request, UpdateMetadata)]
    assert told == [4, 5, 6]


@pytest.mark.requirement("B4", "S4")
def test_what_a_broker_leads_moves_to_one_that_stays(scene: Scene) -> None:
    """In the order of the assignment, past another one that is going; the old leader is told."""
    scene.live(4, 5, 6)
    partition = led_by_4(scene)
    scene.state.mark_shutting_down(BrokerId(5))

    run = shut_down(scene, 4)

    assert scene.stored(partition) == leadership(6, (6,), leader_epoch=1, zk_version=1)
    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer()
    told = [s.broker_id for s in run.sends if isinstance(s.request, LeaderAndIsr)]
    assert told == [4, 5, 6]


@pytest.mark.requirement("B4")
def test_the_answer_lists_what_the_broker_still_leads(scene: Scene) -> None:
    """Nobody else is in sync there; the broker asks again until somebody is, or goes anyway."""
    scene.live(4, 5)
    kept = scene.partition("t", 0, (4, 5), leadership=leadership(4, (4,)))
    scene.partition("t", 1, (4, 5), leadership=leadership(4, (4, 5)))
    alone = scene.partition("t", 2, (4,), leadership=leadership(4, (4,)))

    run = shut_down(scene, 4)
    scene.overwrite(kept, isr=(BrokerId(4), BrokerId(5)))
    again = shut_down(scene, 4)

    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer(
        remaining=(name("t", 0),)
    )
    advanced = [fact for fact in run.facts if isinstance(fact, ShutdownAdvanced)]
    assert advanced == [ShutdownAdvanced(BrokerId(4), 2), ShutdownAdvanced(BrokerId(4), 1)]
    assert again.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer()
    assert scene.state.leader_of(kept) == 5
    # What has no other replica cannot be moved and is not worth waiting for.
    assert alone.leadership == leadership(4, (4,))


@pytest.mark.requirement("B4")
def test_topics_that_go_too_and_partitions_that_nobody_led_are_left_alone(scene: Scene) -> None:
    """There is nothing to hand over."""
    scene.live(4, 5)
    scene.partition("going", 0, (4, 5), leadership=leadership(4, (4, 5)))
    scene.partition("new", 0, (4, 5), state=PartitionState.NEW, replica_state=ReplicaState.NEW)
    scene.state.queue_deletions(["going"])

    run = shut_down(scene, 4)

    assert run.asks == []
    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer()


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.behaviour("shd-004")
@pytest.mark.requirement("B4")
def test_a_request_from_an_earlier_life_is_refused(scene: Scene) -> None:
    """It waited somewhere while its broker was restarted; the new life wants to stay."""
    scene.live(4, 5)
    led_by_4(scene)

    run = shut_down(scene, 4, BrokerEpoch(broker_epoch(4) - 1))

    stale = ErrorCode.STALE_BROKER_EPOCH
    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer(stale)
    reason = "broker 4 is registered with epoch 1004, not 1003"
    assert run.facts == [CallRefused("ControlledShutdown", stale, BrokerId(4), reason=reason)]
    assert scene.state.shutting_down == {}


@pytest.mark.requirement("B4")
@pytest.mark.parametrize("epoch", [BROKER_EPOCH_UNKNOWN, BrokerEpoch(broker_epoch(4) + 1)])
def test_an_unknown_or_newer_epoch_is_accepted(scene: Scene, epoch: BrokerEpoch) -> None:
    """Old brokers do not say; a newer one than ours is a restart that we hear of next."""
    scene.live(4, 5)

    run = shut_down(scene, 4, epoch)

    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer()
    assert list(scene.state.shutting_down) == [4]


@pytest.mark.requirement("B4")
def test_a_broker_that_is_not_registered_cannot_go(scene: Scene) -> None:
    """It is gone."""
    scene.live(4)

    run = shut_down(scene, 9)

    error = ErrorCode.BROKER_NOT_AVAILABLE
    assert run.answer(ControlledShutdownAnswer) == ControlledShutdownAnswer(error)
    reason = "broker 9 is not registered"
    assert run.facts == [CallRefused("ControlledShutdown", error, BrokerId(9), reason=reason)]


# --- the two senses of being alive ------------------------------------------------------------


@pytest.mark.fault("F76")
@pytest.mark.requirement("B4", "B1")
def test_a_replica_that_comes_back_is_told_to_follow_a_leader_that_is_going(scene: Scene) -> None:
    """With the leader's address, or it could never join the ISR and relieve it (KAFKA-999)."""
    scene.live(4)
    scene.partition("t", 0, (4, 5), leadership=leadership(4, (4,)))
    shut_down(scene, 4)
    scene.memory.register(5)

    run = scene.handle(BrokersChanged(0))

    (told,) = [
        send.request
        for send in run.sends
        if send.broker_id == 5 and isinstance(send.request, LeaderAndIsr)
    ]
    assert [entry.leadership.leader for entry in told.partitions] == [4]
    assert told.live_leaders == (4,)


@pytest.mark.fault("F94")
@pytest.mark.requirement("B4", "X2")
def test_a_leader_that_is_going_is_not_counted_as_gone(scene: Scene) -> None:
    """Another replica dies meanwhile: the partition is led as long as its leader lives."""
    scene.live(4, 5, 6)
    partition = scene.partition("t", 0, (4, 5), leadership=leadership(4, (4,)))
    shut_down(scene, 4)
    scene.memory.lose(5)

    scene.handle(BrokersChanged(0))

    assert partition.state is PartitionState.ONLINE
    assert scene.state.offline_partition_count == 0


@pytest.mark.requirement("B4")
def test_a_broker_is_shutting_down_until_its_registration_is_gone(scene: Scene) -> None:
    """A new life of it starts without the mark."""
    scene.live(4, 5)
    shut_down(scene, 4)
    scene.memory.register(4, life=2)

    scene.handle(BrokersChanged(0))

    assert scene.state.shutting_down == {}
    assert BrokerId(4) in scene.state.electable
