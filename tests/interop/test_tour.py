"""A day in the life of other releases: whatever a controller does, once, under load.

2.8.2 and 3.9.1 have the whole suite. Between 2.4 and 3.9 brokers have spoken five sets of versions
of the control requests, and these three speak the others.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_mode import ApacheMode
from tests.interop.kafka_jars import JarsMissing
from tests.interop.led_cluster import LedCluster, Load
from tests.interop.operator_tools import Operator
from tests.runtime.listener.clients import CLIENT_WARNINGS

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]

RELEASES: Final = (ApacheMode("2.4.1"), ApacheMode("2.7.2"), ApacheMode("3.3.2"))
LOADED: Final = "loaded"


@pytest.fixture(params=RELEASES, ids=str)
def toured(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> Iterator[LedCluster]:
    """Regent is there first, the brokers come after it."""
    mode: ApacheMode = request.param
    record_property("mode", str(mode))
    try:
        cluster = ApacheCluster(tmp_path, 3, mode.version, mode.ibp)
    except JarsMissing as missing:
        pytest.skip(str(missing))
    with cluster, LedCluster(cluster) as led:
        yield led
        # pytest shows it where a test has failed.
        print(led.regent.log[-20_000:])  # noqa: T201


def test_a_release_obeys_regent_from_morning_to_night(
    toured: LedCluster, record_property: Callable[[str, object], None]
) -> None:
    """Topics, a crash, an orderly stop, a move, an election and two hand-overs; nothing is lost."""
    operator = Operator(toured.apache)
    operator.create("grown", 2)
    operator.grow("grown", 4)
    operator.create("moved", 1, replicas=2)

    with toured.load(LOADED) as load:
        load.wait_for_progress()
        kill_a_leader(toured, load)
        stop_a_leader(toured, load)
        move(toured, operator)
        elect_preferred_leaders(toured, operator)
        hand_over_and_back(toured, load)
        operator.delete("grown")
        load.wait_for_progress()

    record_property("hand_overs", 2)
    assert load.findings(record_property) == []


def kill_a_leader(led: LedCluster, load: Load) -> None:
    killed = led.apache.leader(LOADED)
    led.apache.kill(killed)
    assert led.apache.leader(LOADED) != killed
    load.wait_for_progress()
    led.apache.start(killed)
    led.apache.wait_until_led(LOADED, 3)


def stop_a_leader(led: LedCluster, load: Load) -> None:
    """It hands over first if its release finds a controller that is no broker."""
    stopped = led.apache.leader(LOADED)
    led.apache.stop(stopped)
    assert led.apache.broker(stopped).was_released == led.apache.mode.finds_any_controller
    load.wait_for_progress()
    led.apache.start(stopped)
    led.apache.wait_until_led(LOADED, 3)


def move(led: LedCluster, operator: Operator) -> None:
    first, second = led.apache.partition("moved").assignment.replicas
    (third,) = set(led.apache.broker_ids) - {first, second}
    operator.move("moved", (third, second))


def elect_preferred_leaders(led: LedCluster, operator: Operator) -> None:
    """Those that were killed and stopped lead nothing until somebody asks for it."""

    def is_preferred() -> list[bool]:
        return [
            each.leadership is not None and each.leadership.leader == each.assignment.replicas[0]
            for each in led.apache.partitions(LOADED)
        ]

    assert not all(is_preferred())
    operator.elect_preferred()
    led.apache.wait_for(lambda: all(is_preferred()), "preferred leaders")


def hand_over_and_back(led: LedCluster, load: Load) -> None:
    """A Java broker has the role when Regent has died; Regent takes it by force."""
    before = led.apache.holder().controller_epoch
    led.regent.kill()
    between = led.apache.holder(after=before)
    assert between.node_id in led.apache.broker_ids
    led.apache.wait_until_followed(between.node_id)
    led.create_topic("by-apache")
    load.wait_for_progress()

    assert led.regent.take_office("--take-over") == between.controller_epoch + 1
    led.create_topic("by-regent")
    load.wait_for_progress()
