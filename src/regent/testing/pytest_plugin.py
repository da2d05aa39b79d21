"""For pytest: clusters as fixtures. The logs of the brokers are shown for a test that fails.

def test_it(kafka_cluster): ...

@pytest.mark.kafka_cluster(brokers=1)
def test_small(kafka_bootstrap): ...
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

if TYPE_CHECKING:
    from regent.testing.cluster import LocalCluster

ClusterFactory: TypeAlias = "Callable[..., LocalCluster]"

MARKER: Final = "kafka_cluster"
LOG_LINES_SHOWN: Final = 40


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"{MARKER}(brokers, racks, config): what the cluster of this test is like"
    )


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator["LocalCluster"]:
    """A cluster of three brokers, or as the marker `kafka_cluster` says; gone after the test."""
    marker = request.node.get_closest_marker(MARKER)
    with _running(*(marker.args if marker else ()), **(marker.kwargs if marker else {})) as cluster:
        yield cluster


@pytest.fixture
def kafka_bootstrap(kafka_cluster: "LocalCluster") -> str:
    """For `bootstrap.servers`: the same cluster, for tests that only use it."""
    return kafka_cluster.bootstrap


@pytest.fixture
def kafka_cluster_factory() -> Iterator[ClusterFactory]:
    """Starts any number of clusters, each with the arguments of `Cluster`; gone after the test."""
    with ExitStack() as clusters:
        yield lambda *arguments, **options: clusters.enter_context(_running(*arguments, **options))


@contextmanager
def _running(*arguments: Any, **options: Any) -> Iterator["LocalCluster"]:
    from regent.testing.cluster import LocalCluster  # noqa: PLC0415 - most runs need none

    with LocalCluster(*arguments, **options) as cluster:
        try:
            yield cluster
        finally:
            for broker_id in cluster.broker_ids:
                lines = cluster.logs(broker_id).splitlines()[-LOG_LINES_SHOWN:]
                sys.stdout.write("\n".join([f"--- broker {broker_id}", *lines, ""]))
