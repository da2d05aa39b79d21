"""Log directories that fail while their broker lives (B5)."""

import pytest

from regent.core.asks import DeleteLogDirEvents, Malformed
from regent.core.events import BrokersChanged, LeaderAndIsrAnswered, LogDirsFailed
from regent.core.state import Partition
from regent.model.control_requests import ControlAnswer, LeaderAndIsr
from regent.model.error_codes import ErrorCode
from regent.model.facts import LogDirFailed, RequestAnswered, ZnodeIsolated
from regent.model.ids import BrokerId, ControllerEpoch
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import broker_epoch, leadership
from tests.support.drive import Run
from tests.support.scene import Scene

B1, B2 = BrokerId(1), BrokerId(2)
LOST, FINE = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE


def answer(
    scene: Scene,
    broker_id: int,
    *said: tuple[Partition, ErrorCode],
    life: int = 1,
    error: ErrorCode = ErrorCode.NONE,
    controller_epoch: int = 1,
) -> Run[None]:
    """A broker answers a LeaderAndIsr, with a code for each partition."""
    codes = tuple((partition.name, code) for partition, code in said)
    event = LeaderAndIsrAnswered(
        0,
        BrokerId(broker_id),
        broker_epoch(broker_id, life),
        ControllerEpoch(controller_epoch),
        ControlAnswer(error, codes),
    )
    return scene.handle(event)


def replica(scene: Scene, partition: Partition, broker_id: BrokerId) -> ReplicaState:
    """Where a replica is in its life."""
    return scene.state.replica_state(partition, broker_id)


# --- the announcement -------------------------------------------------------------------------


@pytest.mark.requirement("B5")
def test_a_broker_that_lost_a_directory_is_told_again_what_it_hosts(scene: Scene) -> None:
    """Its answers will say which of it was there. Announced twice, told once."""
    scene.live(1, 2)
    scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    scene.partition("t", 1, (2,), leadership=leadership(2, (2,)))
    scene.memory.log_dir_events = {"log_dir_event_1": B1, "log_dir_event_2": B1}

    run = scene.handle(LogDirsFailed(0))

    led = "t-0 leader=1 isr=1,2 epoch=0 v0"
    assert run.lines == [
        "ReadLogDirEvents",
        f"1 <- LeaderAndIsr {led}",
        f"1 <- UpdateMetadata live=1,2; {led} replicas=1,2",
        f"2 <- UpdateMetadata live=1,2; {led} replicas=1,2",
        "DeleteLogDirEvents log_dir_event_1,log_dir_event_2",
    ]
    assert scene.memory.log_dir_events == {}


def test_an_announcement_of_our_own_removal_is_no_news(scene: Scene) -> None:
    """The list is watched, and removing the last of it is a change too."""
    assert scene.handle(LogDirsFailed(0)).asked == ["ReadLogDirEvents"]


@pytest.mark.requirement("B5", "X3")
def test_announcements_of_the_dead_and_unreadable_ones_are_removed(scene: Scene) -> None:
    """Nobody can be told anything, and they must not be found again."""
    scene.live(1)
    scene.partition("t", 0, (1, 9), leadership=leadership(1, (1,)))
    broken = Malformed("/log_dir_event_notification/b", "not JSON")
    scene.memory.log_dir_events = {"a": BrokerId(9), "b": broken}

    run = scene.handle(LogDirsFailed(0))

    assert run.sends == []
    assert run.facts == [ZnodeIsolated(broken.path, broken.reason)]
    assert scene.memory.log_dir_events == {}


def test_a_replica_that_is_being_deleted_is_not_told_to_serve(scene: Scene) -> None:
    """It would be there again when the topic is gone."""
    scene.live(1, 2)
    scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    scene.state.queue_deletions(["t"])
    scene.memory.log_dir_events = {"a": B1}

    run = scene.handle(LogDirsFailed(0))

    assert (run.sends, run.facts) == ([], [])


@pytest.mark.requirement("E6", "B5")
def test_a_new_controller_drops_announcements_before_it_reads(node: Scene) -> None:
    """It tells every broker everything anyway, and the answers say the rest."""
    node.memory.register(1, 2)
    node.memory.log_dir_events = {"a": B1}

    run = node.elect()

    assert node.memory.log_dir_events == {}
    kinds = [type(ask).__name__ for ask in run.asks]
    assert kinds.index(DeleteLogDirEvents.__name__) < kinds.index("ReadBrokers")


# --- the answers ------------------------------------------------------------------------------


@pytest.mark.behaviour("int-042", "int-051")
@pytest.mark.requirement("B5", "S1", "R4")
def test_a_leader_in_a_failed_directory_is_replaced_while_its_broker_lives(scene: Scene) -> None:
    """The broker goes on serving what is in its other directories, alone if need be."""
    scene.live(1, 2)
    failed = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    healthy = scene.partition("t", 1, (1,), leadership=leadership(1, (1,)))
    scene.memory.log_dir_events = {"a": B1}
    scene.handle(LogDirsFailed(0))

    run = answer(scene, 1, (failed, LOST), (healthy, FINE))

    assert scene.stored(failed) == leadership(2, (2,), leader_epoch=1, zk_version=1)
    assert replica(scene, failed, B1) is ReplicaState.OFFLINE
    assert replica(scene, healthy, B1) is ReplicaState.ONLINE
    assert healthy.leadership == leadership(1, (1,))
    assert (list(scene.state.electable), scene.memory.log_dir_events) == ([1, 2], {})
    led = "t-0 leader=2 isr=2 epoch=1 v1"
    shown = f"live=1,2; {led} replicas=1,2 offline=1"
    assert run.lines[:5] == [
        repr(RequestAnswered(B1, "LeaderAndIsr", FINE, 1)),
        repr(LogDirFailed("t", 0, B1)),
        "t-0 OnlinePartition -> OfflinePartition",
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v0",
        "t-0 OfflinePartition -> OnlinePartition leader=2 isr=2 epoch=1 v1",
    ]
    assert f"1 <- UpdateMetadata {shown}" in run.lines


