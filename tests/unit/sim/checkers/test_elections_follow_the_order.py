"""Elections out of the order of the assignment are found in the journal."""

import pytest

from regent.core.election import Strategy
from regent.model.facts import BrokerDown, BrokerUp, LeaderElected, LoadedPartition, TopicLoaded
from regent.model.ids import BrokerEpoch, BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.sim.checkers.elections_follow_the_order import ElectionsFollowTheOrder
from regent.sim.observer import Violation
from tests.support.builders import ids
from tests.unit.sim.checkers.stage import B1, B2, B3, Stage


def with_one_dead() -> Stage:
    """A partition on 1, 2 and 3, of which 1 has died."""
    stage = Stage(ElectionsFollowTheOrder())
    for broker_id in (B1, B2, B3):
        stage.record(B1, 1, BrokerUp(broker_id, BrokerEpoch(1)))
    stage.record(B1, 1, TopicLoaded("orders", (LoadedPartition(0, (B1, B2, B3)),)))
    stage.record(B1, 1, BrokerDown(B1, BrokerEpoch(1)))
    return stage


def elected(
    leader: BrokerId, *isr: int, before: PartitionState = PartitionState.OFFLINE
) -> LeaderElected:
    leader_epoch = LeaderEpoch(0 if before is PartitionState.NEW else 1)
    return LeaderElected(
        "orders", 0, Strategy.OFFLINE, before, B1, leader, leader_epoch, ids(*isr), ZkVersion(1)
    )


def test_the_first_live_replica_in_sync_leads() -> None:
    """The order of the assignment is the order of preference."""
    stage = with_one_dead()

    stage.record(B1, 1, elected(B2, 3, 2))
    stage.record(B1, 1, elected(B3, 3))
    stage.record(B1, 1, elected(B2, 2, 3, before=PartitionState.NEW))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (elected(B3, 2, 3), "had 3 lead orders-0, not"),
        (elected(B2, 1, 2, 3), "in sync for orders-0"),
        (elected(B2, 2, before=PartitionState.NEW), "began with ISR"),
    ],
)
def test_any_other_outcome_is_found(wrong: LeaderElected, message: str) -> None:
    """The second best, a dead member of the ISR, or a beginning without all that live."""
    stage = with_one_dead()

    with pytest.raises(Violation, match=message):
        stage.record(B1, 1, wrong)
