"""What a broker does with LeaderAndIsr, UpdateMetadata and StopReplica, and what it refuses."""

import pytest
from msgspec.structs import replace

from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import AnswerAppend, SendFetch
from regent.broker.hosted_partition import ReplicaRole
from regent.broker.log import MemoryLogDirectory
from regent.model.control_requests import ControlAnswer, PartitionMetadata, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    LEADER_DURING_DELETE,
    LEADER_EPOCH_DURING_DELETE,
    LEADER_EPOCH_UNKNOWN,
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ZkVersion,
)
from tests.unit.broker.wiring import (
    B1,
    B2,
    B3,
    NOW_MS,
    T0,
    T1,
    broker,
    leader_and_isr,
    leadership,
    stop_replica,
    update_metadata,
)

OWN_EPOCH = 50


def obeys(core: BrokerCore, broker_epoch: int) -> list[ErrorCode]:
    """Send one of each kind, with a deletion last, and give the top-level codes."""
    lisr = leader_and_isr((T1, leadership(B1, 4)), broker_epoch=broker_epoch)
    metadata = update_metadata(B1, controller_id=B3, broker_epoch=broker_epoch)
    stop = stop_replica(T0, 4, broker_epoch=broker_epoch)
    return [
        core.leader_and_isr(lisr, NOW_MS).error,
        core.update_metadata(metadata).error,
        core.stop_replica(stop, NOW_MS).error,
    ]


def registered_leader(directory: MemoryLogDirectory) -> BrokerCore:
    """Broker 1 with a known epoch and one record in a partition that it leads."""
    core = broker(directory=directory)
    core.registered(BrokerEpoch(OWN_EPOCH))
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 3))), NOW_MS)
    core.append(T0, "a", 1)
    return core


@pytest.mark.fault("F32")
@pytest.mark.behaviour("chn-020")
def test_requests_to_an_earlier_life_change_nothing() -> None:
    """Above all they delete nothing: the data may since have been given back to this broker."""
    directory = MemoryLogDirectory()
    core = registered_leader(directory)
    live = dict(core.metadata.live_brokers)

    assert obeys(core, OWN_EPOCH - 1) == [ErrorCode.STALE_BROKER_EPOCH] * 3

    assert directory.names() == (T0,)
    assert core.hosted[T0].log.end_offset == 1
    assert core.metadata.live_brokers == live
    assert core.leads() == (T0,)


@pytest.mark.behaviour("chn-021", "chn-022")
@pytest.mark.parametrize("broker_epoch", [OWN_EPOCH, OWN_EPOCH + 1, BROKER_EPOCH_UNKNOWN])
def test_requests_to_this_life_or_a_later_one_are_obeyed(broker_epoch: int) -> None:
    """The controller may hear of a registration before the broker itself does (KAFKA-9839)."""
    directory = MemoryLogDirectory()
    core = registered_leader(directory)

    assert obeys(core, broker_epoch) == [ErrorCode.NONE] * 3

    assert directory.names() == (T1,)
    assert core.leads() == (T1,)
    assert list(core.metadata.live_brokers) == [B1]


def test_a_stale_life_does_not_advance_the_controller_epoch() -> None:
    """A refused request must leave no trace, or it would fence the real controller."""
    core = registered_leader(MemoryLogDirectory())
    request = leader_and_isr((T1, leadership()), controller_epoch=9, broker_epoch=OWN_EPOCH - 1)

    core.leader_and_isr(request, NOW_MS)

    assert core.controller_epoch == 1


@pytest.mark.fault("F01")
@pytest.mark.parametrize("teacher", ["leader_and_isr", "update_metadata", "stop_replica"])
def test_an_older_controller_is_refused_whoever_brought_the_newer_epoch(teacher: str) -> None:
    """All three requests raise the fence, and all three are stopped by it."""
    core = broker()
    if teacher == "leader_and_isr":
        core.leader_and_isr(leader_and_isr(controller_epoch=5), NOW_MS)
    elif teacher == "update_metadata":
        core.update_metadata(update_metadata(B1, controller_epoch=5))
    else:
        core.stop_replica(stop_replica(T1, 0, controller_epoch=5), NOW_MS)

    lisr = core.leader_and_isr(
        leader_and_isr((T0, leadership()), (T1, leadership()), controller_epoch=4), NOW_MS
    )
    stop = core.stop_replica(stop_replica(T0, 1, controller_epoch=4), NOW_MS)
    metadata = core.update_metadata(update_metadata(controller_epoch=4))

    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    assert lisr == ControlAnswer(stale, ((T0, stale), (T1, stale)))
    assert stop == ControlAnswer(stale)
    assert metadata == ControlAnswer(stale)
    assert core.hosted == {}


