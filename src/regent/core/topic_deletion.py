"""Topics that shall be deleted, from the marker to the last znode (T3).

A marked topic is queued. When nothing keeps it back its deletion starts: its partitions leave their
machine, everybody hears that nobody leads them any more, and the brokers are told to delete their
replicas. Once all have confirmed, the znodes go, the marker last: a successor finds whatever is
not finished.

`resume_deletions` looks where every queued topic is and does what comes next. It runs after each
event that may have changed that; there is no timer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from regent.core.asks import (
    DeleteTopicMarkers,
    ListTopicDeletions,
    Procedure,
    RemoveTopics,
    ask,
    fence_of,
)
from regent.core.broker_answers import on_answered
from regent.core.effects import Journal
from regent.core.events import StopReplicaAnswered, TopicDeletionsChanged
from regent.core.partition_machine import move_partitions
from regent.core.replica_machine import (
    INELIGIBLE,
    NON_EXISTENT,
    OFFLINE,
    STARTED,
    SUCCESSFUL,
    move_replicas,
)
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.model.error_codes import ErrorCode
from regent.model.facts import DeletionAdvanced, TopicForgotten
from regent.model.ids import BrokerId
from regent.model.states import PartitionState, ReplicaState

IS_REASSIGNING: Final = "a partition is being reassigned"
HAS_OFFLINE_REPLICA: Final = "a replica is offline"


# --- what is to be deleted --------------------------------------------------------------------


def on_topic_deletions_changed(
    state: ControllerState, _event: TopicDeletionsChanged
) -> Procedure[None]:
    """Queue the marked topics that exist; a marker without a topic is only in the way."""
    marked = yield from _list_markers(state)
    unknown = tuple(t for t in marked if t not in state.topics)
    if unknown:
        yield from ask(DeleteTopicMarkers(fence_of(state), unknown))
    yield from _queue(state, marked)
    yield from resume_deletions(state)


def load_deletions(state: ControllerState) -> Procedure[None]:
    """Know what predecessors have left to do, before either machine starts.

    A topic with a replica offline waits for it, so that nothing is told to its live brokers that a
    predecessor may have told them already.
    """
    marked = yield from _list_markers(state)
    # The topic znode went and the marker did not: somebody died at the very end of a deletion.
    leftover = tuple(t for t in marked if t not in state.topics)
    if leftover:
        yield from ask(RemoveTopics(fence_of(state), leftover))
        yield Journal([DeletionAdvanced(t, "finished") for t in leftover])
    yield from _queue(state, marked)
    waiting = [t for t in state.topics_to_delete if _has_offline_replica(state, t)]
    yield from mark_ineligible(state, waiting, HAS_OFFLINE_REPLICA)


def _list_markers(state: ControllerState) -> Procedure[list[str]]:
    """The marked topics. Where nothing is ever deleted the markers go at once (KAFKA-3175)."""
    marked = yield from ask(ListTopicDeletions())
    if marked and not state.config.deletes_topics:
        yield from ask(DeleteTopicMarkers(fence_of(state), marked))
        return []
    # A topic of which something cannot be read is there, but nobody knows which replicas it has.
    return [t for t in marked if f"/brokers/topics/{t}" not in state.isolated]


def _queue(state: ControllerState, marked: Iterable[str]) -> Procedure[None]:
    """Queue what is new. Conflicts are noted before any deletion can start (KAFKA-1558)."""
    new = [t for t in marked if t in state.topics and t not in state.topics_to_delete]
    if new:
        state.queue_deletions(new)
        yield Journal([DeletionAdvanced(t, "queued") for t in new])
        moving = [t for t in new if state.reassigning_in(t)]
        yield from mark_ineligible(state, moving, IS_REASSIGNING)


# --- what keeps a deletion back ---------------------------------------------------------------


def mark_ineligible(state: ControllerState, topics: Iterable[str], reason: str) -> Procedure[None]:
    """Deletions of these, as far as they are queued, wait until `resume_deletions` names them."""
    new = [t for t in topics if t in state.topics_to_delete and t not in state.topics_ineligible]
    if new:
        state.topics_ineligible.update(dict.fromkeys(new))
        yield Journal([DeletionAdvanced(t, "ineligible", reason) for t in new])


def fail_deletions(
    state: ControllerState, replicas: Mapping[BrokerId, Sequence[Partition]]
) -> Procedure[None]:
    """These replicas have gone offline: those of topics being deleted cannot be deleted now."""
    failed: dict[BrokerId, list[Partition]] = {}
    topics: dict[str, None] = {}
    for broker_id, partitions in replicas.items():
        for partition in partitions:
            before = state.replica_state(partition, broker_id)
            if partition.topic not in state.topics_to_delete or before is SUCCESSFUL:
                continue
            topics[partition.topic] = None
            # Others are online still: their topic is queued, and its deletion has not started.
            if before in (STARTED, OFFLINE):
                failed.setdefault(broker_id, []).append(partition)
    if topics:
        yield from move_replicas(state, failed, INELIGIBLE)
        yield from mark_ineligible(state, topics, HAS_OFFLINE_REPLICA)
        yield from resume_deletions(state)


def _has_offline_replica(state: ControllerState, topic: str) -> bool:
    return any(
        not state.is_replica_online(broker_id, partition)
        for partition in state.topics[topic].partitions.values()
        for broker_id in partition.assignment.replicas
    )


# --- what brokers have deleted ----------------------------------------------------------------


def on_stop_replica_answered(state: ControllerState, event: StopReplicaAnswered) -> Procedure[None]:
    """Only the answer to a delete confirms a delete, and only where one is waited for."""
    yield from on_answered(state, event)
    asked_by_us = event.controller_epoch == state.controller_epoch
    if not asked_by_us or event.broker_epoch != state.broker_epoch(event.broker_id):
        return
    errors = dict(event.answer.partition_errors)
    deleted: list[Partition] = []
    failed: list[Partition] = []
    for name in event.deleted:
        partition = state.partition(name.topic, name.partition)
        if partition is None or not _is_awaited(state, partition, event.broker_id):
            continue
        is_deleted = (event.answer.error, errors.get(name)) == (ErrorCode.NONE, ErrorCode.NONE)
        (deleted if is_deleted else failed).append(partition)
    if deleted or failed:
        yield from move_replicas(state, {event.broker_id: deleted}, SUCCESSFUL)
        yield from move_replicas(state, {event.broker_id: failed}, INELIGIBLE)
        reason = f"broker {event.broker_id} did not delete a replica"
        yield from mark_ineligible(state, dict.fromkeys(p.topic for p in failed), reason)
        yield from resume_deletions(state)


def _is_awaited(state: ControllerState, partition: Partition, broker_id: BrokerId) -> bool:
    return (
        partition.topic in state.topics_in_deletion
        and state.replica_state(partition, broker_id) is STARTED
    )


# --- what comes next --------------------------------------------------------------------------


def resume_deletions(
    state: ControllerState, topics: Iterable[str] | None = None
) -> Procedure[None]:
    """Do what comes next for every queued topic.

    With `topics`, what kept these back may be over: a broker of theirs has started, a
    reassignment of theirs has ended. If none of them is queued, there is nothing new.
    """
    if topics is not None:
        resumed = [t for t in topics if t in state.topics_to_delete]
        if not resumed:
            return
        for topic in resumed:
            if not state.reassigning_in(topic):
                state.topics_ineligible.pop(topic, None)
    finished: list[str] = []
    failed: list[str] = []
    ready: list[str] = []
    for topic in state.topics_to_delete:
        found = _replica_states(state, topic)
        if all(each is SUCCESSFUL for each in found):
            finished.append(topic)
        elif STARTED not in found:
            if INELIGIBLE in found:
                failed.append(topic)
            if topic not in state.topics_ineligible:
                ready.append(topic)
    yield from _finish(state, finished)
    # Ineligible cannot become Started; what failed goes back to where every deletion starts from.
    yield from move_replicas(state, _replicas_in(state, failed, INELIGIBLE), OFFLINE)
    yield from _start(state, ready)


def _start(state: ControllerState, topics: Sequence[str]) -> Procedure[None]:
    """Take these topics from everybody's sight and have their replicas deleted."""
    if not topics:
        return
    unseen = [t for t in topics if t not in state.topics_in_deletion]
    leaving = _partitions_of(state, unseen)
    yield from move_partitions(state, leaving, PartitionState.OFFLINE)
    yield from move_partitions(state, leaving, PartitionState.NON_EXISTENT)
    state.begin_deletions(unseen)
    phases = {t: "started" if t in unseen else "retried" for t in topics}
    yield Journal([DeletionAdvanced(topic, phase) for topic, phase in phases.items()])
    batch = RequestBatch(state)
    batch.add_update_metadata(state.brokers, _partitions_of(state, topics))
    yield from batch.send()
    yield from _delete_replicas(state, topics)


