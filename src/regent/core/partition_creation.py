"""CreatePartitions: more partitions for topics, behind those they have.

The topic's znode is read, extended and written whole. The new partitions are served when the watch
tells of them, like those that a tool has added.
"""

from collections.abc import Sequence

from regent.core.asks import (
    Malformed,
    Procedure,
    ReadTopics,
    TopicRead,
    TopicWrite,
    WriteTopics,
    ask,
    fence_of,
)
from regent.core.events import PartitionCreationRequested
from regent.core.mutation_quotas import UNLIMITED, MutationQuota
from regent.core.placement import Racks, continued_from, place, racks_of
from regent.core.quota_changes import grant_quota
from regent.core.state import ControllerState
from regent.core.topic_results import (
    Complaints,
    charge,
    refused,
    refused_repetitions,
    report,
    unwritten,
)
from regent.core.topic_rules import (
    misassigned,
    miscounted,
    misnamed,
    misnumbered,
    misreplicated,
    partly_racked,
    to_assignments,
    unequally_replicated,
)
from regent.model.admin_requests import CreatePartitionsAnswer, MorePartitions, TopicResult
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId


def on_partition_creation_requested(
    state: ControllerState, event: PartitionCreationRequested
) -> Procedure[None]:
    """One result for each topic, in the order asked; only to be validated, none is written."""
    request = event.request
    results = {topic.name: TopicResult(topic.name) for topic in request.topics}
    results.update(refused_repetitions(topic.name for topic in request.topics))
    # A name that no topic can have must not become a path.
    names = tuple(name for name in results if misnamed(name) is None)
    reads = (yield from ask(ReadTopics(names))) if names else {}
    quota: MutationQuota = UNLIMITED
    if any(reads.values()) and not request.validate_only:
        quota = yield from grant_quota(state, event.caller, event.now_ms)
    racks = racks_of(state.brokers)
    writes: list[TopicWrite] = []
    for topic in request.topics:
        if results[topic.name].error is not ErrorCode.NONE:
            continue
        read = reads.get(topic.name)
        refusal = refused(topic.name, _complaints(state, topic, read, racks))
        if refusal is None and isinstance(read, TopicRead):
            refusal = charge(topic.name, quota, topic.total_count - len(read.partitions))
        if refusal is not None:
            results[topic.name] = refusal
        elif isinstance(read, TopicRead):
            writes.append(_extended(state, topic, read, racks))
    if writes and not request.validate_only:
        failures = yield from ask(WriteTopics(fence_of(state), tuple(writes)))
        for write, failure in zip(writes, failures, strict=True):
            if failure is not None:
                results[write.topic] = unwritten(write.topic, failure)
    answer = CreatePartitionsAnswer(tuple(results.values()), quota.throttle_ms)
    yield from report("CreatePartitions", event.request_id, answer)


def _complaints(
    state: ControllerState,
    topic: MorePartitions,
    read: TopicRead | Malformed | None,
    racks: Racks,
) -> Complaints:
    if read is None:
        yield ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic.name!r}"
        return
    if state.is_being_deleted(topic.name):
        yield ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic.name} is queued for deletion"
    # Kafka has no better code for these two. The znode is written whole: what cannot be read in it
    # would be lost, and a gap would be filled by a partition that goes by another's number.
    yield ErrorCode.UNKNOWN_SERVER_ERROR, _unreadable(read)
    assert isinstance(read, TopicRead), "what is malformed was refused"
    yield ErrorCode.UNKNOWN_SERVER_ERROR, misnumbered(list(read.partitions)) or _empty(read)
    yield ErrorCode.REASSIGNMENT_IN_PROGRESS, _moving(read)
    yield ErrorCode.INVALID_PARTITIONS, _no_increase(topic, read)
    yield ErrorCode.INVALID_PARTITIONS, miscounted(topic.total_count)
    factor = len(read.partitions[0].replicas)
    if topic.assignments is None:
        yield ErrorCode.INVALID_REPLICATION_FACTOR, misreplicated(factor, racks)
        yield ErrorCode.UNKNOWN_SERVER_ERROR, partly_racked(racks)
    else:
        added = topic.total_count - len(read.partitions)
        numbered = list(enumerate(topic.assignments, len(read.partitions)))
        yield ErrorCode.INVALID_REPLICA_ASSIGNMENT, misassigned(numbered, racks)
        yield ErrorCode.INVALID_REPLICA_ASSIGNMENT, _miscounted(topic.assignments, added)
        error = unequally_replicated(topic.assignments, factor)
        yield ErrorCode.INVALID_REPLICA_ASSIGNMENT, error


def _unreadable(read: TopicRead | Malformed) -> str | None:
    if isinstance(read, Malformed):
        return f"{read.path} cannot be read: {read.reason}"
    if read.malformed:
        return f"some of its partitions cannot be read: {read.malformed}"
    return None


def _empty(read: TopicRead) -> str | None:
    return None if read.partitions else "it has no partition 0 to go on from"


def _moving(read: TopicRead) -> str | None:
    moving = [index for index, each in read.partitions.items() if each.is_reassigning]
    return f"its partitions {moving} are being reassigned" if moving else None


def _no_increase(topic: MorePartitions, read: TopicRead) -> str | None:
    count = len(read.partitions)
    if topic.total_count > count:
        return None
    return f"{topic.name} has {count} partitions; {topic.total_count} would be no increase"


def _miscounted(given: Sequence[tuple[BrokerId, ...]], wanted: int) -> str | None:
    if len(given) == wanted:
        return None
    return f"there are to be {wanted} more partitions, and {len(given)} assignments are given"


def _extended(
    state: ControllerState, topic: MorePartitions, read: TopicRead, racks: Racks
) -> TopicWrite:
    """The topic as it shall be: its id and all it has, with the new partitions behind."""
    existing = read.partitions[0].replicas
    numbers = range(len(read.partitions), topic.total_count)
    if topic.assignments is None:
        replicas = place(racks, numbers, len(existing), continued_from(existing[0], racks))
    else:
        replicas = dict(zip(numbers, topic.assignments, strict=True))
    topic_id = read.topic_id
    if topic_id is None and topic.name in state.topics:
        topic_id = state.topics[topic.name].topic_id
    return TopicWrite(topic.name, topic_id, read.partitions | to_assignments(replicas))
