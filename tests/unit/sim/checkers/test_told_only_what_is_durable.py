"""A broker that is told more than ZooKeeper has is found on the wire."""

import pytest

from regent.model.control_requests import LeaderAndIsr, LeaderAndIsrPartition
from regent.model.ids import BrokerEpoch, ControllerEpoch
from regent.model.leadership import Leadership
from regent.sim.checkers.told_only_what_is_durable import ToldOnlyWhatIsDurable
from regent.sim.observer import Violation
from tests.support.builders import assignment, leadership
from tests.unit.sim.checkers.stage import B1, B2, Stage


def tell(stage: Stage, told: Leadership) -> None:
    """Controller 1 tells broker 2 of a leadership."""
    order = LeaderAndIsrPartition("orders", 0, told, assignment(1, 2, 3), is_new=False)
    request = LeaderAndIsr(B1, ControllerEpoch(1), BrokerEpoch(20), (order,))
    stage.world.request_sent(stage.activate(B1, 1), B2, 1, request)


def test_what_is_written_may_be_told() -> None:
    """Also when something newer has been written meanwhile."""
    stage = Stage(ToldOnlyWhatIsDurable())
    stage.write_leadership(leadership(1, (1, 2, 3)))

    tell(stage, leadership(1, (1, 2, 3)))
    stage.write_leadership(leadership(1, (1, 2), leader_epoch=1))
    tell(stage, leadership(1, (1, 2, 3)))


def test_a_leadership_before_its_write_is_found() -> None:
    """If the write fails, a broker leads whom nobody has elected."""
    stage = Stage(ToldOnlyWhatIsDurable())

    with pytest.raises(Violation, match="durable: None"):
        tell(stage, leadership(1, (1, 2, 3)))


@pytest.mark.parametrize("told", [leadership(2, (2,), zk_version=1), leadership(2, (1, 2, 3))])
def test_a_leadership_that_zookeeper_does_not_have_is_found(told: Leadership) -> None:
    """Whether it is one too early or just another."""
    stage = Stage(ToldOnlyWhatIsDurable())
    stage.write_leadership(leadership(1, (1, 2, 3)))

    with pytest.raises(Violation, match="2 was told"):
        tell(stage, told)
