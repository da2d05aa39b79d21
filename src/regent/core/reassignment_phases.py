"""The steps of a reassignment, numbered as in Kafka: U records it, A adds replicas, B ends it.

The stored assignment alone says what is original and what is target, so that any controller can go
on from any step (KAFKA-9089). The leader epoch is raised for each step that the leader must know
of: once to announce the replicas that come, once to elect or to announce the target, once for each
replica that leaves the ISR. Folding these together would let an old leader take back what was
removed (KAFKA-1097).
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from regent.core.asks import Procedure, TopicWrite, WriteFailure, WriteTopics, ask, fence_of
from regent.core.effects import Journal
from regent.core.election import Strategy
from regent.core.leader_epochs import raise_leader_epoch, stays
from regent.core.partition_machine import move_partitions, try_electable
from regent.core.reassignment_progress import arrived, read_isrs
from regent.core.reassignment_znode import trim_targets
from regent.core.replica_machine import move_replicas
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.core.topic_deletion import IS_REASSIGNING, mark_ineligible, resume_deletions
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.facts import AssignmentChanged, ReassignmentAdvanced
from regent.model.ids import NO_LEADER, BrokerId
from regent.model.leadership import Leadership
from regent.model.states import PartitionState, ReplicaState

#: How a replica that is no longer wanted goes. Nobody waits for the broker's answer.
WAY_OUT = (
    ReplicaState.OFFLINE,
    ReplicaState.DELETION_STARTED,
    ReplicaState.DELETION_SUCCESSFUL,
    ReplicaState.NON_EXISTENT,
)


class Refused(Struct, frozen=True):
    """Why a move was not recorded; the partition is as it was."""

    error: ErrorCode
    reason: str


# --- triggers ---------------------------------------------------------------------------------


def reassign(
    state: ControllerState, partition: Partition, wanted: Assignment
) -> Procedure[Refused | None]:
    """Record where a partition shall go, and go as far as its ISR allows."""
    yield from mark_ineligible(state, (partition.topic,), IS_REASSIGNING)  # 0
    if partition.assignment != wanted:
        refused = yield from _record(state, partition, wanted)
        if refused is not None:
            return refused
    yield from _pursue(state, partition)
    return None


def resume(state: ControllerState, partition: Partition) -> Procedure[None]:
    """Go on with a recorded move: announce it again, or end it."""
    yield from mark_ineligible(state, (partition.topic,), IS_REASSIGNING)  # 0
    before = partition.assignment
    if any(r in before.removing for r in before.adding):
        # Somebody was about to drop these (see `_record`) and did not get to the end.
        refused = yield from _record(state, partition, before.reassign_to(before.target))
        if refused is not None:
            yield Journal([stays(partition, refused.reason)])
    yield from _pursue(state, partition)


def complete_reassignments(
    state: ControllerState, partitions: Iterable[Partition]
) -> Procedure[None]:
    """End the moves of these partitions whose targets are in sync by now."""
    moving = [p for p in partitions if p in state.reassigning]
    if moving:
        for partition in (yield from arrived(state, moving)):
            yield from _finish(state, partition)
        # Looking may have shown an ISR that a lost leader has left behind.
        yield from try_electable(state)


def _pursue(state: ControllerState, partition: Partition) -> Procedure[None]:
    if partition.leadership is None and partition.assignment.is_reassigning:
        # Nobody has led it yet, and one of the replicas that come may be the first who can.
        yield from _introduce(state, partition)
        yield from move_partitions(state, (partition,), PartitionState.ONLINE)
    if (yield from arrived(state, (partition,))):
        yield from _finish(state, partition)
    else:
        yield from _add_replicas(state, partition)


# --- U: recorded ------------------------------------------------------------------------------


def _record(
    state: ControllerState, partition: Partition, wanted: Assignment
) -> Procedure[Refused | None]:
    """U1 topic znode, U2 memory, U3 the replicas that a replaced or cancelled move dropped.

    While they are being dropped, the znode has them as coming and as going. That changes neither
    origin nor target, and is how a successor knows that they are still to be stopped.
    """
    before = partition.assignment
    dropped = tuple(r for r in before.replicas if r not in wanted.replicas)
    refused = yield from _object(state, partition, dropped)
    if refused is not None:
        return refused
    recorded = Assignment(
        wanted.replicas + dropped, wanted.adding + dropped, wanted.removing + dropped
    )
    if recorded != before and (yield from _write_topic(state, partition, recorded)) is not None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic's znode is gone")
    is_cancelled = before.is_reassigning and not wanted.is_reassigning
    yield from _assign(state, partition, wanted)
    yield from _advance(partition, "C" if is_cancelled else "U")
    if dropped:
        if not (yield from _delete_replicas(state, partition, dropped)):
            yield from _assign(state, partition, recorded)
            return None
        yield from _replace_leader(state, partition)
        yield from _write_topic(state, partition, wanted)
    return None


def _object(
    state: ControllerState, partition: Partition, dropped: Sequence[BrokerId]
) -> Procedure[Refused | None]:
    """What speaks against recording a move, however sensible its target."""
    if is_unwritable(state, partition):
        return Refused(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "parts of the topic's znode cannot be read and would be lost if it were written",
        )
    is_new = partition.leadership is None and partition not in state.unreadable
    if not dropped or is_new:
        return None
    isr = (yield from read_isrs(state, (partition,))).get(partition)
    if isr is None:
        return Refused(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"the partition's state cannot be read, so {list(dropped)} cannot be dropped",
        )
    if all(member in dropped for member in isr):
        return Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"only {list(isr)} of the replicas are in sync, and dropping them would lose data",
        )
    return None


def is_unwritable(state: ControllerState, partition: Partition) -> bool:
    """Whether rewriting the topic's znode would lose what we could not read of it."""
    return f"/brokers/topics/{partition.topic}" in state.isolated


