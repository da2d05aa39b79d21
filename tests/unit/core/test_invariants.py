"""Each invariant is seen to fail: one that cannot fail guards nothing.

These scenes are broken on purpose, so they do not use the fixture that would find them so.
"""

from collections.abc import Callable

import pytest

from regent.core.invariants import AFTER_EVENTS, ALWAYS, broken_invariants
from regent.core.state import Partition
from regent.model.ids import NO_CONTROLLER_EPOCH, BrokerId
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import assignment, leadership
from tests.support.scene import Scene

B1 = BrokerId(1)


def empty_isr(scene: Scene) -> None:
    scene.state.topics["t"].partitions[0].leadership = leadership(-1, ())


def leader_outside_isr(scene: Scene) -> None:
    scene.state.topics["t"].partitions[0].leadership = leadership(1, (2,))


def online_unled(scene: Scene) -> None:
    scene.state.topics["t"].partitions[0].leadership = None


def state_not_indexed(scene: Scene) -> None:
    scene.state.topics["t"].partitions[0].state = PartitionState.NEW


def indexed_twice(scene: Scene) -> None:
    partition = scene.state.topics["t"].partitions[0]
    scene.state.partitions_in[PartitionState.NEW][partition] = None


def indexed_unknown(scene: Scene) -> None:
    stranger = Partition("ghost", 0, assignment(1), state=PartitionState.ONLINE)
    scene.state.partitions_in[PartitionState.NEW][stranger] = None


def replica_of_unknown(scene: Scene) -> None:
    scene.state.replicas_on[B1][Partition("ghost", 0, assignment(1))] = ReplicaState.ONLINE


def non_existent_replica_kept(scene: Scene) -> None:
    partition = scene.state.topics["t"].partitions[0]
    scene.state.replicas_on[B1][partition] = ReplicaState.NON_EXISTENT


def offline_miscounted(scene: Scene) -> None:
    scene.state.offline_partition_count += 1


def imbalance_miscounted(scene: Scene) -> None:
    scene.state.preferred_imbalance_count -= 1


def reassignment_unmarked(scene: Scene) -> None:
    scene.state.topics["t"].partitions[0].assignment = assignment(1, 2, adding=(2,))


def left_without_leader(scene: Scene) -> None:
    partition = scene.state.topics["t"].partitions[0]
    scene.state.set_partition_state(partition, PartitionState.OFFLINE)


def another_in_office(scene: Scene) -> None:
    scene.state.active_id = BrokerId(99)


def resigned_and_knowing(scene: Scene) -> None:
    scene.state.controller_epoch = NO_CONTROLLER_EPOCH


def deletions_of_nobody(scene: Scene) -> None:
    scene.state.topics_to_delete["ghost"] = None
    scene.state.topics_ineligible["t"] = None


def deleted_while_online(scene: Scene) -> None:
    scene.state.topics_to_delete["t"] = None
    scene.state.topics_in_deletion["t"] = None


# fmt: off
FAULTS: list[tuple[Callable[[Scene], None], list[str]]] = [
    (empty_isr, [
        "leader_is_in_isr: t-0 has an empty ISR",
        "imbalance_count_is_right: 1 partitions are imbalanced, 0 are counted",
    ]),
    (leader_outside_isr, ["leader_is_in_isr: t-0 is led by 1, which is not in its ISR (2,)"]),
    (online_unled, ["online_partitions_have_a_leadership: t-0 is online without a leadership"]),
    (state_not_indexed, [
        "partitions_are_indexed_by_state: t-0 is NewPartition and indexed as OnlinePartition",
    ]),
    (indexed_twice, ["partitions_are_indexed_by_state: t-0 is indexed twice"]),
    (indexed_unknown, ["partitions_are_indexed_by_state: ghost-0 is indexed and unknown"]),
    (replica_of_unknown, [
        "replicas_have_a_partition: a replica of unknown ghost-0 is kept on 1",
    ]),
    (non_existent_replica_kept, ["replicas_have_a_partition: t-0 on 1 is kept as non-existent"]),
    (offline_miscounted, ["offline_count_is_right: 0 partitions are offline, 1 are counted"]),
    (imbalance_miscounted, [
        "imbalance_count_is_right: 0 partitions are imbalanced, -1 are counted",
    ]),
    (reassignment_unmarked, ["reassignments_are_marked: reassigning: ['t-0'], marked: []"]),
    (left_without_leader, [
        "no_partition_is_left_without_a_possible_leader: t-0 is offline and [1] could lead it",
    ]),
    (another_in_office, [
        "who_knows_another_has_resigned: 100 acts as controller and knows that 99 is it",
    ]),
    (resigned_and_knowing, [
        "inactive_state_is_empty: a controller that has resigned still knows the cluster",
    ]),
    (deletions_of_nobody, [
        "deletions_are_in_order: ghost is queued for deletion and unknown",
        "deletions_are_in_order: t is not queued for deletion and counts as being deleted",
    ]),
    (deleted_while_online, [
        "deletions_are_in_order: t-0 is being deleted and still online",
    ]),
]
# fmt: on


def sound_scene() -> Scene:
    """One online partition on broker 1."""
    scene = Scene().in_office()
    scene.live(1)
    scene.partition("t", 0, (1, 2), leadership=leadership(1, (1, 2)))
    return scene


def test_nothing_is_wrong_with_a_sound_state() -> None:
    """Or every simulation would stop at its first event."""
    assert broken_invariants(sound_scene().state, after_event=True) == []


@pytest.mark.parametrize(("plant", "wrong"), FAULTS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_planted_fault_is_found(plant: Callable[[Scene], None], wrong: list[str]) -> None:
    """By its own invariant, in a sentence that says what is wrong."""
    scene = sound_scene()

    plant(scene)

    broken = broken_invariants(scene.state, after_event=True)
    assert [found for found in broken if found in wrong] == wrong


def test_every_invariant_has_a_planted_fault() -> None:
    """A new invariant must be seen to fail, too."""
    seen = {wrong.split(":")[0] for _, found in FAULTS for wrong in found}

    assert seen == {invariant.__name__ for invariant in (*ALWAYS, *AFTER_EVENTS)}
