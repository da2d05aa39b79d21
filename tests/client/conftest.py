"""A cluster of three scripted brokers for each test."""

from collections.abc import Iterator

import pytest

from tests.support.scripted_broker import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Broker 1 is the controller, until the test says otherwise."""
    scripted = ScriptedCluster(3)
    try:
        yield scripted
    finally:
        scripted.close()
