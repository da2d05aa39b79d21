"""Two leaders in one leader epoch are found when the second begins."""

import pytest

from regent.sim.checkers.one_leader_per_epoch import OneLeaderPerEpoch
from regent.sim.observer import Violation
from regent.zookeeper import paths
from regent.zookeeper.store import Delete
from tests.support.builders import leadership
from tests.unit.sim.checkers.stage import B1, B2, ORDERS, Stage


def test_leaders_one_after_another_are_fine() -> None:
    """Also one that begins again after a restart, and one that ZooKeeper has moved on from."""
    stage = Stage(OneLeaderPerEpoch())
    stage.write_leadership(leadership(1, (1, 2)))

    stage.begin_to_lead(B1, 0)
    stage.begin_to_lead(B1, 0)
    stage.write_leadership(leadership(2, (2,), leader_epoch=2))
    stage.begin_to_lead(B1, 1)
    stage.begin_to_lead(B2, 2)


def test_two_leaders_in_one_epoch_are_found() -> None:
    """Both would acknowledge records, at the same offsets."""
    stage = Stage(OneLeaderPerEpoch())
    stage.begin_to_lead(B1, 3)

    with pytest.raises(Violation, match="1 and 2 both lead orders-0"):
        stage.begin_to_lead(B2, 3)


@pytest.mark.parametrize("leader_epoch", [0, 1])
def test_a_leader_that_nobody_elected_is_found(leader_epoch: int) -> None:
    """Whether in the epoch of another or in one that was never written."""
    stage = Stage(OneLeaderPerEpoch())
    stage.write_leadership(leadership(1, (1, 2)))

    with pytest.raises(Violation, match="ZooKeeper says"):
        stage.begin_to_lead(B2, leader_epoch)


def test_a_topic_made_again_starts_over() -> None:
    """Its epochs have nothing to do with those of the former."""
    stage = Stage(OneLeaderPerEpoch())
    stage.write_leadership(leadership(1, (1, 2)))
    stage.begin_to_lead(B1, 0)

    stage.write(Delete(paths.partition_state(*ORDERS)))
    stage.write_leadership(leadership(2, (1, 2)))
    stage.begin_to_lead(B2, 0)
