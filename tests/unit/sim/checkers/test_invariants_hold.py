"""A state at odds with itself is found when the event is done."""

import pytest

from regent.model.facts import ControllerElected
from regent.sim.checkers.invariants_hold import InvariantsHold
from regent.sim.observer import Violation
from tests.unit.sim.checkers.stage import B1, Stage


def test_a_count_that_is_off_is_found() -> None:
    """Counters are kept as things change; one change forgotten and they are wrong for ever."""
    stage = Stage(InvariantsHold())
    process = stage.activate(B1, 1)
    stage.record(B1, 1, ControllerElected())
    stage.world.event_handled(process)

    process.controller.state.offline_partition_count = 1
    stage.record(B1, 1, ControllerElected())

    with pytest.raises(Violation, match="0 partitions are offline, 1 are counted"):
        stage.world.event_handled(process)


def test_events_without_records_are_not_looked_at() -> None:
    """Most events change nothing, and looking costs what the state holds."""
    stage = Stage(InvariantsHold())
    process = stage.activate(B1, 1)
    process.controller.state.offline_partition_count = 1

    stage.world.event_handled(process)
