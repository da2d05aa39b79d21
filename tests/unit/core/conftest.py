"""The scenes of the core's tests. Whatever a test does, the state must be sound when it ends."""

from collections.abc import Iterator

import pytest

from regent.core.invariants import broken_invariants
from tests.support.builders import leadership
from tests.support.scene import Scene


@pytest.fixture
def node() -> Iterator[Scene]:
    """A node that has not stood for election yet, beside an empty shared memory."""
    scene = Scene()
    yield scene
    assert broken_invariants(scene.state) == []


@pytest.fixture
def scene(node: Scene) -> Scene:
    """The same, in office with controller epoch 1 and no brokers."""
    return node.in_office()


@pytest.fixture
def cluster(scene: Scene) -> Scene:
    """Brokers 1, 2 and 3, and t-0 on all of them."""
    scene.live(1, 2, 3)
    scene.partition(leadership=leadership(1, (1, 2, 3)))
    return scene
