"""From what is set on topics and brokers to what a broker keeps to."""

import asyncio
from pathlib import Path

import pytest

from regent.broker.replication_quota import NO_LIMIT, ThrottledReplicas
from regent.core.asks import Malformed
from regent.node.throttle_rates import FOLLOWER_RATE, LEADER_RATE, ThrottleRates
from regent.node.topic_settings import (
    THROTTLED_FOLLOWERS,
    THROTTLED_LEADERS,
    TopicSettings,
)
from regent.storage.log_config import LogConfig
from tests.node.one_broker import OneBroker, with_broker
from tests.unit.broker.wiring import B1, T0, broker, stop_replica

OWN, ALL_BROKERS = "brokers/1", "brokers/<default>"


def test_topics_say_which_replicas_are_throttled() -> None:
    topics = TopicSettings(LogConfig())
    topics.learn("t", {THROTTLED_LEADERS: "0:1", THROTTLED_FOLLOWERS: "*"})
    assert topics.throttled_leaders == {"t": ThrottledReplicas(listed=frozenset({(0, 1)}))}
    assert topics.throttled_followers == {"t": ThrottledReplicas(is_every=True)}

    topics.learn("t", {THROTTLED_LEADERS: "", THROTTLED_FOLLOWERS: "nonsense"})
    assert (topics.throttled_leaders, topics.throttled_followers) == ({}, {})


@pytest.mark.parametrize(
    ("own", "shared", "left"),
    [
        ({LEADER_RATE: "5"}, {LEADER_RATE: "7"}, 5),
        ({}, {LEADER_RATE: "7"}, 7),
        ({LEADER_RATE: "0"}, None, 0),
        ({LEADER_RATE: "many"}, {}, NO_LIMIT),
        (Malformed("/config/brokers/1", "no JSON"), {LEADER_RATE: "7"}, 7),
        ({}, {}, NO_LIMIT),
    ],
)
def test_a_broker_goes_by_its_own_rate_before_that_of_all(
    own: dict[str, str] | Malformed, shared: dict[str, str] | None, left: int
) -> None:
    """Without either, and with what makes no sense, nothing is limited."""
    core = broker()
    ThrottleRates(B1, core).learn({OWN: own, ALL_BROKERS: shared})

    assert core.leader_quota.left(10_000) == left
    assert core.follower_quota.left(10_000) == NO_LIMIT


def test_each_side_has_a_rate_of_its_own() -> None:
    core = broker()
    rates = ThrottleRates(B1, core)
    rates.learn({OWN: {LEADER_RATE: "5", FOLLOWER_RATE: "6"}, ALL_BROKERS: {}})
    assert (core.leader_quota.left(10_000), core.follower_quota.left(10_000)) == (5, 6)

    rates.learn({OWN: {}, ALL_BROKERS: {}})
    assert core.leader_quota.left(20_000) == core.follower_quota.left(20_000) == NO_LIMIT


def test_a_topic_that_is_gone_is_read_anew_when_it_comes_again(tmp_path: Path) -> None:
    """It may be another one of the same name, with other settings."""

    async def script(one: OneBroker) -> tuple[bool, bool]:
        one.host.topics.learn(T0.topic, {"min.insync.replicas": "2"})
        one.lead(T0)
        was_known = one.host.topics.knows(T0.topic)
        one.host.control(stop_replica(T0, 2))
        await asyncio.sleep(0)
        return was_known, one.host.topics.knows(T0.topic)

    assert with_broker(tmp_path, script) == (True, False)
