"""When a topic is at rest: nothing will change by itself, given who lives."""

import pytest
from msgspec.structs import replace

from regent.model.assignment import Assignment
from regent.model.ids import NO_LEADER, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from tests.conformance.rest import restless
from tests.conformance.trees import PartitionTree, TopicTree


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def led(leader: int, *isr: int) -> Leadership:
    return Leadership(BrokerId(leader), LeaderEpoch(0), ids(*isr), ControllerEpoch(1), ZkVersion(0))


def topic(assignment: Assignment, leadership: Leadership | None) -> TopicTree:
    return TopicTree({0: PartitionTree(assignment, leadership)}, {}, has_id=True)


PAIR = Assignment(ids(1, 2))
#: From 2 and 1 to 3 and 1.
MOVING = Assignment(ids(3, 1, 2), adding=ids(3), removing=ids(2))
DELETED = TopicTree({0: PartitionTree(PAIR, led(1, 1, 2))}, {}, has_id=True, is_being_deleted=True)

DELETED_ON_THE_MOVE = TopicTree({0: PartitionTree(MOVING, led(2, 2, 3))}, {}, is_being_deleted=True)


@pytest.mark.parametrize(
    ("tree", "live", "reason"),
    [
        (topic(PAIR, led(1, 1, 2)), {1, 2}, None),
        (topic(PAIR, led(1, 1)), {1, 2}, "partition 0: [1] are in sync and [1, 2] live"),
        (topic(PAIR, led(2, 2)), {2}, None),
        (topic(PAIR, led(2, 1, 2)), {2}, "partition 0: [1, 2] are in sync and [2] live"),
        (topic(PAIR, led(1, 1, 2)), {2}, "partition 0: its leader is dead"),
        (topic(PAIR, led(NO_LEADER, 1)), {2}, None),
        (topic(PAIR, led(NO_LEADER, 1)), {1}, "partition 0: somebody could lead"),
        (topic(PAIR, None), {1}, "partition 0: nobody has been elected yet"),
        (topic(PAIR, None), {3}, None),
        (topic(MOVING, led(2, 2, 3)), {2, 3}, None),
        (topic(MOVING, led(2, 1, 2, 3)), {1, 2, 3}, "partition 0: it is moving"),
        (DELETED, {1, 2, 3}, "it is being deleted"),
        (DELETED, {2, 3}, None),
        (DELETED_ON_THE_MOVE, {1, 2, 3}, "it is being deleted"),
        (DELETED_ON_THE_MOVE, {2, 3}, None),
        (TopicTree(), {1, 2, 3}, None),
        (TopicTree(config={}), {1, 2, 3}, "its config is there, and nothing else"),
        (replace(topic(PAIR, led(1, 1, 2)), has_id=False), {1, 2}, "it has no id yet"),
        (TopicTree(is_queued_for_election=True), {1}, "an election is queued"),
        (TopicTree(is_planned=True), {1}, "a plan is queued"),
    ],
)
def test_a_topic_is_at_rest_when_nothing_more_can_come(
    tree: TopicTree, live: set[int], reason: str | None
) -> None:
    """What waits for a dead broker is at rest; what waits for the controller is not."""
    assert restless(tree, live) == reason
