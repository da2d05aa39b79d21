"""A change without a record, or a record without its change, is found by a replay."""

from collections.abc import Callable

import pytest

from regent.core.state import ControllerState
from regent.model.facts import BrokerUp, LeaderElected, PartitionMoved, ReplicaMoved, TopicLoaded
from regent.model.states import ReplicaState
from regent.sim.checkers.journal_suffices import JournalSuffices
from regent.sim.run import Verdict
from regent.sim.world import World
from tests.unit.sim.checkers.stage import B1, controller_of, sabotaged


@pytest.mark.parametrize("kind", [BrokerUp, TopicLoaded, LeaderElected, PartitionMoved])
def test_a_lost_record_is_found(kind: type) -> None:
    """At least by its number, which is then missing."""

    def lose_last(world: World) -> None:
        epoch = controller_of(world).controller.state.controller_epoch
        ours = [r for r in world.records if r.controller_epoch == epoch]
        world.records.remove([r for r in ours if isinstance(r.fact, kind)][-1])

    outcome = sabotaged(lose_last, JournalSuffices())

    assert (outcome.verdict, outcome.checker) == (Verdict.UNSAFE, "JournalSuffices")


def take_a_replica_offline(state: ControllerState) -> None:
    partition = state.topics["orders"].partitions[0]
    state.set_replica_state(partition, B1, ReplicaState.OFFLINE)


def forget_a_leadership(state: ControllerState) -> None:
    state.topics["orders"].partitions[0].leadership = None


def forget_a_broker(state: ControllerState) -> None:
    state.remove_broker(B1)


@pytest.mark.parametrize("change", [take_a_replica_offline, forget_a_leadership, forget_a_broker])
def test_a_change_that_was_not_recorded_is_found(
    change: Callable[[ControllerState], None],
) -> None:
    """Whoever reads only the journal would not know."""
    outcome = sabotaged(
        lambda world: change(controller_of(world).controller.state), JournalSuffices()
    )

    assert (outcome.verdict, outcome.checker) == (Verdict.UNSAFE, "JournalSuffices")


def test_order_is_the_journals_own() -> None:
    """Records that reach the reader out of order are put in order by epoch and number."""
    outcome = sabotaged(lambda world: world.records.reverse(), JournalSuffices())

    assert outcome.verdict is Verdict.HELD
    assert any(isinstance(record.fact, ReplicaMoved) for record in outcome.records)
