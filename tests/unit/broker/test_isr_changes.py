"""How a leader's wish for another ISR fares."""

import pytest

from regent.broker.broker_config import BrokerConfig, IsrMode
from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import AnnounceIsrChanges, SendAlterPartition, WriteIsr
from regent.broker.replication_requests import Fetch, FetchPosition
from regent.model.alter_partition import AlterPartitionAnswer, IsrProposal, IsrVerdict
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId, LeaderEpoch, TopicPartition, ZkVersion
from tests.unit.broker.wiring import (
    B1,
    B2,
    B3,
    NOW_MS,
    T0,
    T1,
    T2,
    broker,
    leader_and_isr,
    leadership,
    update_metadata,
)


def leader(
    *names: TopicPartition, isr: tuple[BrokerId, ...] = (B1,), config: BrokerConfig | None = None
) -> BrokerCore:
    """Broker 1, leading these partitions in leader epoch 1."""
    core = broker(config=config)
    core.registered(BrokerEpoch(50))
    core.leader_and_isr(leader_and_isr(*((name, leadership(isr=isr)) for name in names)), NOW_MS)
    return core


def fetch_from(
    core: BrokerCore, replica: BrokerId, *names: TopicPartition, offset: int = 0
) -> None:
    """A full fetch of these partitions, which are empty unless said otherwise."""
    positions = tuple(FetchPosition(name, LeaderEpoch(1), offset) for name in names)
    core.fetch(Fetch(replica, 1, 0, 0, positions), NOW_MS)


def sent(core: BrokerCore) -> list[SendAlterPartition]:
    return [effect for effect in core.take_effects() if isinstance(effect, SendAlterPartition)]


def proposal(name: TopicPartition, *isr: BrokerId) -> IsrProposal:
    return IsrProposal(name.topic, name.partition, LeaderEpoch(1), isr, ZkVersion(1))


def verdict(
    name: TopicPartition,
    *isr: BrokerId,
    error: ErrorCode = ErrorCode.NONE,
    leader_epoch: int = 1,
    zk_version: int = 2,
) -> IsrVerdict:
    return IsrVerdict(
        name.topic,
        name.partition,
        error,
        B1,
        LeaderEpoch(leader_epoch),
        isr,
        ZkVersion(zk_version),
    )


def test_a_caught_up_follower_is_proposed_and_joins_when_granted() -> None:
    """The committed ISR changes only with the controller's word."""
    core = leader(T0)

    fetch_from(core, B2, T0)
    (effect,) = sent(core)

    assert effect.controller_id == B1
    assert effect.request.proposals == (proposal(T0, B1, B2),)
    assert (effect.request.broker_id, effect.request.broker_epoch) == (B1, 50)
    assert core.hosted[T0].isr == (B1,)
    assert core.hosted[T0].maximal_isr == (B1, B2)
    answer = AlterPartitionAnswer(verdicts=(verdict(T0, B1, B2),))
    core.alter_partition_answered(effect.request_id, answer, NOW_MS)
    assert core.hosted[T0].isr == (B1, B2)
    assert core.hosted[T0].zk_version == 2
    assert core.hosted[T0].pending_isr is None


def test_a_topic_with_an_id_is_asked_about_by_id() -> None:
    """From version 2 on the request has no names, and the answer neither."""
    core = leader()
    core.leader_and_isr(leader_and_isr((T0, leadership(isr=(B1,))), topic_ids=(("t", "id"),)), 0)
    fetch_from(core, B2, T0)

    (effect,) = sent(core)

    assert (effect.request.version, effect.request.proposals[0].topic) == (3, "id")
    by_id = verdict(TopicPartition("id", 0), B1, B2)
    core.alter_partition_answered(
        effect.request_id, AlterPartitionAnswer(verdicts=(by_id,)), NOW_MS
    )
    assert core.hosted[T0].isr == (B1, B2)


@pytest.mark.parametrize("names", [(T0,), (T0, T1)])
def test_wishes_of_one_moment_travel_together(names: tuple[TopicPartition, ...]) -> None:
    """A controller that serves many brokers must not get a request per partition."""
    core = leader(*names)

    fetch_from(core, B2, *names)

    (effect,) = sent(core)
    assert effect.request.proposals == tuple(proposal(name, B1, B2) for name in names)