def test_a_restarted_broker_obeys_whoever_speaks_first() -> None:
    """The highest epoch lives in memory only, as in Kafka."""
    directory = MemoryLogDirectory()
    before = broker(directory=directory)
    before.leader_and_isr(leader_and_isr(controller_epoch=5), NOW_MS)

    after = broker(directory=directory, live=())

    assert after.leader_and_isr(leader_and_isr(controller_epoch=2), NOW_MS) == ControlAnswer()


@pytest.mark.fault("F35")
@pytest.mark.parametrize(
    ("leader_epoch", "zk_version", "code", "epoch_after"),
    [
        (4, 9, ErrorCode.NONE, 4),
        (3, 9, ErrorCode.STALE_CONTROLLER_EPOCH, 3),
        (2, 9, ErrorCode.STALE_CONTROLLER_EPOCH, 3),
        # Newer leader epoch, older znode: passed over, and not called an error.
        (4, 6, ErrorCode.NONE, 3),
        (4, 7, ErrorCode.NONE, 4),
    ],
)
def test_leader_epochs_decide_first_and_partition_epochs_second(
    leader_epoch: int, zk_version: int, code: ErrorCode, epoch_after: int
) -> None:
    """A delayed request must not undo a newer one, whatever order the network chose."""
    core = broker()
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 3, zk_version=7))), NOW_MS)

    order = (T0, leadership(B1, leader_epoch, zk_version=zk_version))
    answer = core.leader_and_isr(leader_and_isr(order), NOW_MS)

    assert answer == ControlAnswer(partition_errors=((T0, code),))
    assert core.hosted[T0].leader_epoch == epoch_after


def test_a_broker_without_a_replica_refuses() -> None:
    """Its answer tells the controller that the two disagree on the assignment."""
    core = broker(B3)

    request = leader_and_isr((T0, leadership(B1, isr=(B1,))), replicas=(B1, B2))

    answer = core.leader_and_isr(request, NOW_MS)
    assert answer.partition_errors == ((T0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),)
    assert core.hosted == {}


@pytest.mark.fault("F35")
@pytest.mark.parametrize("leader", [B2, NO_LEADER])
def test_a_follower_of_an_unknown_leader_waits_for_the_same_order(leader: BrokerId) -> None:
    """The epoch is not used up, so that LeaderAndIsr may safely overtake UpdateMetadata."""
    directory = MemoryLogDirectory()
    core = broker(B1, directory=directory, live=(B1,))
    order = leader_and_isr((T0, leadership(leader, 3)))

    first = core.leader_and_isr(order, NOW_MS)

    assert first.partition_errors == ((T0, ErrorCode.NONE),)
    assert directory.has(T0)
    assert (core.hosted[T0].role, core.hosted[T0].leader_epoch) == (ReplicaRole.NONE, -1)
    assert core.take_effects() == []
    core.update_metadata(update_metadata(B1, B2))
    second = core.leader_and_isr(leader_and_isr((T0, leadership(B2, 3))), NOW_MS)
    assert second.partition_errors == ((T0, ErrorCode.NONE),)
    assert core.hosted[T0].role is ReplicaRole.FOLLOWER
    assert isinstance(core.take_effects()[0], SendFetch)


def test_a_topic_id_that_differs_is_refused_and_one_that_was_missing_is_learnt() -> None:
    """A recreated topic has the old name; only the id tells them apart."""
    core = broker()
    core.leader_and_isr(leader_and_isr((T0, leadership(epoch=3))), NOW_MS)

    def answer(epoch: int, topic_id: str) -> ErrorCode:
        order = leader_and_isr((T0, leadership(epoch=epoch)), topic_ids=((T0.topic, topic_id),))
        return core.leader_and_isr(order, NOW_MS).partition_errors[0][1]

    assert answer(3, "id-a") is ErrorCode.NONE
    assert answer(3, "id-a") is ErrorCode.STALE_CONTROLLER_EPOCH
    assert answer(4, "id-b") is ErrorCode.INCONSISTENT_TOPIC_ID
    core.stop_replica(stop_replica(T0, LEADER_EPOCH_DURING_DELETE), NOW_MS)
    assert answer(0, "id-b") is ErrorCode.NONE


