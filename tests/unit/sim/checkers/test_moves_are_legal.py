"""Moves that Kafka would refuse are found in the journal."""

from itertools import product

import pytest

from regent.core import partition_machine, replica_machine
from regent.model.facts import (
    ControllerElected,
    Fact,
    LeaderElected,
    LoadedPartition,
    PartitionMoved,
    PartitionsStarted,
    ReplicaMoved,
    ReplicasStarted,
    TopicForgotten,
    TopicLoaded,
)
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState, ReplicaState
from regent.sim.checkers.moves_are_legal import VALID_BEFORE, MovesAreLegal
from regent.sim.observer import Violation
from tests.unit.sim.checkers.stage import B1, B2, Stage

NEW, ONLINE, OFFLINE = PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE
LOADED = TopicLoaded("orders", (LoadedPartition(0, (B1, B2)),))


def moved(before: PartitionState, after: PartitionState) -> PartitionMoved:
    return PartitionMoved("orders", 0, before, after)


def replica_moved(broker_id: BrokerId, before: ReplicaState, after: ReplicaState) -> ReplicaMoved:
    return ReplicaMoved("orders", 0, broker_id, before, after)


def elected(before: PartitionState) -> LeaderElected:
    return LeaderElected(
        "orders", 0, "offline", before, B1, B2, LeaderEpoch(1), (B2,), ZkVersion(1)
    )


def tell(*facts: Fact) -> None:
    """A reign's tale, from its beginning."""
    stage = Stage(MovesAreLegal())
    for fact in (ControllerElected(), *facts):
        stage.record(B1, 1, fact)


def test_a_topics_life_is_legal() -> None:
    """From its creation through an election to being forgotten."""
    tell(
        LOADED,
        moved(PartitionState.NON_EXISTENT, NEW),
        replica_moved(B1, ReplicaState.NON_EXISTENT, ReplicaState.NEW),
        elected(NEW),
        replica_moved(B1, ReplicaState.NEW, ReplicaState.ONLINE),
        moved(ONLINE, OFFLINE),
        elected(OFFLINE),
        elected(ONLINE),
        TopicForgotten("orders"),
        LOADED,
    )


def test_a_failover_puts_everything_on_its_footing() -> None:
    """What a new controller finds is where its moves begin."""
    tell(
        LOADED,
        ReplicasStarted("orders", (B2,)),
        replica_moved(B2, ReplicaState.DELETION_INELIGIBLE, ReplicaState.OFFLINE),
        PartitionsStarted("orders", offline=(0,)),
        elected(OFFLINE),
    )


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ((LOADED, moved(ONLINE, OFFLINE)), "and was NonExistentPartition"),
        ((LOADED, moved(PartitionState.NON_EXISTENT, ONLINE)), "to OnlinePartition"),
        ((LOADED, elected(PartitionState.NON_EXISTENT)), "to OnlinePartition"),
        ((LOADED, LOADED), "loaded twice"),
        ((moved(NEW, OFFLINE),), "never loaded"),
        ((replica_moved(B1, ReplicaState.NEW, ReplicaState.ONLINE),), "never loaded"),
        (
            (LOADED, replica_moved(B1, ReplicaState.NON_EXISTENT, ReplicaState.ONLINE)),
            "to OnlineReplica",
        ),
        ((TopicForgotten("orders"),), "never known"),
    ],
)
def test_an_impossible_tale_is_found(facts: tuple[Fact, ...], message: str) -> None:
    """A reader of journals takes every line for true."""
    with pytest.raises(Violation, match=message):
        tell(*facts)


def test_kafkas_table_is_the_machines_own() -> None:
    """Neither was copied from the other, so a slip in one of them shows."""
    machines = {*partition_machine.TRANSITIONS, *replica_machine.TRANSITIONS}
    pairs = {*product(PartitionState, repeat=2), *product(ReplicaState, repeat=2)}

    assert machines == {(b, a) for b, a in pairs if b.value in VALID_BEFORE[a.value]}