def _replace_leader(state: ControllerState, partition: Partition) -> Procedure[None]:
    """A replica that was dropped may have been the leader."""
    if partition.leadership is not None and partition.leadership.leader == NO_LEADER:
        yield from move_partitions(state, (partition,), PartitionState.OFFLINE)
        yield from move_partitions(state, (partition,), PartitionState.ONLINE)


# --- A: replicas are added --------------------------------------------------------------------


def _add_replicas(state: ControllerState, partition: Partition) -> Procedure[None]:
    if partition.leadership is not None:
        yield from _announce(state, partition)  # A1
    yield from _introduce(state, partition)  # A2
    yield from _advance(partition, "A")


def _announce(state: ControllerState, partition: Partition) -> Procedure[bool]:
    """Tell all replicas of the assignment, under a new leader epoch or they would not listen.

    Replicas that come are told that they are new: a broker with a failed directory would otherwise
    take them for lost ones and refuse to make them (KAFKA-10314).
    """
    is_raised = yield from raise_leader_epoch(state, partition)
    if is_raised:
        batch = RequestBatch(state)
        batch.add_leader_and_isr(partition.assignment.origin, partition, is_new=False)
        batch.add_leader_and_isr(partition.assignment.adding, partition, is_new=True)
        yield from batch.send()
    return is_raised


def _introduce(state: ControllerState, partition: Partition) -> Procedure[None]:
    """Replicas that come for the first time; after a resume they are known already."""
    unknown = [
        r
        for r in partition.assignment.adding
        if state.replica_state(partition, r) is ReplicaState.NON_EXISTENT
    ]
    if unknown:
        yield from move_replicas(state, dict.fromkeys(unknown, (partition,)), ReplicaState.NEW)


# --- B: finished ------------------------------------------------------------------------------


