"""Elections that operators ask for, by Apache's own tool."""

import pytest

from regent.model.ids import NO_LEADER
from tests.interop.apache_tools import Tool
from tests.interop.led_cluster import LedCluster
from tests.runtime.listener.clients import CLIENT_WARNINGS

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]


def elect(led: LedCluster, kind: str, topic: str) -> None:
    one = ("--topic", topic, "--partition", "0")
    led.tool(Tool.ELECTION, "--election-type", kind, *one)


def test_the_preferred_replica_leads_again_when_it_is_asked_for(led: LedCluster) -> None:
    led.create_topic("preferred")
    preferred = led.apache.partition("preferred").assignment.replicas[0]
    led.apache.kill(preferred)
    assert led.apache.leader("preferred") != preferred
    led.apache.start(preferred)
    led.apache.wait_until_led("preferred")
    assert led.apache.leader("preferred") != preferred

    elect(led, "preferred", "preferred")

    assert led.apache.leader("preferred") == preferred


def test_a_replica_that_is_not_in_sync_leads_only_when_it_is_asked_for(led: LedCluster) -> None:
    """The last one in sync is dead: nobody leads, until an operator would rather lose records."""
    led.create_topic("unclean")
    last, early, other = led.apache.partition("unclean").assignment.replicas
    led.apache.kill(early)
    led.apache.kill(other)
    led.apache.wait_for(lambda: isr(led) == [last], "the last one to be alone in sync")
    led.apache.kill(last)
    led.apache.start(early)
    led.apache.wait_for(lambda: leader(led) == NO_LEADER, "nobody to lead")
    assert isr(led) == [last]

    elect(led, "unclean", "unclean")

    led.apache.wait_for(lambda: leader(led) == early, f"{early} to lead")
    assert isr(led) == [early]


def isr(led: LedCluster) -> list[int]:
    leadership = led.apache.partition("unclean").leadership
    return [] if leadership is None else list(leadership.isr)


def leader(led: LedCluster) -> int | None:
    leadership = led.apache.partition("unclean").leadership
    return None if leadership is None else leadership.leader
