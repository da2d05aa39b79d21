"""Replicas that are copied no faster than allowed, on a clock of the test's own."""

import pytest

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_effects import SendFetch
from regent.broker.replication_quota import (
    NO_LIMIT,
    ReplicationQuota,
    ThrottledReplicas,
    read_throttled,
)
from regent.model.ids import BrokerId, TopicPartition
from tests.unit.broker.wiring import B1, B2, T0, T1, Wiring

EVERY = {"t": ThrottledReplicas(is_every=True)}
RECORDS = 100
#: In records, as all limits are for logs in memory.
RATE = 10


def quota_of(wiring: Wiring, side: str) -> ReplicationQuota:
    """What the leader gives, or what the follower takes."""
    return (
        wiring.brokers[B1].leader_quota if side == "leader" else wiring.brokers[B2].follower_quota
    )


def throttle(wiring: Wiring, side: str, rate: int | None, *names: TopicPartition) -> None:
    broker_id = B1 if side == "leader" else B2
    listed = frozenset((name.partition, broker_id) for name in names)
    quota = quota_of(wiring, side)
    quota.replicas = {"t": ThrottledReplicas(listed=listed)}
    quota.set_rate(rate)


def filled(*names: TopicPartition) -> Wiring:
    """Broker 1 leads alone and has everything; broker 2 has not heard of it yet."""
    wiring = Wiring(B1, B2, config=BrokerConfig(fetch_limit=5, replica_lag_ms=60_000))
    for name in names:
        wiring.elect(name, B1, (B1,), told=(B1,))
        for number in range(RECORDS):
            wiring.append(B1, name, number, number)
    return wiring


def copied(wiring: Wiring, name: TopicPartition) -> int:
    return len(wiring.values(B2, name))


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_new_replica_is_copied_at_the_rate_and_then_joins(side: str) -> None:
    """Each side alone suffices. A second's worth may come at once."""
    wiring = filled(T0)
    throttle(wiring, side, RATE, T0)
    wiring.tell(T0, (B2,))

    wiring.run_for(3_000)
    assert 3 * RATE <= copied(wiring, T0) <= 4 * RATE + 5
    assert wiring.states[T0].isr == (B1,)

    wiring.run_for(10_000)
    assert copied(wiring, T0) == RECORDS
    assert wiring.states[T0].isr == (B1, B2)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_what_is_not_listed_is_not_slowed_down(side: str) -> None:
    """Although it comes from the same leader, in the same fetches."""
    wiring = filled(T0, T1)
    throttle(wiring, side, 0, T0)
    for name in (T0, T1):
        wiring.tell(name, (B2,))

    wiring.run_for(1_000)

    assert (copied(wiring, T0), copied(wiring, T1)) == (0, RECORDS)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_in_sync_is_not_slowed_down(side: str) -> None:
    """Producers would wait for it; and what it gets is not taken from those who copy."""
    wiring = Wiring(B1, B2)
    wiring.elect(T0, B1, (B1, B2))
    wiring.append(B1, T0, "first", 0)
    throttle(wiring, side, 1, T0)

    for number in range(1, RECORDS):
        wiring.append(B1, T0, number, number)

    assert copied(wiring, T0) == RECORDS
    assert len(wiring.answers) == RECORDS
    assert quota_of(wiring, side).left(wiring.now_ms) == 1


@pytest.mark.parametrize("side", ["leader", "follower"])
@pytest.mark.parametrize("is_listed", [True, False], ids=["raised", "removed"])
def test_a_throttle_can_change_while_it_holds(side: str, *, is_listed: bool) -> None:
    """Whoever waits for it does so no longer."""
    wiring = filled(T0)
    throttle(wiring, side, 0, T0)
    wiring.tell(T0, (B2,))
    wiring.run_for(1_000)
    assert copied(wiring, T0) == 0

    throttle(wiring, side, 1_000 if is_listed else 0, *([T0] if is_listed else []))
    wiring.run_for(1_000)

    assert copied(wiring, T0) == RECORDS


def test_a_partition_that_is_held_can_be_given_up() -> None:
    """Who leads it must not ask for it when the throttle is gone."""
    wiring = filled(T0)
    throttle(wiring, "follower", 0, T0)
    wiring.tell(T0, (B2,))
    wiring.run_for(1_000)
    wiring.elect(T0, B2, (B2,), told=(B2,))

    throttle(wiring, "follower", None)
    core = wiring.brokers[B2]
    core.tick(wiring.now_ms + 1_000)

    assert not [each for each in core.take_effects() if isinstance(each, SendFetch)]


# --- arithmetic -------------------------------------------------------------------------------


def quota(rate: int | None) -> ReplicationQuota:
    made = ReplicationQuota(B1)
    made.replicas = EVERY
    made.set_rate(rate)
    return made


def test_what_was_used_too_much_is_waited_for() -> None:
    """A batch larger than the rate is let through, and paid for."""
    made = quota(100)
    made.use(350, now_ms=10_000)

    assert [made.left(10_000 + after) for after in (0, 1_000, 2_500, 3_000)] == [-250, -150, 0, 50]


def test_no_more_than_a_second_is_saved() -> None:
    made = quota(100)
    made.use(0, now_ms=10_000)

    assert made.left(60_000) == 100


def test_without_a_rate_nothing_is_limited_and_debts_are_forgotten() -> None:
    """A throttle that comes back later begins anew."""
    made = quota(100)
    made.use(10_000, now_ms=10_000)
    made.set_rate(None)

    assert not made.limits(T0)
    assert made.left(10_000) == NO_LIMIT
    made.use(10_000, now_ms=10_000)
    made.set_rate(100)
    assert made.limits(T0)
    assert made.left(11_000) == 100


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("*", ThrottledReplicas(is_every=True)),
        ("", ThrottledReplicas()),
        ("0:1,12:3", ThrottledReplicas(listed=frozenset({(0, 1), (12, 3)}))),
        (" 0:1 , 1:2 ", ThrottledReplicas(listed=frozenset({(0, 1), (1, 2)}))),
        ("0", None),
        ("0:1,x", None),
        ("0:-1", None),
    ],
)
def test_lists_are_read_as_kafka_writes_them(text: str, found: ThrottledReplicas | None) -> None:
    assert read_throttled(text) == found


def test_a_list_is_for_the_brokers_in_it() -> None:
    listed = ThrottledReplicas(listed=frozenset({(0, 1)}))

    assert listed.has(0, B1)
    assert not listed.has(0, B2)
    assert not listed.has(1, B1)
    assert ThrottledReplicas(is_every=True).has(7, BrokerId(9))
