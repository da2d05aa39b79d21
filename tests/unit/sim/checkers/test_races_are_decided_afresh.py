"""Giving up after lost races is found in the journal."""

import pytest

from regent.model.facts import MoveRefused
from regent.sim.checkers.races_are_decided_afresh import RacesAreDecidedAfresh
from regent.sim.observer import Violation
from tests.unit.sim.checkers.stage import B1, Stage


def test_a_move_may_be_refused_for_a_reason() -> None:
    """There is nobody to elect: that is no race."""
    stage = Stage(RacesAreDecidedAfresh())

    stage.record(B1, 1, MoveRefused("orders", 0, "no in-sync replica is alive"))


def test_a_race_that_is_lost_for_good_is_found() -> None:
    """Whoever reads again before deciding again loses one or two, and not all."""
    stage = Stage(RacesAreDecidedAfresh())

    with pytest.raises(Violation, match="gave up orders-0"):
        stage.record(B1, 1, MoveRefused("orders", 0, "lost 10 races in a row"))