def _finish(state: ControllerState, partition: Partition) -> Procedure[None]:
    """The target takes over. The topic znode is written last: only it knows the origin."""
    before = partition.assignment
    if before.is_reassigning and is_unwritable(state, partition):
        yield Journal([stays(partition, "parts of the topic's znode cannot be read")])
        return
    yield from _bring_online(state, partition)  # B1
    yield from _assign(state, partition, Assignment(before.target))  # B2
    is_done = yield from _settle_leader(state, partition)  # B3
    if is_done and before.removing:
        is_done = yield from _delete_replicas(state, partition, before.removing)  # B4, B5
    if before.is_reassigning:
        if is_done:
            target = partition.assignment
            is_done = (yield from _write_topic(state, partition, target)) is None  # B6
        if not is_done:
            # As ZooKeeper has it: the move goes on at the next occasion.
            yield from _assign(state, partition, before)
            return
    yield from _advance(partition, "B")
    reached = (partition.name, before.target)
    yield from trim_targets(state, lambda name, replicas: (name, replicas) == reached)  # B7
    batch = RequestBatch(state)
    batch.add_update_metadata(state.brokers, (partition,))
    yield from batch.send()  # B8
    yield from resume_deletions(state, (partition.topic,))


def _bring_online(state: ControllerState, partition: Partition) -> Procedure[None]:
    """Replicas on dead brokers wait for these, and those that are online are told in B3."""
    yield from _introduce(state, partition)
    coming = [
        r
        for r in partition.assignment.adding
        if r in state.brokers and state.replica_state(partition, r) is not ReplicaState.ONLINE
    ]
    if coming:
        yield from move_replicas(state, dict.fromkeys(coming, (partition,)), ReplicaState.ONLINE)


def _settle_leader(state: ControllerState, partition: Partition) -> Procedure[bool]:
    """The leader stays if it is of the target; it must know the target before others are stopped.

    Whether nothing stands against removing the others.
    """
    leader = state.leader_of(partition)
    if leader in partition.assignment.replicas and state.is_replica_online(leader, partition):
        return (yield from _announce(state, partition))
    results = yield from move_partitions(
        state, (partition,), PartitionState.ONLINE, Strategy.REASSIGN
    )
    return isinstance(results.get(partition), Leadership)


# --- what several steps do --------------------------------------------------------------------


def _delete_replicas(
    state: ControllerState, partition: Partition, broker_ids: Sequence[BrokerId]
) -> Procedure[bool]:
    """Out of the ISR, stopped, deleted and forgotten; whether that went well for all."""
    for target in WAY_OUT:
        left = [
            r
            for r in broker_ids
            if state.replica_state(partition, r) is not ReplicaState.NON_EXISTENT
        ]
        yield from move_replicas(state, dict.fromkeys(left, (partition,)), target)
        if any(state.replica_state(partition, r) is not target for r in left):
            return False
    return True


def _assign(state: ControllerState, partition: Partition, after: Assignment) -> Procedure[None]:
    if partition.assignment != after:
        state.set_assignment(partition, after)
        yield Journal(
            [
                AssignmentChanged(
                    partition.topic, partition.index, after.replicas, after.adding, after.removing
                )
            ]
        )


def _write_topic(
    state: ControllerState, partition: Partition, assignment: Assignment
) -> Procedure[WriteFailure | None]:
    """The topic's whole znode, with this assignment for this partition."""
    partitions = {**state.assignments_of(partition.topic), partition.index: assignment}
    topic_id = state.topics[partition.topic].topic_id
    write = TopicWrite(partition.topic, topic_id, partitions)
    (failure,) = yield from ask(WriteTopics(fence_of(state), (write,)))
    return failure


def _advance(partition: Partition, phase: str) -> Procedure[None]:
    now = partition.assignment
    yield Journal(
        [
            ReassignmentAdvanced(
                partition.topic, partition.index, phase, now.replicas, now.adding, now.removing
            )
        ]
    )