@pytest.mark.behaviour("chn-028")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        AlterPartitionAnswer(ErrorCode.STALE_BROKER_EPOCH),
        AlterPartitionAnswer(ErrorCode.UNKNOWN_SERVER_ERROR),
        AlterPartitionAnswer(ErrorCode.NOT_CONTROLLER),
    ],
)
def test_an_error_for_the_whole_request_is_tried_again_after_a_pause(
    answer: AlterPartitionAnswer | None,
) -> None:
    """Nothing is known of any partition, so each change stays pending."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (first,) = sent(core)

    core.alter_partition_answered(first.request_id, answer, NOW_MS)

    assert core.hosted[T0].pending_isr == (B1, B2)
    assert core.take_effects() == []
    assert core.next_tick_ms() == NOW_MS + 50
    core.update_metadata(update_metadata(B1, B2, controller_id=B2))
    core.tick(NOW_MS + 49)
    assert sent(core) == []
    core.tick(NOW_MS + 50)
    (second,) = sent(core)
    assert second.controller_id == B2
    assert second.request == first.request


@pytest.mark.behaviour("chn-029")
@pytest.mark.parametrize("code", [3, 100, 74, 95, 42])
def test_a_final_error_leaves_the_change_pending_until_the_next_leader_and_isr(code: int) -> None:
    """Asking again could not help: the controller knows something newer, and will tell it."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (effect,) = sent(core)

    refused = verdict(T0, error=ErrorCode(code))
    core.alter_partition_answered(
        effect.request_id, AlterPartitionAnswer(verdicts=(refused,)), NOW_MS
    )
    core.tick(NOW_MS + 5_000)

    assert sent(core) == []
    assert core.hosted[T0].pending_isr == (B1, B2)
    core.leader_and_isr(leader_and_isr((T0, leadership(epoch=2, isr=(B1, B3)))), NOW_MS)
    assert core.hosted[T0].pending_isr is None
    assert core.hosted[T0].maximal_isr == (B1, B3)


@pytest.mark.parametrize("code", [55, 107])
def test_an_ineligible_member_sends_the_leader_back_and_is_tried_again_later(code: int) -> None:
    """The change certainly did not happen, and the newcomer may become eligible."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (effect,) = sent(core)

    refused = verdict(T0, error=ErrorCode(code))
    core.alter_partition_answered(
        effect.request_id, AlterPartitionAnswer(verdicts=(refused,)), NOW_MS
    )

    assert core.hosted[T0].maximal_isr == (B1,)
    assert sent(core) == []
    core.tick(NOW_MS + 500)
    assert [each.request.proposals for each in sent(core)] == [(proposal(T0, B1, B2),)]


@pytest.mark.behaviour("chn-030")
def test_a_partition_missing_in_the_answer_goes_out_again_with_the_others() -> None:
    """Wishes made meanwhile wait for the one request under way, and then go together."""
    core = leader(T0, T1, T2)
    fetch_from(core, B2, T0)
    (first,) = sent(core)
    fetch_from(core, B2, T1, T2)
    assert sent(core) == []

    core.alter_partition_answered(first.request_id, AlterPartitionAnswer(), NOW_MS)

    (second,) = sent(core)
    asked = [each.partition for each in second.request.proposals]
    assert sorted(asked) == [0, 1, 2]
    unknown = verdict(T0, error=ErrorCode.UNKNOWN_SERVER_ERROR)
    granted = (verdict(T1, B1, B2), verdict(T2, B1, B2))
    answer = AlterPartitionAnswer(verdicts=(unknown, *granted))
    core.alter_partition_answered(second.request_id, answer, NOW_MS)
    (third,) = sent(core)
    assert third.request.proposals == (proposal(T0, B1, B2),)
    assert core.hosted[T1].isr == core.hosted[T2].isr == (B1, B2)


def test_not_controller_for_one_partition_is_asked_again_elsewhere() -> None:
    """The controller was behind; a newer one will have told who it is by then."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (first,) = sent(core)
    answer = AlterPartitionAnswer(verdicts=(verdict(T0, error=ErrorCode.NOT_CONTROLLER),))

    core.alter_partition_answered(first.request_id, answer, NOW_MS)
    core.update_metadata(update_metadata(B1, B2, B3, controller_id=B3))
    assert sent(core) == []
    core.tick(NOW_MS + 50)

    (second,) = sent(core)
    assert (second.controller_id, second.request) == (B3, first.request)


@pytest.mark.parametrize(("leader_epoch", "zk_version"), [(2, 5), (1, 0)])
def test_success_that_speaks_of_another_state_commits_nothing(
    leader_epoch: int, zk_version: int
) -> None:
    """The leader keeps counting with both outcomes until a LeaderAndIsr settles it."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (effect,) = sent(core)
    granted = verdict(T0, B1, B2, leader_epoch=leader_epoch, zk_version=zk_version)

    core.alter_partition_answered(
        effect.request_id, AlterPartitionAnswer(verdicts=(granted,)), NOW_MS
    )

    assert core.hosted[T0].isr == (B1,)
    assert core.hosted[T0].maximal_isr == (B1, B2)


def test_an_answer_from_before_a_new_leadership_is_ignored() -> None:
    """It speaks of a wish that is over, and must not take back the one that is pending now."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (effect,) = sent(core)
    core.leader_and_isr(leader_and_isr((T0, leadership(epoch=2, isr=(B1, B3)))), NOW_MS)
    core.fetch(Fetch(B2, 1, 0, 0, (FetchPosition(T0, LeaderEpoch(2), 0),)), NOW_MS)
    assert core.hosted[T0].pending_isr == (B1, B3, B2)

    refused = verdict(T0, error=ErrorCode.INELIGIBLE_REPLICA)
    answer = AlterPartitionAnswer(verdicts=(refused,))
    core.alter_partition_answered(effect.request_id, answer, NOW_MS)

    assert core.hosted[T0].isr == (B1, B3)
    assert core.hosted[T0].pending_isr == (B1, B3, B2)
    assert [each.request.proposals[0].isr for each in sent(core)] == [(B1, B3, B2)]


