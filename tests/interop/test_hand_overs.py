"""The role goes from Regent to one of Apache's brokers and back, while a producer is at work."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.interop.led_cluster import LedCluster, Load
from tests.runtime.listener.clients import CLIENT_WARNINGS

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]

ROUNDS: Final = 10


def test_ten_hand_overs_each_way_lose_nothing(
    led: LedCluster, record_property: Callable[[str, object], None]
) -> None:
    """Regent gives the role up or is killed; a Java broker has it; Regent takes it by force."""
    with led.load("handed-over") as load:
        for number in range(ROUNDS):
            to_apache(led, number)
            check_that_it_rules(led, f"apache-{number}", load)
            to_regent(led)
            check_that_it_rules(led, f"regent-{number}", load)

    record_property("hand_overs", 2 * ROUNDS)
    assert load.findings(record_property) == []


def to_apache(led: LedCluster, number: int) -> None:
    """In order, or by a crash."""
    before = led.apache.holder().controller_epoch
    if number % 2:
        led.regent.kill()
    else:
        led.regent.stop()
    after = led.apache.holder(after=before)

    assert after.node_id in led.apache.broker_ids
    assert after.controller_epoch == before + 1
    led.apache.wait_until_followed(after.node_id)


def to_regent(led: LedCluster) -> None:
    """Java's controller resigns without standing again: nobody else was ever in office."""
    before = led.apache.holder().controller_epoch

    after = led.regent.take_office("--take-over")

    assert after == before + 1


def check_that_it_rules(led: LedCluster, topic: str, load: Load) -> None:
    """Whoever is in office is obeyed by all, and the producer gets on."""
    led.create_topic(topic)
    load.wait_for_progress()
