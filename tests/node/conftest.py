"""Three nodes on a chroot of their own in a real ZooKeeper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.nodes import Nodes
from tests.support.real_zookeeper import fresh_options


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    """None is started yet."""
    with Nodes(fresh_options(), tmp_path) as made:
        yield made


@pytest.fixture
def three(nodes: Nodes) -> Nodes:
    """Nodes 1, 2 and 3 are running."""
    nodes.start(1, 2, 3)
    nodes.controller()
    return nodes
