"""Replicas that a broker has placed on the controller itself, where none can be.

A controller that is no broker is listed among the live ones, because brokers and clients look for
it there. Brokers that speak a protocol before 3.0 create topics by themselves, internal ones above
all, and choose replicas from that list. Such a topic is put right before anybody is told of it,
also when it was made while nobody was in office.
"""

from collections.abc import Iterable

from regent.core.asks import Procedure, TopicWrite, WriteTopics, ask, fence_of
from regent.core.state import ControllerState, Partition, Topic
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId


def bring_home(state: ControllerState, topics: Iterable[Topic]) -> Procedure[None]:
    """Give the controller's part in what nobody has led yet to brokers; written before it is used.

    What somebody leads was told to brokers, and moves by reassignment only.
    """
    if state.config.own_endpoint is None or state.controller_id in state.brokers:
        return
    astray = {topic.name: found for topic in topics if (found := _astray(state, topic))}
    if not astray:
        return
    writes = tuple(
        TopicWrite(name, state.topics[name].topic_id, {p.index: a for p, a in found})
        for name, found in astray.items()
    )
    results = yield from ask(WriteTopics(fence_of(state), writes))
    for found, failure in zip(astray.values(), results, strict=True):
        if failure is None:
            for partition, assignment in found:
                state.set_assignment(partition, assignment)


def _astray(state: ControllerState, topic: Topic) -> list[tuple[Partition, Assignment]]:
    """The partitions that name the controller, and what each should say instead."""
    found = []
    for partition in topic.partitions.values():
        replicas = partition.assignment.replicas
        if state.controller_id in replicas and _was_never_led(state, partition):
            substitute = _substitute(state, partition)
            # Where every broker has a replica already, it stays as it is: one too few for all.
            if substitute is not None:
                home = tuple(substitute if r == state.controller_id else r for r in replicas)
                found.append((partition, Assignment(home)))
    return found


def _was_never_led(state: ControllerState, partition: Partition) -> bool:
    """A leadership that cannot be read is one all the same."""
    return partition.leadership is None and partition not in state.unreadable


def _substitute(state: ControllerState, partition: Partition) -> BrokerId | None:
    """A live broker that has no replica of it, in another rack if there is one; each in turn."""
    racks = {broker_id: known.broker.rack for broker_id, known in state.brokers.items()}
    replicas = partition.assignment.replicas
    free = [broker_id for broker_id in sorted(racks) if broker_id not in replicas]
    used = {racks[r] for r in replicas if r in racks}
    chosen = [broker_id for broker_id in free if racks[broker_id] not in used] or free
    return chosen[partition.index % len(chosen)] if chosen else None
