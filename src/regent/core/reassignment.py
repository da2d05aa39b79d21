"""Who may have a partition moved, where to, and when the moves under way are looked at (A1, A5).

Callers ask with AlterPartitionReassignments, tools leave a plan in a znode, and the latest word
counts: a request takes its partitions out of the plan. What follows is in `reassignment_phases`.
"""

from collections.abc import Collection, Iterable
from typing import Final

from regent.core.asks import Procedure
from regent.core.effects import Journal, Reply
from regent.core.events import (
    LeadershipChanged,
    ReassignmentListRequested,
    ReassignmentsRequested,
    ReassignmentZnodeChanged,
)
from regent.core.partition_machine import try_electable
from regent.core.reassignment_phases import Refused, complete_reassignments, reassign, resume
from regent.core.reassignment_znode import PATH, read_targets, trim_targets
from regent.core.state import ControllerState, Partition
from regent.model.admin_requests import (
    AlterReassignmentsAnswer,
    ListReassignmentsAnswer,
    PartitionResult,
)
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused
from regent.model.ids import BrokerId, TopicPartition

API: Final = "AlterPartitionReassignments"

Replicas = tuple[BrokerId, ...]


# --- by request -------------------------------------------------------------------------------


def on_reassignments_requested(
    state: ControllerState, event: ReassignmentsRequested
) -> Procedure[None]:
    """Start, replace or cancel moves; the answer does not wait for their end."""
    targets = {TopicPartition(t.topic, t.partition): t.replicas for t in event.request.targets}
    planned = {name: plan_move(state, name, wanted) for name, wanted in targets.items()}
    moves = {name: each for name, each in planned.items() if isinstance(each, Assignment)}
    refused = {name: each for name, each in planned.items() if isinstance(each, Refused)}
    if moves:
        # The latest word counts, whichever way it came.
        yield from trim_targets(state, lambda name, _: name in moves)
    refused.update((yield from _reassign_all(state, moves)))
    yield from try_electable(state)
    yield from _journal_refusals(API, refused)
    results = tuple(_result(name, refused.get(name)) for name in targets)
    yield Reply(event.request_id, AlterReassignmentsAnswer(results=results))


def plan_move(
    state: ControllerState,
    name: TopicPartition,
    replicas: Replicas | None,
    *,
    needs_life: bool = True,
) -> Assignment | Refused:
    """The assignment on its way to these replicas (None: back to the origin), or why not."""
    partition = state.partition(*name)
    if partition is None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}")
    if state.is_being_deleted(name.topic):
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{name.topic} is being deleted")
    current = partition.assignment
    if replicas is None:
        if not current.is_reassigning:
            return Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{name} is not being reassigned")
        return current.reassign_to(current.origin)
    wrong = _find_fault(replicas)
    wanted = current.reassign_to(replicas)
    if wrong is None and needs_life:
        dead = [b for b in wanted.adding if b not in state.electable]
        if dead:
            wrong = f"brokers {dead} are not alive; alive are {sorted(state.electable)}"
    return wanted if wrong is None else Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, wrong)


def _find_fault(replicas: Replicas) -> str | None:
    """What no list of replicas may be."""
    if not replicas:
        return "the list of replicas is empty"
    if len(dict.fromkeys(replicas)) < len(replicas):
        return f"a broker is named twice in {list(replicas)}"
    if min(replicas) < 0:
        return f"a broker id in {list(replicas)} is negative"
    return None


def _reassign_all(
    state: ControllerState, moves: dict[TopicPartition, Assignment]
) -> Procedure[dict[TopicPartition, Refused]]:
    """One by one; those whose move could not be recorded are returned."""
    failed = {}
    for name, wanted in moves.items():
        partition = state.partition(*name)
        assert partition is not None, "only known partitions are planned for"
        refused = yield from reassign(state, partition, wanted)
        if refused is not None:
            failed[name] = refused
    return failed


def _journal_refusals(api: str, refused: dict[TopicPartition, Refused]) -> Procedure[None]:
    if refused:
        yield Journal(
            [
                CallRefused(
                    api,
                    each.error,
                    topic=name.topic,
                    partition=name.partition,
                    reason=each.reason,
                )
                for name, each in refused.items()
            ]
        )


def _result(name: TopicPartition, refused: Refused | None) -> PartitionResult:
    if refused is None:
        return PartitionResult(name.topic, name.partition)
    return PartitionResult(name.topic, name.partition, refused.error, refused.reason)


def on_reassignment_list_requested(
    state: ControllerState, event: ReassignmentListRequested
) -> Procedure[None]:
    """Only what is really moving is listed."""
    asked = event.request.partitions
    found: Iterable[Partition | None] = state.reassigning
    if asked is not None:
        found = [state.partition(*name) for name in dict.fromkeys(asked)]
    moving = tuple(
        (p.name, p.assignment) for p in found if p is not None and p in state.reassigning
    )
    yield Reply(event.request_id, ListReassignmentsAnswer(moving=moving))


# --- by znode ---------------------------------------------------------------------------------


def on_reassignment_znode_changed(
    state: ControllerState, _event: ReassignmentZnodeChanged
) -> Procedure[None]:
    """Somebody left a plan, or we trimmed one: then all that is left is under way."""
    yield from _follow_plan(state)
    yield from try_electable(state)


def _follow_plan(state: ControllerState) -> Procedure[dict[TopicPartition, Assignment]]:
    """Start what the plan says anew. Brokers that are not alive are waited for, not refused.

    Entries that cannot be followed are taken out; what was started is returned.
    """
    targets = yield from read_targets(state)
    moves: dict[TopicPartition, Assignment] = {}
    refused: dict[TopicPartition, Refused] = {}
    for name, replicas in targets.items():
        planned = plan_move(state, name, replicas, needs_life=False)
        if isinstance(planned, Refused):
            refused[name] = planned
        elif not planned.is_reassigning or planned != _current(state, name):
            moves[name] = planned
    refused.update((yield from _reassign_all(state, moves)))
    if refused:
        yield from _journal_refusals(PATH, refused)
        yield from trim_targets(state, lambda name, _: name in refused)
    return moves


def _current(state: ControllerState, name: TopicPartition) -> Assignment | None:
    partition = state.partition(*name)
    return None if partition is None else partition.assignment


# --- looking at moves under way ---------------------------------------------------------------


def resume_reassignments(state: ControllerState) -> Procedure[None]:
    """At failover: the plan in the znode first, which wins, then all that topics' znodes record."""
    started = yield from _follow_plan(state)
    for partition in list(state.reassigning):
        if partition.name not in started:
            yield from resume(state, partition)
    yield from try_electable(state)


def resume_reassignments_to(
    state: ControllerState, arrived: Collection[BrokerId]
) -> Procedure[None]:
    """Go on with the moves that may have waited for these brokers."""
    for partition in list(state.reassigning):
        if any(broker_id in arrived for broker_id in partition.assignment.target):
            yield from resume(state, partition)
    yield from try_electable(state)


def on_leadership_changed(state: ControllerState, event: LeadershipChanged) -> Procedure[None]:
    """A leader that writes the ISR itself has done so; looking again sets the next watch."""
    partition = state.partition(event.topic, event.partition)
    if partition is not None:
        yield from complete_reassignments(state, (partition,))
