"""Epochs and versions that go back are found, in ZooKeeper and on brokers."""

import pytest

from regent.model.leadership import Leadership
from regent.sim.checkers.epochs_grow import EpochsGrow
from regent.sim.observer import Violation
from regent.zookeeper import paths
from regent.zookeeper.store import WatchKind
from tests.support.builders import leadership
from tests.unit.sim.checkers.stage import B1, ORDERS, Stage


def test_growing_epochs_are_fine() -> None:
    """An ISR change keeps both epochs, an election raises one, a failover the other."""
    stage = Stage(EpochsGrow())
    stage.set_epoch(2)

    stage.write_leadership(leadership(1, (1, 2)))
    stage.write_leadership(leadership(1, (1,)))
    stage.write_leadership(leadership(1, (1, 2), leader_epoch=1, controller_epoch=2))
    stage.begin_to_lead(B1, 0)
    stage.begin_to_lead(B1, 1)


def test_a_controller_epoch_that_goes_back_is_found() -> None:
    """Every fence in the cluster hangs on it."""
    stage = Stage(EpochsGrow())
    stage.set_epoch(5)

    with pytest.raises(Violation, match="from 5 to 4"):
        stage.set_epoch(4)


@pytest.mark.parametrize(
    "after",
    [
        leadership(1, (1,), leader_epoch=2, controller_epoch=3),
        leadership(1, (1,), leader_epoch=3, controller_epoch=2),
    ],
)
def test_a_leadership_that_goes_back_is_found(after: Leadership) -> None:
    """Brokers would refuse the new one, or believe the old one."""
    stage = Stage(EpochsGrow())
    stage.write_leadership(leadership(1, (1,), leader_epoch=3, controller_epoch=3))

    with pytest.raises(Violation, match="went back"):
        stage.write_leadership(after)


def test_a_version_that_stands_still_is_found() -> None:
    """Two writes with one version would both be taken for the same."""
    stage = Stage(EpochsGrow())
    stage.write_leadership(leadership(1, (1,)))
    path = paths.partition_state(*ORDERS)

    with pytest.raises(Violation, match="did not grow by one"):
        stage.world.observers[0].znode_changed(stage.world, WatchKind.DATA_CHANGED, path, None)


def test_a_broker_that_begins_in_an_older_epoch_is_found() -> None:
    """It has obeyed an order that was overtaken."""
    stage = Stage(EpochsGrow())
    stage.begin_to_lead(B1, 4)

    with pytest.raises(Violation, match="in 3 after 4"):
        stage.begin_to_lead(B1, 3)


def test_a_restarted_broker_begins_in_the_same_epoch_again() -> None:
    """A new life knows nothing of what the former has led."""
    stage = Stage(EpochsGrow())
    stage.begin_to_lead(B1, 4)
    stage.world.kill(B1)

    stage.begin_to_lead(B1, 4)
