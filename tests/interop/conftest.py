"""Clusters of Apache's brokers that Regent leads, one of them at a time."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_mode import ApacheMode
from tests.interop.kafka_jars import JarsMissing
from tests.interop.led_cluster import LedCluster

#: Leaders that ask the controller for every ISR, and leaders that write it themselves; and an older
#: release, with racks, whose brokers place the replicas of internal topics by themselves.
MODES: Final = (
    ApacheMode("3.9.1", "3.9"),
    ApacheMode("3.9.1", "2.6-IV0"),
    ApacheMode("2.8.2", racks=("a", "b", "c")),
)


@pytest.fixture(scope="session", params=MODES, ids=str)
def led_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LedCluster]:
    """Regent is there first, the brokers come after it."""
    mode: ApacheMode = request.param
    try:
        cluster = ApacheCluster(
            tmp_path_factory.mktemp("apache"), 3, mode.version, mode.ibp, racks=mode.racks
        )
    except JarsMissing as missing:
        pytest.skip(str(missing))
    with cluster, LedCluster(cluster) as led:
        yield led


@pytest.fixture
def led(
    led_cluster: LedCluster, record_property: Callable[[str, object], None]
) -> Iterator[LedCluster]:
    """The same, whole again after whatever the test before has done to it."""
    record_property("mode", str(led_cluster.apache.mode))
    led_cluster.mend()
    yield led_cluster
    # pytest shows it where a test has failed.
    print(led_cluster.regent.log[-20_000:])  # noqa: T201
