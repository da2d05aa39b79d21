"""An election from outside the ISR is found where it is not allowed."""

import pytest

from regent.sim.checkers.elections_are_clean import ElectionsAreClean
from regent.sim.observer import Violation
from tests.support.builders import leadership
from tests.unit.sim.checkers.stage import Stage


def test_an_election_from_the_isr_is_fine() -> None:
    """Also when there was no leader for a while."""
    stage = Stage(ElectionsAreClean())

    stage.write_leadership(leadership(1, (1, 2)))
    stage.write_leadership(leadership(-1, (2,), leader_epoch=1))
    stage.write_leadership(leadership(2, (2,), leader_epoch=2))


def test_an_unclean_election_is_found() -> None:
    """The topic's owner would rather have waited."""
    stage = Stage(ElectionsAreClean())
    stage.write_leadership(leadership(-1, (1,)))

    with pytest.raises(Violation, match=r"whose ISR was \(1,\)"):
        stage.write_leadership(leadership(2, (2,), leader_epoch=1))


def test_a_topic_may_allow_it() -> None:
    """Then it is the owner's choice."""
    stage = Stage(ElectionsAreClean())
    stage.allow_unclean()
    stage.write_leadership(leadership(-1, (1,)))

    stage.write_leadership(leadership(2, (2,), leader_epoch=1))