@pytest.mark.fault("F34")
@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [
        (4, ErrorCode.NONE),
        (3, ErrorCode.NONE),
        (LEADER_EPOCH_UNKNOWN, ErrorCode.NONE),
        (LEADER_EPOCH_DURING_DELETE, ErrorCode.NONE),
        (2, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_stop_replica_deletes_unless_its_leader_epoch_is_older(
    leader_epoch: int, code: ErrorCode
) -> None:
    """A StopReplica from before the replica was given back must not delete it."""
    directory = MemoryLogDirectory()
    core = broker(directory=directory)
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 3))), NOW_MS)

    answer = core.stop_replica(stop_replica(T0, leader_epoch), NOW_MS)

    assert answer == ControlAnswer(partition_errors=((T0, code),))
    assert directory.has(T0) is (code is not ErrorCode.NONE)
    assert (T0 in core.hosted) is (code is not ErrorCode.NONE)


@pytest.mark.parametrize(
    ("stopped_in", "told_again", "code"),
    [
        (3, 3, ErrorCode.STALE_CONTROLLER_EPOCH),
        (2, 3, ErrorCode.NONE),
        (3, 4, ErrorCode.NONE),
        (LEADER_EPOCH_DURING_DELETE, 0, ErrorCode.NONE),
    ],
)
def test_a_late_order_to_lead_does_not_bring_back_what_moved_away(
    stopped_in: int, told_again: int, code: ErrorCode
) -> None:
    """It would lead alone, and acknowledge records that nobody will ever see."""
    core = broker()
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 2))), NOW_MS)
    core.stop_replica(stop_replica(T0, stopped_in), NOW_MS)

    answer = core.leader_and_isr(leader_and_isr((T0, leadership(B1, told_again))), NOW_MS)

    assert answer == ControlAnswer(partition_errors=((T0, code),))
    assert (T0 in core.hosted) is (code is ErrorCode.NONE)


def test_stopping_an_unknown_partition_succeeds_and_removes_what_is_on_disk() -> None:
    """After a restart the log may be there although no order for it has come yet."""
    directory = MemoryLogDirectory()
    directory.open(T0)
    core = broker(directory=directory)

    answer = core.stop_replica(stop_replica(T0, 1), NOW_MS)

    assert answer == ControlAnswer(partition_errors=((T0, ErrorCode.NONE),))
    assert not directory.has(T0)


def test_stopping_without_deletion_keeps_the_log_and_fails_those_who_wait() -> None:
    """A producer must not wait for a leader that no longer is one."""
    directory = MemoryLogDirectory()
    core = registered_leader(directory)

    core.stop_replica(stop_replica(T0, 3, delete=False), NOW_MS)

    assert core.take_effects() == [AnswerAppend(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)]
    assert directory.open(T0).end_offset == 1
    assert core.leads() == ()


def test_a_new_leader_elsewhere_fails_the_appends_of_the_old_one() -> None:
    """Whether they survive is the new leader's affair; the old one can promise nothing."""
    core = registered_leader(MemoryLogDirectory())

    core.leader_and_isr(leader_and_isr((T0, leadership(B2, 4))), NOW_MS)

    failed = AnswerAppend(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)
    assert core.take_effects()[0] == failed


def test_who_leads_on_in_a_new_epoch_keeps_its_promises() -> None:
    """A follower has died. Were the append failed, its producer would write it a second time."""
    core = registered_leader(MemoryLogDirectory())

    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 4, isr=(B1,)))), NOW_MS)

    assert AnswerAppend(1, ErrorCode.NONE, 0) in core.take_effects()


