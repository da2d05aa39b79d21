"""Apache's brokers die, come back, come back too fast to be missed, and go in order."""

from collections.abc import Callable

import pytest

from regent.model.facts import BrokerDown
from tests.interop.led_cluster import LedCluster
from tests.runtime.listener.clients import CLIENT_WARNINGS

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]


def test_nothing_is_lost_when_a_leader_is_killed(
    led: LedCluster, record_property: Callable[[str, object], None]
) -> None:
    """Another in-sync replica leads at once; the dead one comes back and is in sync again."""
    with led.load("bereaved") as load:
        load.wait_for_progress()
        killed = led.apache.leader("bereaved")
        led.apache.kill(killed)
        assert led.apache.leader("bereaved") != killed
        load.wait_for_progress()

        led.apache.start(killed)
        led.apache.wait_until_led("bereaved", 3)
        load.wait_for_progress()

    assert load.findings(record_property) == []


def test_a_broker_that_bounces_unseen_is_told_everything_again(led: LedCluster) -> None:
    """Its id was there before and is there now: only its epoch tells that it forgot all."""
    led.create_topic("bounced", 3)
    bounced = led.apache.leader("bounced")
    led.regent.pause()
    try:
        led.apache.kill(bounced)
        led.apache.broker(bounced).launch()
        led.apache.wait_for(
            lambda: bounced in led.apache.known().brokers, f"broker {bounced} to register"
        )
    finally:
        led.regent.resume()

    led.apache.wait_until_known(bounced)
    led.apache.wait_until_led("bounced", 3)
    downs = [r.fact for r in led.regent.records() if isinstance(r.fact, BrokerDown)]
    assert (downs[-1].broker_id, downs[-1].bounced) == (bounced, True)


def test_a_broker_that_is_stopped_hands_its_leaderships_over_first(
    led: LedCluster, record_property: Callable[[str, object], None]
) -> None:
    """Its request is answered with nothing left to move; one that cannot ask loses nothing too."""
    with led.load("orderly") as load:
        load.wait_for_progress()
        stopped = led.apache.leader("orderly")
        led.apache.stop(stopped)
        assert led.apache.broker(stopped).was_released == led.apache.mode.finds_any_controller

        led.apache.wait_for(lambda: stopped not in leaders(led, "orderly"), "others to lead")
        load.wait_for_progress()
        led.apache.start(stopped)
        led.apache.wait_until_led("orderly", 3)

    assert load.findings(record_property) == []


def leaders(led: LedCluster, topic: str) -> set[int | None]:
    partitions = led.apache.partitions(topic)
    return {each.leadership.leader if each.leadership else None for each in partitions}
