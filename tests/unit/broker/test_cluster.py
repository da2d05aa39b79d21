"""Brokers wired together: records are copied, leaders lost, tails cut, and acks kept."""

import pytest

from regent.broker.broker_config import BrokerConfig, IsrMode
from regent.broker.broker_effects import AnswerAppend
from regent.broker.hosted_partition import ReplicaRole
from regent.model.error_codes import ErrorCode
from tests.unit.broker.wiring import ALL, B1, B2, B3, T0, Wiring


def test_a_record_is_acknowledged_once_all_in_sync_replicas_have_it() -> None:
    """The promise of acks=all, and the followers learn the high watermark at once."""
    wiring = Wiring(*ALL)
    wiring.elect(T0, B1, ALL)

    wiring.append(B1, T0, "a", 1)

    assert wiring.answers == {1: AnswerAppend(1, ErrorCode.NONE, 0)}
    assert [wiring.values(broker_id, T0) for broker_id in ALL] == [["a"]] * 3
    marks = [wiring.brokers[broker_id].hosted[T0].high_watermark for broker_id in ALL]
    assert marks == [1, 1, 1]


@pytest.mark.parametrize("isr_mode", list(IsrMode))
def test_a_dead_follower_leaves_the_isr_and_comes_back(isr_mode: IsrMode) -> None:
    """Appends wait for it only as long as the lag time, and then no longer."""
    wiring = Wiring(*ALL, config=BrokerConfig(isr_mode=isr_mode))
    wiring.elect(T0, B1, ALL)
    wiring.run_for(20_000)
    wiring.crash(B3)

    wiring.append(B1, T0, "a", 1)
    wiring.run_for(9_000)
    assert wiring.answers == {}
    wiring.run_for(7_000)

    assert wiring.answers == {1: AnswerAppend(1, ErrorCode.NONE, 0)}
    assert wiring.states[T0].isr == (B1, B2)
    wiring.start(B3)
    wiring.tell_who_lives()
    wiring.elect(T0, B1, (B1, B2))
    wiring.run_for(1_000)
    assert wiring.states[T0].isr == (B1, B2, B3)
    assert wiring.brokers[B1].hosted[T0].isr == (B1, B2, B3)
    assert wiring.values(B3, T0) == ["a"]
    wiring.run_for(5_000)
    assert wiring.announced == ([T0, T0] if isr_mode is IsrMode.DIRECT else [])


def test_idle_followers_stay_in_sync_and_a_late_record_finds_them_so() -> None:
    """Idle fetches touch no partition; the leader must not take quiet for lag."""
    wiring = Wiring(*ALL)
    wiring.elect(T0, B1, ALL)
    wiring.append(B1, T0, "a", 1)
    version = wiring.states[T0].zk_version

    wiring.run_for(60_000)
    wiring.append(B1, T0, "b", 2)
    wiring.run_for(6_000)

    assert wiring.states[T0].zk_version == version
    assert wiring.answers[2].error is ErrorCode.NONE


def test_an_acknowledged_record_survives_its_leader_and_a_divergent_tail_does_not() -> None:
    """The old leader comes back with a record nobody else has, and must give it up."""
    wiring = Wiring(*ALL)
    wiring.elect(T0, B1, ALL)
    wiring.append(B1, T0, "acked", 1)
    wiring.brokers[B1].append(T0, "lost", 2)
    wiring.crash(B1)

    wiring.tell_who_lives()
    wiring.elect(T0, B2, (B2, B3))
    wiring.append(B2, T0, "after", 3)
    assert wiring.values(B1, T0) == ["acked", "lost"]
    wiring.start(B1)
    wiring.tell_who_lives()
    wiring.elect(T0, B2, (B2, B3))
    wiring.run_for(1_000)

    assert [wiring.values(broker_id, T0) for broker_id in ALL] == [["acked", "after"]] * 3
    assert sorted(wiring.answers) == [1, 3]
    assert sorted(wiring.states[T0].isr) == [B1, B2, B3]


def test_a_leader_that_was_replaced_behind_its_back_acknowledges_nothing() -> None:
    """It still believes it leads, but nobody fetches from it under its epoch any more."""
    wiring = Wiring(*ALL)
    wiring.elect(T0, B1, ALL)
    old = wiring.brokers.pop(B1)
    wiring.elect(T0, B2, ALL)
    wiring.brokers[B1] = old

    wiring.append(B1, T0, "a", 1)
    wiring.run_for(30_000)

    assert wiring.answers == {}
    assert old.hosted[T0].role is ReplicaRole.LEADER
    assert old.hosted[T0].isr == ALL
    assert old.hosted[T0].high_watermark == 0


def test_epochs_are_compared_until_they_agree() -> None:
    """Two unclean elections leave tails of several epochs; one question is not enough."""
    wiring = Wiring(B1, B2)
    wiring.elect(T0, B1, (B1, B2))
    wiring.append(B1, T0, "common", 1)
    wiring.crash(B2)
    wiring.elect(T0, B1, (B1,))
    wiring.append(B1, T0, "one-a", 2)
    wiring.elect(T0, B1, (B1,))
    wiring.append(B1, T0, "one-b", 3)
    wiring.crash(B1)
    wiring.start(B2)
    wiring.tell_who_lives()
    wiring.elect(T0, B2, (B2,))
    wiring.append(B2, T0, "two", 4)

    wiring.start(B1)
    wiring.tell_who_lives()
    wiring.elect(T0, B2, (B2,))
    wiring.run_for(1_000)

    assert wiring.values(B1, T0) == wiring.values(B2, T0) == ["common", "two"]


def test_a_lost_checkpoint_is_safe() -> None:
    """A leader that starts from high watermark 0 learns the true one from its followers."""
    wiring = Wiring(*ALL)
    wiring.elect(T0, B1, ALL)
    wiring.append(B1, T0, "a", 1)
    wiring.crash(B1)
    wiring.start(B1)
    wiring.tell_who_lives()

    wiring.elect(T0, B1, ALL)
    assert wiring.brokers[B1].hosted[T0].high_watermark == 0
    wiring.run_for(200)

    assert wiring.disks[B1].high_watermark(T0) == 0
    assert wiring.brokers[B1].hosted[T0].high_watermark == 1
    wiring.run_for(10_000)
    assert wiring.disks[B1].high_watermark(T0) == 1


def test_a_follower_with_a_lost_disk_fetches_everything_again() -> None:
    """An empty log has no epoch to ask about and starts at its high watermark, 0."""
    wiring = Wiring(*ALL, config=BrokerConfig(fetch_limit=2))
    wiring.elect(T0, B1, ALL)
    for request_id in range(5):
        wiring.append(B1, T0, request_id, request_id)
    wiring.crash(B3)
    wiring.disks[B3].wipe()
    wiring.start(B3)
    wiring.tell_who_lives()

    wiring.elect(T0, B1, (B1, B2))
    wiring.run_for(1_000)

    assert wiring.values(B3, T0) == [0, 1, 2, 3, 4]
