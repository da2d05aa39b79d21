"""Leaderships that make no sense are found as they are written."""

import pytest

from regent.model.leadership import Leadership
from regent.sim.checkers.leaderships_are_sane import LeadershipsAreSane
from regent.sim.observer import Violation
from tests.support.builders import leadership
from tests.unit.sim.checkers.stage import Stage


def test_a_leader_in_the_isr_or_none_is_fine() -> None:
    """An ISR survives its last leader."""
    stage = Stage(LeadershipsAreSane())

    stage.write_leadership(leadership(2, (1, 2, 3)))
    stage.write_leadership(leadership(-1, (2,)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (leadership(3, (1, 2)), "not in its ISR"),
        (leadership(1, ()), "cannot be read"),
        (leadership(1, (1, 1)), "cannot be read"),
        (leadership(1, (1, 4)), "has replicas"),
    ],
)
def test_nonsense_is_found(wrong: Leadership, message: str) -> None:
    """Each of these would be believed by every broker."""
    stage = Stage(LeadershipsAreSane())

    with pytest.raises(Violation, match=message):
        stage.write_leadership(wrong)
