"""Two nodes that believe to be controller must differ in their epochs."""

import pytest

from regent.sim.checkers.one_active_controller import OneActiveController
from regent.sim.observer import Violation
from tests.unit.sim.checkers.stage import B1, B2, Stage


def test_a_deposed_controller_may_not_know_it_yet() -> None:
    """Being wrong about it is allowed; the fence is for that."""
    stage = Stage(OneActiveController())
    stage.set_epoch(2)
    stage.activate(B1, 1)

    stage.world.event_handled(stage.activate(B2, 2))


def test_two_controllers_in_one_epoch_are_found() -> None:
    """Nothing could fence one of them from the other."""
    stage = Stage(OneActiveController())
    stage.set_epoch(2)
    stage.activate(B1, 2)

    with pytest.raises(Violation, match="both active in epoch 2"):
        stage.world.event_handled(stage.activate(B2, 2))


def test_an_epoch_that_was_never_written_is_found() -> None:
    """A controller that invents its epoch would be fenced by nobody."""
    stage = Stage(OneActiveController())

    with pytest.raises(Violation, match="never saw"):
        stage.world.event_handled(stage.activate(B1, 7))
