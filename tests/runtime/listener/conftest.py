"""What tests of the listener share."""

from collections.abc import Iterator

import pytest

from tests.runtime.listener.served_node import ServedCluster, served_cluster


@pytest.fixture
def cluster() -> Iterator[ServedCluster]:
    """A ZooKeeper in memory and room for nodes and brokers."""
    with served_cluster() as served:
        yield served
