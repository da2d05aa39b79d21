"""A broker that deletes what it should keep is found by its answer."""

import pytest

from regent.model.assignment import Assignment
from regent.model.control_requests import ControlAnswer, StopReplica, StopReplicaPartition
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, ControllerEpoch, LeaderEpoch
from regent.sim.checkers.only_unassigned_replicas_are_deleted import (
    OnlyUnassignedReplicasAreDeleted,
)
from regent.sim.observer import Violation
from regent.zookeeper import paths
from regent.zookeeper.store import Create, SetData
from regent.zookeeper.znodes import encode_topic
from tests.support.builders import ids, leadership
from tests.unit.sim.checkers.stage import B1, B2, ORDERS, Stage


def obey(stage: Stage, *, delete: bool = True, error: ErrorCode = ErrorCode.NONE) -> None:
    """Broker 2 is told to stop its replica, and answers."""
    order = StopReplicaPartition("orders", 0, LeaderEpoch(4), delete)
    request = StopReplica(B1, ControllerEpoch(1), BrokerEpoch(1), (order,))
    answer = ControlAnswer(partition_errors=((ORDERS, error),))
    stage.world.control_answered(stage.node(B2), request, answer)


def test_stopping_and_refusing_delete_nothing() -> None:
    """Only a delete that was obeyed costs anything."""
    stage = Stage(OnlyUnassignedReplicasAreDeleted())

    obey(stage, delete=False)
    obey(stage, error=ErrorCode.FENCED_LEADER_EPOCH)


def test_what_moves_away_may_be_deleted() -> None:
    """It is deleted just before ZooKeeper forgets it."""
    stage = Stage(OnlyUnassignedReplicasAreDeleted())
    moving = encode_topic(None, {0: Assignment(ids(1, 3, 2), removing=ids(2))})
    stage.write(SetData(paths.topic("orders"), moving))

    obey(stage)


def test_what_belongs_to_a_topic_that_goes_may_be_deleted() -> None:
    """The marker says so for as long as anything of the topic is left."""
    stage = Stage(OnlyUnassignedReplicasAreDeleted())
    stage.write(Create(paths.topic_deletion("orders")))

    obey(stage)


def test_deleting_an_assigned_replica_is_found() -> None:
    """A delete from before the replica came back, obeyed too late, costs its data (KAFKA-9539)."""
    stage = Stage(OnlyUnassignedReplicasAreDeleted())
    stage.write_leadership(leadership(1, (1, 2)))

    with pytest.raises(Violation, match="broker 2 deleted orders-0"):
        obey(stage)
