"""The fake memory keeps the promises that the core builds on."""

import pytest

from regent.core.asks import (
    CreateLeaderships,
    DropController,
    Fence,
    LeadershipWrite,
    ListTopicDeletions,
    TakeController,
    WriteFailure,
    WriteLeaderships,
)
from regent.errors import ControllerMoved
from regent.model.ids import BrokerId, ControllerEpoch, ZkVersion
from tests.support.builders import leadership
from tests.support.scene import CONTROLLER, Scene


def test_a_write_under_an_old_fence_is_refused_and_changes_nothing(scene: Scene) -> None:
    """A deposed controller can change nothing, however late it wakes."""
    old = scene.memory.epoch
    some = scene.partition(replicas=(1,))
    scene.memory.depose()

    with pytest.raises(ControllerMoved):
        scene.memory.answer(CreateLeaderships(old, [LeadershipWrite(some, leadership(1, (1,)))]))
    with pytest.raises(ControllerMoved):
        scene.memory.answer(DropController(old))

    assert (scene.memory.leaderships, scene.memory.holder) == ({}, 99)


def test_a_write_takes_hold_only_over_the_version_it_was_made_for(scene: Scene) -> None:
    """And each of many has a result of its own."""
    first, second = (scene.partition("t", i, (1,), leadership=leadership(1, (1,))) for i in (0, 1))
    scene.overwrite(second)
    writes = [LeadershipWrite(p, leadership(-1, (1,))) for p in (first, second)]

    results = scene.memory.answer(WriteLeaderships(scene.memory.epoch, writes))

    assert results == [1, WriteFailure.CONFLICT]
    assert scene.stored(first) == leadership(-1, (1,), zk_version=1)


@pytest.mark.requirement("E5")
def test_the_role_is_taken_with_the_epoch_or_not_at_all(node: Scene) -> None:
    """Whoever believes in another epoch has lost."""
    wrong = Fence(ControllerEpoch(7), ZkVersion(7))

    lost = node.memory.answer(TakeController(CONTROLLER, wrong, 0))
    won = node.memory.answer(TakeController(CONTROLLER, node.memory.epoch, 0))
    late = node.memory.answer(TakeController(BrokerId(7), node.memory.epoch, 0))

    assert (lost, won, late) == (None, Fence(ControllerEpoch(1), ZkVersion(1)), None)


def test_topics_marked_for_deletion_are_listed(node: Scene) -> None:
    """In order of their names."""
    node.memory.deletions = {"b": None, "a": None}

    assert node.memory.answer(ListTopicDeletions()) == ("a", "b")
