"""What is known is enough for a write, and not for leaving things as they are (P4, R4)."""

import pytest

from regent.core.partition_machine import move_partitions
from regent.core.replica_machine import move_replicas
from regent.model.ids import BrokerId
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import ids, leadership
from tests.support.scene import Scene


@pytest.mark.requirement("P4")
def test_only_the_partitions_that_nobody_known_could_lead_are_read(scene: Scene) -> None:
    """One of them has, as it turns out, an in-sync replica by now."""
    scene.live(2)
    sure = scene.partition(
        "t", 0, (1, 2), leadership=leadership(1, (1, 2)), state=PartitionState.OFFLINE
    )
    unsure = scene.partition(
        "t", 1, (1, 2), leadership=leadership(1, (1,)), state=PartitionState.OFFLINE
    )
    scene.overwrite(unsure, isr=ids(1, 2))

    run = scene.run(move_partitions(scene.state, [sure, unsure], PartitionState.ONLINE))

    assert run.asked == [
        "ReadLeaderships t-1",
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v0; t-1 leader=2 isr=2 epoch=1 v1",
    ]
    assert (sure.leadership, unsure.leadership) == (scene.stored(sure), scene.stored(unsure))


@pytest.mark.requirement("R4")
def test_a_replica_that_joined_the_isr_unheard_leaves_it(scene: Scene) -> None:
    """Its leader took it in and has not said so yet; it must not stay there dead."""
    scene.live(2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(2, (2,)))
    scene.overwrite(led, isr=ids(1, 2))

    run = scene.run(move_replicas(scene.state, {BrokerId(1): [led]}, ReplicaState.OFFLINE))

    assert run.asked == [
        "ReadLeaderships t-0",
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v1",
    ]
    assert scene.stored(led).isr == ids(2)
