"""A controller that has missed something is found when everything is at rest."""

from collections.abc import Callable

import pytest

from regent.core.state import ControllerState, Partition
from regent.model.ids import BrokerEpoch
from regent.model.states import PartitionState, ReplicaState
from regent.sim.checkers.state_equals_cold_load import StateEqualsColdLoad
from regent.sim.run import Verdict
from tests.support.builders import assignment, leadership, registered
from tests.unit.sim.checkers.stage import B1, controller_of, sabotaged


def first_partition(state: ControllerState) -> Partition:
    return state.topics["orders"].partitions[0]


def miss_a_bounce(state: ControllerState) -> None:
    state.add_broker(registered(1, life=BrokerEpoch(0)))


def miss_a_topic(state: ControllerState) -> None:
    state.remove_topic("orders")


def mix_up_a_topic_id(state: ControllerState) -> None:
    state.give_topic_id(state.topics["orders"], "another")


def miss_an_assignment(state: ControllerState) -> None:
    state.set_assignment(first_partition(state), assignment(1, 2))


def miss_an_election(state: ControllerState) -> None:
    state.set_leadership(first_partition(state), leadership(1, (1, 2, 3), zk_version=-1))


def think_a_partition_offline(state: ControllerState) -> None:
    state.set_partition_state(first_partition(state), PartitionState.OFFLINE)


def think_a_replica_offline(state: ControllerState) -> None:
    state.set_replica_state(first_partition(state), B1, ReplicaState.OFFLINE)


def miscount(state: ControllerState) -> None:
    state.preferred_imbalance_count += 1


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (miss_a_bounce, "1 is known as RegisteredBroker"),
        (miss_a_topic, "orders is not known"),
        (mix_up_a_topic_id, "orders is known as another"),
        (miss_an_assignment, "orders-0 is known as Assignment"),
        (miss_an_election, "orders-0 is known as Leadership"),
        (think_a_partition_offline, "orders-0 is known as OfflinePartition"),
        (think_a_replica_offline, "is known as OfflineReplica"),
        (miscount, "imbalanced partitions is known as"),
    ],
)
def test_a_memory_that_is_wrong_is_found(
    mistake: Callable[[ControllerState], None], message: str
) -> None:
    """A watch that was missed shows only when one looks again at everything."""
    outcome = sabotaged(
        lambda world: mistake(controller_of(world).controller.state), StateEqualsColdLoad()
    )

    assert (outcome.verdict, outcome.checker) == (Verdict.UNSAFE, "StateEqualsColdLoad")
    assert message in outcome.message
