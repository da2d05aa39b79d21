"""Members of an ISR that hold no replica any more, and how they leave it.

A leader that writes its ISR itself may take in a replica that has been stopped since, because it
has not heard of that yet (KAFKA-9672). Whatever the controller writes next leaves it out.
"""

from functools import lru_cache

from regent.core.state import ControllerState, Partition
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from regent.model.states import ReplicaState


def without_strangers(
    state: ControllerState, partition: Partition, read: Leadership
) -> tuple[BrokerId, ...]:
    """The ISR less those that are neither assigned nor on their way out; never empty."""
    replicas = partition.assignment.replicas
    if _is_within(read.isr, replicas):
        return read.isr
    known = tuple(
        r
        for r in read.isr
        if r == read.leader
        or r in replicas
        or state.replica_state(partition, r) is not ReplicaState.NON_EXISTENT
    )
    return known or read.isr


# Few ISRs and assignments are shared by many partitions, and nearly all have no strangers.
@lru_cache(maxsize=4096)
def _is_within(isr: tuple[BrokerId, ...], replicas: tuple[BrokerId, ...]) -> bool:
    return all(r in replicas for r in isr)