@pytest.mark.requirement("B5", "R4")
def test_a_follower_in_a_failed_directory_leaves_the_isr(scene: Scene) -> None:
    """The leader is told, and the broker is told to stop what it can no longer serve."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))

    run = answer(scene, 2, (partition, LOST))

    assert scene.stored(partition) == leadership(1, (1,), leader_epoch=1, zk_version=1)
    assert partition.state is PartitionState.ONLINE
    assert "2 <- StopReplica t-0 epoch=0" in run.told


@pytest.mark.requirement("B5")
def test_a_replica_is_lost_once_however_often_it_is_refused(scene: Scene) -> None:
    """The second refusal is no news; otherwise each answer would make more requests."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    answer(scene, 1, (partition, LOST))

    run = answer(scene, 1, (partition, LOST))

    assert (run.asks, run.sends) == ([], [])


@pytest.mark.requirement("B5")
def test_a_second_failed_directory_leaves_the_first_one_failed(scene: Scene) -> None:
    """All of the broker's replicas are brought online to be told; the lost ones go off again."""
    scene.live(1, 2)
    first = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    second = scene.partition("t", 1, (1, 2), leadership=leadership(1, (1, 2)))
    answer(scene, 1, (first, LOST))
    scene.memory.log_dir_events = {"a": B1}
    scene.handle(LogDirsFailed(0))

    run = answer(scene, 1, (first, LOST), (second, LOST))

    assert [replica(scene, p, B1) for p in (first, second)] == [ReplicaState.OFFLINE] * 2
    assert [fact for fact in run.facts if isinstance(fact, LogDirFailed)] == [
        LogDirFailed("t", 1, B1)
    ]
    assert [scene.state.leader_of(p) for p in (first, second)] == [2, 2]


@pytest.mark.requirement("B5")
def test_the_last_in_sync_replica_is_lost_without_leaving_the_isr(scene: Scene) -> None:
    """And it leads again as soon as its broker says that it serves it."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1,)))

    answer(scene, 1, (partition, LOST))

    assert scene.stored(partition) == leadership(-1, (1,), leader_epoch=1, zk_version=1)
    assert (partition.state, scene.state.offline_partition_count) == (PartitionState.OFFLINE, 1)

    run = answer(scene, 1, (partition, FINE))

    assert scene.stored(partition) == leadership(1, (1,), leader_epoch=2, zk_version=2)
    assert (replica(scene, partition, B1), scene.state.offline_dirs) == (ReplicaState.ONLINE, {})
    assert LogDirFailed("t", 0, B1, loaded=True) in run.facts


@pytest.mark.requirement("B5", "B3")
def test_a_restart_of_the_broker_makes_its_replicas_usable_again(scene: Scene) -> None:
    """A new life starts with whatever directories it has; a late answer of the old one is none."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1,)))
    answer(scene, 1, (partition, LOST))
    scene.memory.register(1, life=2)

    scene.handle(BrokersChanged(0))
    late = answer(scene, 1, (partition, LOST), life=1)

    assert scene.state.leader_of(partition) == 1
    assert scene.state.offline_dirs == {}
    assert (late.asks, late.sends) == ([], [])


@pytest.mark.requirement("B5", "C5")
@pytest.mark.parametrize("case", ["refused as a whole", "from another reign"])
def test_an_answer_that_does_not_count_changes_nothing(scene: Scene, case: str) -> None:
    """Its codes are about another request, or about nothing."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))

    if case == "refused as a whole":
        run = answer(scene, 1, (partition, LOST), error=ErrorCode.STALE_BROKER_EPOCH)
    else:
        run = answer(scene, 1, (partition, LOST), controller_epoch=9)

    assert (run.asks, run.sends, scene.state.offline_dirs) == ([], [], {})


def test_other_codes_and_strange_partitions_say_nothing_about_directories(scene: Scene) -> None:
    """A leadership told twice is refused as stale, and that is normal."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    elsewhere = scene.partition("u", 0, (2,), leadership=leadership(2, (2,)))
    stale = ErrorCode.STALE_CONTROLLER_EPOCH

    run = answer(scene, 1, (partition, stale), (elsewhere, LOST))

    assert (run.asks, run.sends, scene.state.offline_dirs) == ([], [], {})


@pytest.mark.requirement("B5", "T3")
def test_what_is_being_deleted_is_not_elected_when_its_directory_fails(scene: Scene) -> None:
    """Its deletion has failed there, and that is all."""
    scene.live(1, 2)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    scene.state.queue_deletions(["t"])

    run = answer(scene, 1, (partition, LOST))

    assert not [send for send in run.sends if isinstance(send.request, LeaderAndIsr)]
    assert partition.leadership == leadership(1, (1, 2))