def test_without_a_controller_wishes_wait_for_update_metadata() -> None:
    """Brokers learn of a controller only from its own first message."""
    core = leader(T0)
    core.update_metadata(update_metadata(B1, B2, controller_id=B3))
    fetch_from(core, B2, T0)
    assert sent(core) == []

    core.update_metadata(update_metadata(B1, B2, B3, controller_id=B3))

    assert [each.controller_id for each in sent(core)] == [B3]


def test_the_next_follower_is_proposed_when_the_first_has_joined() -> None:
    """One change at a time, and no idle fetch will remind the leader of the second."""
    core = leader(T0)
    fetch_from(core, B2, T0)
    (first,) = sent(core)
    fetch_from(core, B3, T0)

    answer = AlterPartitionAnswer(verdicts=(verdict(T0, B1, B2),))
    core.alter_partition_answered(first.request_id, answer, NOW_MS)

    (second,) = sent(core)
    assert [each.isr for each in second.request.proposals] == [(B1, B2, B3)]


def test_a_follower_that_counts_as_dead_is_not_proposed_until_it_lives() -> None:
    """The controller would refuse it anyway; the lag check finds it once it is known alive."""
    core = leader(T0)
    core.update_metadata(update_metadata(B1))
    fetch_from(core, B2, T0)
    assert sent(core) == []

    core.update_metadata(update_metadata(B1, B2))
    core.tick(NOW_MS + 5_000)

    assert [each.request.proposals for each in sent(core)] == [(proposal(T0, B1, B2),)]


def test_a_follower_that_has_gone_quiet_is_not_proposed() -> None:
    """It was caught up once, but nobody knows whether it still is there."""
    core = leader(T0)
    core.update_metadata(update_metadata(B1))
    fetch_from(core, B2, T0)

    core.update_metadata(update_metadata(B1, B2))
    core.tick(NOW_MS + 10_001)

    assert sent(core) == []


def test_a_follower_that_drops_a_partition_was_in_sync_until_then() -> None:
    """Its lag counts from its last fetch, not from when its position last moved."""
    core = leader(T0, isr=(B1, B2))
    fetch_from(core, B2, T0)
    core.fetch(Fetch(B2, 2, 1, 1, forgotten=(T0,)), 50_000)
    core.append(T0, "a", 1)

    core.tick(60_000)
    assert sent(core) == []
    core.tick(65_000)

    (effect,) = sent(core)
    assert effect.request.proposals == (proposal(T0, B1),)


DIRECT = BrokerConfig(isr_mode=IsrMode.DIRECT)


def test_a_direct_write_carries_the_expected_version_and_the_given_controller_epoch() -> None:
    """The leader changes nothing but the ISR, and only if nobody wrote since."""
    core = leader(T0, config=DIRECT)

    fetch_from(core, B2, T0)

    wished = leadership(B1, 1, (B1, B2), zk_version=1)
    assert core.take_effects() == [WriteIsr("t", 0, wished)]
    core.isr_written(T0, wished, ZkVersion(2), NOW_MS)
    assert (core.hosted[T0].isr, core.hosted[T0].zk_version) == ((B1, B2), 2)


def test_a_lost_direct_write_keeps_the_old_isr_until_leader_and_isr() -> None:
    """The znode holds something that this broker has not been told yet."""
    core = leader(T0, config=DIRECT)
    fetch_from(core, B2, T0)
    core.take_effects()

    core.isr_written(T0, leadership(B1, 1, (B1, B2), zk_version=1), None, NOW_MS)
    core.tick(NOW_MS + 5_000)

    assert core.hosted[T0].isr == (B1,)
    assert core.take_effects() == []
    core.leader_and_isr(leader_and_isr((T0, leadership(epoch=2, isr=(B1, B3)))), NOW_MS)
    assert core.hosted[T0].maximal_isr == (B1, B3)


def test_direct_writes_are_announced_together_and_not_too_often() -> None:
    """Each announcement is a znode that the controller has to read and delete."""
    core = leader(T0, T1, T2, config=DIRECT)
    fetch_from(core, B2, T0, T1, T2)
    core.take_effects()
    wished = leadership(B1, 1, (B1, B2), zk_version=1)

    def announced_at(now_ms: int) -> list[AnnounceIsrChanges]:
        core.tick(now_ms)
        return [each for each in core.take_effects() if isinstance(each, AnnounceIsrChanges)]

    core.isr_written(T0, wished, ZkVersion(2), NOW_MS)
    core.isr_written(T1, wished, ZkVersion(2), NOW_MS)
    assert announced_at(NOW_MS) == [AnnounceIsrChanges((T0, T1))]
    core.isr_written(T2, wished, ZkVersion(2), NOW_MS)
    assert announced_at(NOW_MS + 2_499) == []
    assert announced_at(NOW_MS + 2_500) == [AnnounceIsrChanges((T2,))]
