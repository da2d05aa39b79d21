"""What cannot be read is set aside, and each fault of it is said once (X3)."""

import pytest

from regent.core.asks import Malformed, TopicRead
from regent.core.events import TopicChanged
from regent.core.isolation import isolate
from regent.model.assignment import Assignment
from regent.model.facts import ZnodeIsolated
from tests.support.builders import ids
from tests.support.scene import Scene

PATH = "/brokers/topics/t"


@pytest.mark.requirement("X3")
def test_each_fault_of_a_znode_is_reported_once(scene: Scene) -> None:
    """Two broken partitions of one topic must not take turns in being news."""
    both = [Malformed(PATH, "partition 0: no"), Malformed(PATH, "partition 1: no")]

    first = scene.run(isolate(scene.state, both))
    second = scene.run(isolate(scene.state, both))

    assert first.facts == [ZnodeIsolated(PATH, m.reason) for m in both]
    assert second.facts == []


@pytest.mark.requirement("X3")
def test_a_znode_that_breaks_again_is_news_again(scene: Scene) -> None:
    """Somebody repaired it and somebody broke it: the second time counts as well."""
    broken = [Malformed(PATH, "not JSON")]
    scene.run(isolate(scene.state, broken))
    scene.run(isolate(scene.state, [], healthy=[PATH]))

    again = scene.run(isolate(scene.state, broken))

    assert again.facts == [ZnodeIsolated(PATH, "not JSON")]


@pytest.mark.requirement("X3")
def test_a_topic_that_was_repaired_gets_the_id_it_waited_for(scene: Scene) -> None:
    """Rewriting a half-read znode would have lost its broken entry; now nothing is lost."""
    scene.live(1)
    assigned = {0: Assignment(ids(1))}
    scene.memory.topics["t"] = TopicRead(None, assigned, malformed={1: "no"})
    scene.handle(TopicChanged(0, "t"))
    before = scene.state.topics["t"].topic_id

    scene.memory.topics["t"] = TopicRead(None, {**assigned, 1: Assignment(ids(1))})
    scene.handle(TopicChanged(0, "t"))

    assert (before, scene.state.topics["t"].topic_id is None) == (None, False)
    assert sorted(scene.state.topics["t"].partitions) == [0, 1]
