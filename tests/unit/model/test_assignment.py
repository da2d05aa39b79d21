"""The algebra of reassignments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regent.model.assignment import Assignment
from regent.model.ids import BrokerId
from tests.support.builders import assignment, ids


@pytest.mark.behaviour("ctx-009")
def test_an_idle_assignment_is_its_own_origin_and_target() -> None:
    """Nothing comes and nothing goes."""
    idle = assignment(5, 6, 7)

    assert (idle.is_reassigning, idle.origin, idle.target) == (False, ids(5, 6, 7), ids(5, 6, 7))


@pytest.mark.behaviour("ctx-010")
def test_the_target_comes_first_and_the_leftovers_last() -> None:
    """The target's order is the order of preference already during the move."""
    moving = assignment(6, 7, 8, 9).reassign_to(ids(9, 7, 3, 8))

    assert moving == assignment(9, 7, 3, 8, 6, adding=(3,), removing=(6,))
    assert moving.target == ids(9, 7, 3, 8)


@pytest.mark.behaviour("ctx-011")
def test_a_target_may_have_nothing_in_common_with_the_origin() -> None:
    """And be larger than it."""
    moving = assignment(6, 7).reassign_to(ids(1, 2, 3))

    assert moving == assignment(1, 2, 3, 6, 7, adding=(1, 2, 3), removing=(6, 7))
    assert (moving.origin, moving.target) == (ids(6, 7), ids(1, 2, 3))


@pytest.mark.behaviour("ctx-012")
def test_another_order_is_no_reassignment() -> None:
    """No data has to move."""
    reordered = assignment(6, 7, 8).reassign_to(ids(8, 6, 7))

    assert reordered == assignment(8, 6, 7)
    assert not reordered.is_reassigning


@pytest.mark.behaviour("ctx-014")
def test_going_back_to_the_origin_cancels() -> None:
    """Exactly the original assignment again."""
    original = assignment(6, 7)

    assert original.reassign_to(ids(1, 2)).reassign_to(ids(6, 7)) == original


def test_replacing_a_target_starts_from_the_origin() -> None:
    """A replica of the replaced target that is not wanted any more is just gone."""
    replaced = assignment(1, 2).reassign_to(ids(3, 4)).reassign_to(ids(4, 5))

    assert replaced == assignment(4, 5, 1, 2, adding=(4, 5), removing=(1, 2))
    assert replaced.origin == ids(1, 2)


BROKERS = st.lists(st.integers(1, 8).map(BrokerId), unique=True, min_size=1).map(tuple)
ASSIGNMENTS = st.tuples(BROKERS, BROKERS).map(lambda pair: Assignment(pair[0]).reassign_to(pair[1]))


@pytest.mark.behaviour("ctx-015")
@given(running=ASSIGNMENTS)
def test_submitting_a_running_reassignment_again_changes_nothing(running: Assignment) -> None:
    """Idle or in the middle of a move."""
    assert running.reassign_to(running.target) == running


@given(origin=BROKERS, first=BROKERS, second=BROKERS)
def test_origin_and_target_survive_any_number_of_changes_of_mind(
    origin: tuple[BrokerId, ...], first: tuple[BrokerId, ...], second: tuple[BrokerId, ...]
) -> None:
    """They are computed, so that a failover in the middle cannot lose them."""
    moving = Assignment(origin).reassign_to(first).reassign_to(second)

    assert moving.target == second
    assert set(moving.origin) == set(origin)
    assert set(moving.replicas) == {*origin, *second}
    assert len(set(moving.replicas)) == len(moving.replicas)
    assert set(moving.reassign_to(moving.origin).replicas) == set(origin)