def _delete_replicas(state: ControllerState, topics: Sequence[str]) -> Procedure[None]:
    """Have the live replicas deleted; those that are offline keep their topics waiting."""
    to_stop: dict[BrokerId, list[Partition]] = {}
    to_delete: dict[BrokerId, list[Partition]] = {}
    out_of_reach: dict[BrokerId, list[Partition]] = {}
    for partition in _partitions_of(state, topics):
        for broker_id in partition.assignment.replicas:
            before = state.replica_state(partition, broker_id)
            if before is SUCCESSFUL:
                continue
            is_online = state.is_replica_online(broker_id, partition)
            if is_online or before is not OFFLINE:
                to_stop.setdefault(broker_id, []).append(partition)
            side = to_delete if is_online else out_of_reach
            side.setdefault(broker_id, []).append(partition)
    yield from move_replicas(state, to_stop, OFFLINE)
    yield from move_replicas(state, out_of_reach, INELIGIBLE)
    yield from move_replicas(state, to_delete, STARTED)
    waiting = dict.fromkeys(p.topic for partitions in out_of_reach.values() for p in partitions)
    yield from mark_ineligible(state, waiting, HAS_OFFLINE_REPLICA)


def _finish(state: ControllerState, topics: Sequence[str]) -> Procedure[None]:
    """All replicas are deleted: the znodes go, then all that is known."""
    if not topics:
        return
    yield from move_replicas(state, _replicas_in(state, topics, SUCCESSFUL), NON_EXISTENT)
    yield from ask(RemoveTopics(fence_of(state), tuple(topics)))
    for topic in topics:
        state.remove_topic(topic)
    yield Journal([TopicForgotten(topic) for topic in topics])
    yield Journal([DeletionAdvanced(topic, "finished") for topic in topics])


# --- looking at topics ------------------------------------------------------------------------


def _partitions_of(state: ControllerState, topics: Iterable[str]) -> list[Partition]:
    return [p for topic in topics for p in state.topics[topic].partitions.values()]


def _replica_states(state: ControllerState, topic: str) -> list[ReplicaState]:
    return [
        state.replica_state(partition, broker_id)
        for partition in state.topics[topic].partitions.values()
        for broker_id in partition.assignment.replicas
    ]


def _replicas_in(
    state: ControllerState, topics: Iterable[str], wanted: ReplicaState
) -> dict[BrokerId, list[Partition]]:
    """The replicas of these topics that are in one state."""
    found: dict[BrokerId, list[Partition]] = {}
    for partition in _partitions_of(state, topics):
        for broker_id in partition.assignment.replicas:
            if state.replica_state(partition, broker_id) is wanted:
                found.setdefault(broker_id, []).append(partition)
    return found
