"""Reassignments that forget something are found in ZooKeeper."""

import pytest

from regent.model.assignment import Assignment
from regent.model.ids import TopicPartition
from regent.sim.checkers.assignments_move_step_by_step import AssignmentsMoveStepByStep
from regent.sim.observer import Violation
from tests.support.builders import ids

NAME = TopicPartition("orders", 0)
IDLE = Assignment(ids(1, 2, 3))
MOVING = IDLE.reassign_to(ids(3, 4))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (IDLE, MOVING),
        (IDLE, Assignment(ids(3, 1, 2))),
        (MOVING, Assignment(ids(3, 4))),
        (MOVING, MOVING.reassign_to(ids(5, 1))),
        (MOVING, Assignment(ids(1, 2, 3))),
        # While a cancelled move's replicas are being dropped they both come and go.
        (MOVING, Assignment(ids(1, 2, 3, 4), ids(4), ids(4))),
    ],
)
def test_a_move_may_start_be_replaced_end_and_be_cancelled(
    before: Assignment, after: Assignment
) -> None:
    """Each of these leaves what a successor needs to go on."""
    AssignmentsMoveStepByStep().judge(NAME, before, after)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (IDLE, Assignment(ids(3, 4)), "in one step"),
        (MOVING, Assignment(ids(3, 5)), "ended at"),
        (MOVING, Assignment(ids(5, 3, 4), ids(5), ids(4)), "now from"),
        (IDLE, Assignment(ids(1, 2, 3), ids(9)), "does not have"),
    ],
)
def test_a_move_that_forgets_its_origin_or_target_is_found(
    before: Assignment, after: Assignment, message: str
) -> None:
    """Nobody could cancel it, or finish it, as it was meant (KAFKA-9089)."""
    with pytest.raises(Violation, match=message):
        AssignmentsMoveStepByStep().judge(NAME, before, after)