def test_an_offline_disk_is_a_storage_error() -> None:
    """The controller takes this code as the sign that the replica is offline."""
    directory = MemoryLogDirectory()
    core = registered_leader(directory)
    core.take_effects()
    directory.failed = True

    lisr = core.leader_and_isr(leader_and_isr((T1, leadership())), NOW_MS)
    stop = core.stop_replica(stop_replica(T0, 9), NOW_MS)
    core.append(T0, "b", 2)

    assert lisr.partition_errors == ((T1, ErrorCode.KAFKA_STORAGE_ERROR),)
    assert stop.partition_errors == ((T0, ErrorCode.KAFKA_STORAGE_ERROR),)
    assert core.take_effects() == [AnswerAppend(2, ErrorCode.KAFKA_STORAGE_ERROR, -1)]


def metadata_of(leader: BrokerId) -> PartitionMetadata:
    return PartitionMetadata(
        "t", 0, ControllerEpoch(1), leader, LeaderEpoch(1), (B1,), ZkVersion(0), (B1, B2)
    )


def test_update_metadata_replaces_brokers_and_merges_partitions() -> None:
    """The broker list is always complete, the partition list never is."""
    core = broker(live=(B1, B2))

    def update(*partitions: PartitionMetadata) -> None:
        request = update_metadata(B1, B3)
        core.update_metadata(
            UpdateMetadata(
                request.controller_id,
                request.controller_epoch,
                request.broker_epoch,
                partitions,
                request.live_brokers,
            )
        )

    update(metadata_of(B2))
    update()
    assert core.metadata.partitions == {T0: metadata_of(B2)}
    assert list(core.metadata.live_brokers) == [B1, B3]
    update(metadata_of(LEADER_DURING_DELETE))
    assert core.metadata.partitions == {}


@pytest.mark.parametrize(
    ("live", "controller_id", "known"),
    [((B2, B3), B1, None), ((B1, B2), B1, B1), ((B1, B2), NO_LEADER, None)],
)
def test_a_controller_that_is_not_among_the_live_is_not_known(
    live: tuple[BrokerId, ...], controller_id: BrokerId, known: BrokerId | None
) -> None:
    """Without an endpoint there is nobody to send an AlterPartition to."""
    core = broker()

    core.update_metadata(update_metadata(*live, controller_id=controller_id))

    assert core.metadata.controller_id == known


def test_a_new_topic_may_come_where_one_of_its_name_was_moved_away_from() -> None:
    """The farewell to the old one is all that this broker hears of its deletion."""
    core = broker()
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 3))), NOW_MS)
    core.stop_replica(stop_replica(T0, 5), NOW_MS)
    late = leader_and_isr((T0, leadership(B1, 4)))
    (told,) = core.leader_and_isr(late, NOW_MS).partition_errors
    assert told == (T0, ErrorCode.STALE_CONTROLLER_EPOCH)

    farewell = PartitionMetadata(
        topic=T0.topic,
        partition=T0.partition,
        controller_epoch=ControllerEpoch(1),
        leader=LEADER_DURING_DELETE,
        leader_epoch=LeaderEpoch(5),
        isr=(),
        zk_version=ZkVersion(5),
        replicas=(B2, B3),
    )
    core.update_metadata(replace(update_metadata(B1, B2, B3), partitions=(farewell,)))
    (told,) = core.leader_and_isr(leader_and_isr((T0, leadership(B1, 0))), NOW_MS).partition_errors

    assert told == (T0, ErrorCode.NONE)


def test_the_log_of_another_topic_of_that_name_is_not_taken_for_its_own() -> None:
    """The broker was away when the old one was deleted."""
    disk = MemoryLogDirectory()

    def told_to_follow(topic_id: str, epoch: int) -> BrokerCore:
        core = broker(directory=disk)
        order = leader_and_isr((T0, leadership(B2, epoch)), topic_ids=((T0.topic, topic_id),))
        assert core.leader_and_isr(order, NOW_MS).partition_errors == ((T0, ErrorCode.NONE),)
        return core

    disk.open(T0).append(LeaderEpoch(0), ["made before there were ids"])
    told_to_follow("old", 3)
    assert disk.open(T0).end_offset == 1
    told_to_follow("old", 4)
    assert disk.open(T0).end_offset == 1

    told_to_follow("new", 0)

    assert disk.open(T0).end_offset == 0
    assert disk.topic_id(T0) == "new"
