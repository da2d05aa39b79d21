"""Catalogued scenes that take more than one event, on the in-memory ZooKeeper."""

import pytest

from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    ElectLeadersRequested,
    TopicDeletionsChanged,
)
from regent.model.admin_requests import ElectionType, ElectLeaders
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from tests.support.interrupted import Ground, Reign

B4 = BrokerId(4)


def take_in_sync(ground: Ground, reign: Reign, *isr: int) -> None:
    """The leader of t-0 has all of these caught up."""
    known = ground.leadership("t", 0)
    broker_epoch = reign.controller.state.broker_epoch(known.leader)
    assert broker_epoch is not None, "the leader is registered"
    wanted = tuple(map(BrokerId, isr))
    proposal = IsrProposal("t", 0, known.leader_epoch, wanted, known.zk_version)
    request = AlterPartition(known.leader, broker_epoch, (proposal,), version=1)
    reign.handle(AlterPartitionRequested(0, 1, request))


@pytest.mark.behaviour("prf-007")
@pytest.mark.requirement("L1")
def test_the_preferred_replica_leads_when_all_are_up() -> None:
    """The topic was there before any broker, and the last of its replicas came first."""
    ground = Ground()
    ground.write_topic("t", (4, 5, 6))
    reign = ground.controller(9)
    reign.stand()
    ground.register(6)
    reign.handle(BrokersChanged(0))
    assert ground.leadership("t", 0).leader == 6
    ground.register(4, 5)
    reign.handle(BrokersChanged(0))
    take_in_sync(ground, reign, 6, 4, 5)

    reign.handle(ElectLeadersRequested(0, 2, ElectLeaders(ElectionType.PREFERRED)))

    assert ground.leadership("t", 0).leader == B4


@pytest.mark.behaviour("del-015")
@pytest.mark.requirement("T3", "L1")
def test_an_election_that_was_asked_for_first_is_held_first() -> None:
    """One event at a time: the deletion begins when the election is over."""
    ground = Ground()
    ground.write_topic("t", (4, 5))
    ground.register(5)
    reign = ground.controller(9)
    reign.stand()
    ground.register(4)
    reign.handle(BrokersChanged(0))
    take_in_sync(ground, reign, 5, 4)
    elect = ElectLeaders(ElectionType.PREFERRED, (TopicPartition("t", 0),))

    reign.handle(ElectLeadersRequested(0, 2, elect))
    elected = ground.leadership("t", 0).leader
    ground.mark_for_deletion("t")
    reign.handle(TopicDeletionsChanged(0))
    reign.confirm_deletions()

    assert elected == B4
    assert ground.server.peek(paths.topic("t")) is None
    assert ground.server.peek(paths.topic_deletion("t")) is None
