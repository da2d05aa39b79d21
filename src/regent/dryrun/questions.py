"""What can be asked of a copied cluster, and how it becomes changes and events.

A question is posed step by step: what it changes in the memory first, then the event by which a
controller hears of it, and only when that is dealt with what comes next. Brokers do as they are
told: who shuts down goes when its leaderships are moved, and who is to join a partition catches up
at once if it and the leader are alive. What a person asked that makes no sense is `BadInput`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    ControlledShutdownRequested,
    Event,
    ReassignmentsRequested,
    TopicDeletionRequested,
)
from regent.core.reassignment import plan_move
from regent.core.reassignment_phases import Refused
from regent.core.state import ControllerState, Partition
from regent.dryrun.memory import NOW_MS, CopiedMemory
from regent.dryrun.reassignment_file import PlannedMove, ReassignmentPlan
from regent.errors import BadInput
from regent.model.admin_requests import AlterReassignments, ControlledShutdown, DeleteTopics
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.ids import BrokerId, TopicPartition

#: Nobody waits for the answers here.
NOBODY = 0


class BrokersShutDown(Struct, frozen=True):
    """These brokers ask to go, one after the other, and go."""

    broker_ids: tuple[BrokerId, ...]


class BrokersDie(Struct, frozen=True):
    """These brokers, and all in these racks, are gone at once."""

    broker_ids: tuple[BrokerId, ...] = ()
    racks: tuple[str, ...] = ()


class BrokersReturn(Struct, frozen=True):
    """These brokers register again, each in a new life."""

    broker_ids: tuple[BrokerId, ...]


class PartitionsMove(Struct, frozen=True):
    """Partitions get other replicas."""

    plan: ReassignmentPlan


class TopicsAreDeleted(Struct, frozen=True):
    """These topics go."""

    topics: tuple[str, ...]


Question: TypeAlias = (
    BrokersShutDown | BrokersDie | BrokersReturn | PartitionsMove | TopicsAreDeleted
)


def describe(question: Question) -> str:
    """The question in words that follow a `what if`."""
    match question:
        case BrokersShutDown(broker_ids=broker_ids):
            return _sentence([f"broker {b}" for b in broker_ids], "shuts down", "shut down")
        case BrokersDie(broker_ids=broker_ids, racks=racks):
            dying = [*(f"broker {b}" for b in broker_ids), *(f"rack {rack}" for rack in racks)]
            return _sentence(dying, "dies", "die")
        case BrokersReturn(broker_ids=broker_ids):
            return _sentence([f"broker {b}" for b in broker_ids], "comes back", "come back")
        case PartitionsMove(plan=plan):
            count = len(plan.moves)
            moving = "1 partition moves" if count == 1 else f"{count} partitions move"
            return f"{moving} as {plan.path} says"
        case TopicsAreDeleted(topics=topics):
            return _sentence([f"topic {topic}" for topic in topics], "is deleted", "are deleted")


def _sentence(subjects: Sequence[str], one_does: str, many_do: str) -> str:
    if len(subjects) == 1:
        return f"{subjects[0]} {one_does}"
    return f"{', '.join(subjects[:-1])} and {subjects[-1]} {many_do}"


def pose(question: Question, memory: CopiedMemory, state: ControllerState) -> Iterator[Event]:
    """Change the memory, and yield what the controller hears; each event is handled at once."""
    match question:
        case BrokersShutDown(broker_ids=broker_ids):
            yield from _shut_down(memory, broker_ids)
        case BrokersDie():
            yield from _let_die(memory, question)
        case BrokersReturn(broker_ids=broker_ids):
            yield from _let_return(memory, state, broker_ids)
        case PartitionsMove(plan=plan):
            yield from _move(state, plan)
        case TopicsAreDeleted(topics=topics):
            _check_topics(memory, topics)
            yield TopicDeletionRequested(NOW_MS, NOBODY, DeleteTopics(topics))


# --- brokers ----------------------------------------------------------------------------------


def _shut_down(memory: CopiedMemory, broker_ids: Iterable[BrokerId]) -> Iterator[Event]:
    for broker_id in broker_ids:
        _check_alive(memory, broker_id)
        yield ControlledShutdownRequested(NOW_MS, NOBODY, ControlledShutdown(broker_id))
        memory.lose_broker(broker_id)
        yield BrokersChanged(NOW_MS)


def _let_die(memory: CopiedMemory, question: BrokersDie) -> Iterator[Event]:
    dying = dict.fromkeys(question.broker_ids)
    for broker_id in dying:
        _check_alive(memory, broker_id)
    for rack in question.racks:
        dying.update(dict.fromkeys(_rack_members(memory, rack)))
    for broker_id in dying:
        memory.lose_broker(broker_id)
    yield BrokersChanged(NOW_MS)


def _check_alive(memory: CopiedMemory, broker_id: BrokerId) -> None:
    if broker_id not in memory.brokers:
        raise BadInput(f"broker {broker_id} is not alive; alive are {_listed(memory.brokers)}")


def _rack_members(memory: CopiedMemory, rack: str) -> list[BrokerId]:
    racks = {b: registered.broker.rack for b, registered in memory.brokers.items()}
    members = [broker_id for broker_id, known in racks.items() if known == rack]
    if not members:
        there = sorted({known for known in racks.values() if known is not None})
        known = f"racks of live brokers are {_listed(there)}" if there else "no broker names a rack"
        raise BadInput(f"no live broker is in rack {rack!r}; {known}")
    return members


def _let_return(
    memory: CopiedMemory, state: ControllerState, broker_ids: Iterable[BrokerId]
) -> Iterator[Event]:
    for broker_id in dict.fromkeys(broker_ids):
        if broker_id in memory.brokers:
            raise BadInput(
                f"broker {broker_id} is alive; only one that is not can come back, and with"
                f" --broker-dies {broker_id} it dies first"
            )
        if not state.replicas_on.get(broker_id):
            raise BadInput(
                f"no partition has a replica on broker {broker_id}; nothing would change"
            )
        memory.bring_back(broker_id)
    yield BrokersChanged(NOW_MS)


# --- partitions -------------------------------------------------------------------------------


def _move(state: ControllerState, plan: ReassignmentPlan) -> Iterator[Event]:
    """A plan that the controller would refuse a part of is refused whole, in its own words."""
    for move in plan.moves:
        refused = plan_move(state, _name(move), move.target.replicas)
        if isinstance(refused, Refused):
            raise BadInput(
                f"{plan.path}, line {move.line}: {_name(move)}: {refused.reason}; nothing of the"
                " file was tried"
            )
    targets = tuple(move.target for move in plan.moves)
    yield ReassignmentsRequested(NOW_MS, NOBODY, AlterReassignments(targets))
    moving = [state.partition(*_name(move)) for move in plan.moves]
    yield from _catch_up(state, [partition for partition in moving if partition is not None])


def _name(move: PlannedMove) -> TopicPartition:
    return TopicPartition(move.target.topic, move.target.partition)


def _catch_up(state: ControllerState, partitions: Sequence[Partition]) -> Iterator[Event]:
    """The replicas to be have all the data, and each leader asks for the ISRs that follow."""
    led: dict[BrokerId, list[Partition]] = {}
    for partition in partitions:
        led.setdefault(state.leader_of(partition), []).append(partition)
    for leader, following in led.items():
        proposals = tuple(
            _grown(state, partition)
            for partition in following
            if partition in state.reassigning and partition.leadership is not None
        )
        if proposals and leader in state.electable:
            request = AlterPartition(leader, state.brokers[leader].broker_epoch, proposals)
            yield AlterPartitionRequested(NOW_MS, NOBODY, request)


def _grown(state: ControllerState, partition: Partition) -> IsrProposal:
    """The ISR with those of the target who can be in it."""
    known, topic_id = partition.leadership, state.topics[partition.topic].topic_id
    assert known is not None, "its leader asks"
    assert topic_id is not None, "a controller that takes office gives every topic an id"
    joined = (b for b in partition.assignment.target if b in state.electable)
    isr = tuple(dict.fromkeys((*known.isr, *joined)))
    return IsrProposal(topic_id, partition.index, known.leader_epoch, isr, known.zk_version)


# --- topics -----------------------------------------------------------------------------------


def _check_topics(memory: CopiedMemory, topics: Iterable[str]) -> None:
    for topic in topics:
        if topic not in memory.topics:
            raise BadInput(f"there is no topic {topic!r}; there are {_listed(memory.topics)}")


def _listed(names: Iterable[object], shown: int = 10) -> str:
    """Enough of them to see what they look like."""
    every = list(map(str, names))
    more = f" and {len(every) - shown} more" if len(every) > shown else ""
    return (", ".join(every[:shown]) + more) or "none"
