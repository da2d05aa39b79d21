"""An ISR change that is more than an ISR change is found in the journal."""

import pytest

from regent.model.facts import BrokerDown, BrokerUp, IsrAltered, LoadedPartition, TopicLoaded
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.sim.checkers.granted_isrs_are_sound import GrantedIsrsAreSound
from regent.sim.observer import Violation
from tests.support.builders import ids
from tests.unit.sim.checkers.stage import B1, B2, B3, Stage


def led_by_one() -> Stage:
    """A partition led by 1 with ISR 1 and 2; 3 has died."""
    stage = Stage(GrantedIsrsAreSound())
    for broker_id in (B1, B2, B3):
        stage.record(B1, 1, BrokerUp(broker_id, BrokerEpoch(1)))
    stage.record(B1, 1, BrokerDown(B3, BrokerEpoch(1)))
    loaded = LoadedPartition(
        0,
        ids(1, 2, 3),
        leader=B1,
        leader_epoch=LeaderEpoch(4),
        isr=ids(1, 2),
        controller_epoch=ControllerEpoch(1),
        zk_version=ZkVersion(4),
    )
    stage.record(B1, 1, TopicLoaded("orders", (loaded,)))
    return stage


def granted(leader: BrokerId, *isr: int) -> IsrAltered:
    return IsrAltered("orders", 0, leader, leader, LeaderEpoch(4), ids(*isr), ZkVersion(5))


def test_a_leader_may_shrink_its_isr() -> None:
    """That is what it asks for."""
    led_by_one().record(B1, 1, granted(B1, 1))


def test_a_grant_that_moves_the_leadership_is_found() -> None:
    """Only an election may."""
    with pytest.raises(Violation, match="let 2 take orders-0 from 1"):
        led_by_one().record(B1, 1, granted(B2, 2))


def test_a_grant_that_takes_in_a_dead_broker_is_found() -> None:
    """It has not caught up, and nobody would take it out again (KAFKA-14140)."""
    with pytest.raises(Violation, match=r"took \[3\] into the ISR of orders-0"):
        led_by_one().record(B1, 1, granted(B1, 1, 2, 3))
