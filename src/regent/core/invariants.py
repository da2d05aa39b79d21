"""What must be true of a controller's state, each a named function.

A function yields a sentence for each thing that is wrong. They recompute what the state keeps
incrementally, so they cost what the state holds: for simulation and tests, not for production.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from regent.core.state import ControllerState, Partition
from regent.model.ids import NO_LEADER
from regent.model.states import PartitionState, ReplicaState


def leader_is_in_isr(state: ControllerState) -> Iterator[str]:
    """A leader is a member of its ISR, and the ISR has members."""
    for partition in state.all_partitions():
        known = partition.leadership
        if known is None:
            continue
        if not known.isr:
            yield f"{partition} has an empty ISR"
        if known.leader != NO_LEADER and known.leader not in known.isr:
            yield f"{partition} is led by {known.leader}, which is not in its ISR {known.isr}"


def online_partitions_have_a_leadership(state: ControllerState) -> Iterator[str]:
    """Only an election makes a partition online."""
    for partition in state.partitions_in[PartitionState.ONLINE]:
        if partition.leadership is None:
            yield f"{partition} is online without a leadership"


def partitions_are_indexed_by_state(state: ControllerState) -> Iterator[str]:
    """Each partition is in exactly the index of its state."""
    found: dict[Partition, PartitionState] = {}
    for name, members in state.partitions_in.items():
        for partition in members:
            if partition in found:
                yield f"{partition} is indexed twice"
            found[partition] = name
    for partition in state.all_partitions():
        indexed = found.pop(partition, PartitionState.NON_EXISTENT)
        if indexed is not partition.state:
            yield f"{partition} is {partition.state} and indexed as {indexed}"
    for partition in found:
        yield f"{partition} is indexed and unknown"


def replicas_have_a_partition(state: ControllerState) -> Iterator[str]:
    """A replica's state is kept only for partitions that are known, and never as non-existent."""
    known = dict.fromkeys(state.all_partitions())
    for broker_id, replicas in state.replicas_on.items():
        for partition, replica_state in replicas.items():
            if partition not in known:
                yield f"a replica of unknown {partition} is kept on {broker_id}"
            if replica_state is ReplicaState.NON_EXISTENT:
                yield f"{partition} on {broker_id} is kept as non-existent"


def offline_count_is_right(state: ControllerState) -> Iterator[str]:
    """Offline partitions are counted, those of topics being deleted are not."""
    counted = sum(
        1
        for partition in state.partitions_in[PartitionState.OFFLINE]
        if partition.topic not in state.topics_to_delete
    )
    if counted != state.offline_partition_count:
        yield f"{counted} partitions are offline, {state.offline_partition_count} are counted"


def imbalance_count_is_right(state: ControllerState) -> Iterator[str]:
    """Partitions not led by their preferred replica are counted."""
    counted = 0
    for partition in state.all_partitions():
        known, assignment = partition.leadership, partition.assignment
        if known is None or not assignment.replicas or partition.topic in state.topics_to_delete:
            continue
        preferred = assignment.replicas[0]
        is_coming = preferred in assignment.adding and preferred not in known.isr
        counted += known.leader != preferred and not is_coming
    if counted != state.preferred_imbalance_count:
        yield f"{counted} partitions are imbalanced, {state.preferred_imbalance_count} are counted"


def no_partition_is_left_without_a_possible_leader(state: ControllerState) -> Iterator[str]:
    """An offline partition has no in-sync replica that could lead, or it would be led."""
    for partition in state.partitions_in[PartitionState.OFFLINE]:
        known = partition.leadership
        if known is None or state.is_abandoned(partition.topic):
            continue
        possible = [
            r
            for r in partition.assignment.replicas
            if r in known.isr and state.is_replica_online(r, partition)
        ]
        if possible:
            yield f"{partition} is offline and {possible} could lead it"


def who_knows_another_has_resigned(state: ControllerState) -> Iterator[str]:
    """A controller that has heard of another in office is no longer one."""
    if state.is_active and state.active_id != state.controller_id:
        yield f"{state.controller_id} acts as controller and knows that {state.active_id} is it"


def reassignments_are_marked(state: ControllerState) -> Iterator[str]:
    """Exactly the partitions with replicas coming or going are marked as reassigning."""
    moving = [p for p in state.all_partitions() if p.assignment.is_reassigning]
    counts = Counter(partition.topic for partition in moving)
    if any(state.reassigning_in(topic) != counts[topic] for topic in state.topics):
        yield f"reassigning by topic: {dict(counts)}"
    if dict.fromkeys(moving) != state.reassigning:
        yield f"reassigning: {list(map(str, moving))}, marked: {list(map(str, state.reassigning))}"


def deletions_are_in_order(state: ControllerState) -> Iterator[str]:
    """Only a known topic is queued, only a queued one waits or goes; what goes is not online."""
    for name in state.topics_to_delete:
        if name not in state.topics:
            yield f"{name} is queued for deletion and unknown"
    for name in (*state.topics_in_deletion, *state.topics_ineligible):
        if name not in state.topics_to_delete:
            yield f"{name} is not queued for deletion and counts as being deleted"
    for name in state.topics_in_deletion:
        for partition in state.topics[name].partitions.values():
            if partition.state is PartitionState.ONLINE:
                yield f"{partition} is being deleted and still online"


def inactive_state_is_empty(state: ControllerState) -> Iterator[str]:
    """A node that is not the controller knows nothing that it could act on."""
    if not state.is_active and (state.topics or state.brokers or state.replicas_on):
        yield "a controller that has resigned still knows the cluster"


Invariant = Callable[[ControllerState], Iterator[str]]

#: True at any time, also between the steps of a procedure.
ALWAYS: Final[tuple[Invariant, ...]] = (
    leader_is_in_isr,
    online_partitions_have_a_leadership,
    partitions_are_indexed_by_state,
    replicas_have_a_partition,
    offline_count_is_right,
    imbalance_count_is_right,
    reassignments_are_marked,
    deletions_are_in_order,
    inactive_state_is_empty,
)
#: True when an event has been handled to its end.
AFTER_EVENTS: Final[tuple[Invariant, ...]] = (
    no_partition_is_left_without_a_possible_leader,
    who_knows_another_has_resigned,
)


def broken_invariants(state: ControllerState, *, after_event: bool = False) -> list[str]:
    """Everything that is wrong with a state; empty when nothing is."""
    invariants = (*ALWAYS, *AFTER_EVENTS) if after_event else ALWAYS
    return [
        f"{invariant.__name__}: {wrong}" for invariant in invariants for wrong in invariant(state)
    ]
