"""ISR changes that leaders want or have made (B6).

Two ways, by the brokers' protocol: leaders ask with AlterPartition and the controller writes, or
leaders write the state znode themselves and leave a notification. The order of the checks in
`verdict_on` is the behaviour: a repeated request is a success before any epoch is compared
(KAFKA-14144), and a leader that is ahead of us means that we are the zombie (KAFKA-14154).
"""

from collections.abc import Sequence
from typing import Final

from regent.core.asks import (
    DeleteIsrNotifications,
    LeadershipWrite,
    Malformed,
    Procedure,
    ReadIsrNotifications,
    ReadLeaderships,
    WriteFailure,
    WriteLeaderships,
    ask,
    fence_of,
)
from regent.core.effects import Journal, Reply
from regent.core.events import AlterPartitionRequested, IsrChangesNotified
from regent.core.isolation import isolate
from regent.core.leader_elections import learn
from regent.core.partition_machine import try_electable
from regent.core.reassignment_phases import complete_reassignments
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.model.alter_partition import (
    AlterPartition,
    AlterPartitionAnswer,
    IsrProposal,
    IsrVerdict,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, Fact, IsrAltered
from regent.model.leadership import Leadership

API: Final = "AlterPartition"
#: From this request version on topics are named by id, and ineligible replicas have their code.
TOPIC_IDS_SINCE_VERSION: Final = 2


# --- by request -------------------------------------------------------------------------------


def on_alter_partition_requested(
    state: ControllerState, event: AlterPartitionRequested
) -> Procedure[None]:
    """Write what may be written, answer for every partition asked about, tell everybody."""
    request = event.request
    if state.broker_epoch(request.broker_id) != request.broker_epoch:
        yield from _refuse_all(event, ErrorCode.STALE_BROKER_EPOCH)
        return
    verdicts: dict[IsrProposal, IsrVerdict] = {}
    writes: list[tuple[IsrProposal, LeadershipWrite]] = []
    asked: list[Partition] = []
    for proposal in request.proposals:
        partition = _find(state, request, proposal)
        error = _unknown(state, request, proposal) if partition is None else None
        if partition is not None:
            asked.append(partition)
            error = verdict_on(state, partition, request, proposal)
        if error is not None or partition is None:
            verdicts[proposal] = _verdict(proposal, error or ErrorCode.NONE, partition)
        else:
            writes.append((proposal, LeadershipWrite(partition, _wanted(state, request, proposal))))
    if writes:
        yield from _write(state, request, writes, verdicts)
    batch = RequestBatch(state)
    batch.add_update_metadata(state.brokers, asked)
    yield from batch.send()
    answers = tuple(verdicts[proposal] for proposal in request.proposals)
    refused = [_refusal(request, v) for v in answers if v.error is not ErrorCode.NONE]
    if refused:
        yield Journal(refused)
    # Before the answer: an event that ends in a resignation must not be answered twice.
    yield from complete_reassignments(state, dict.fromkeys(asked))
    yield Reply(event.request_id, AlterPartitionAnswer(verdicts=answers))


def verdict_on(
    state: ControllerState, partition: Partition, request: AlterPartition, proposal: IsrProposal
) -> ErrorCode | None:
    """The error, NONE when there is nothing to do, or None when it is to be written."""
    current = partition.leadership
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if proposal.zk_version > current.zk_version or proposal.leader_epoch > current.leader_epoch:
        return ErrorCode.NOT_CONTROLLER
    if proposal.leader_epoch < current.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if (request.broker_id, proposal.isr, proposal.recovering) == (
        current.leader,
        current.isr,
        current.recovering,
    ):
        return ErrorCode.NONE
    if proposal.zk_version < current.zk_version:
        return ErrorCode.INVALID_UPDATE_VERSION
    return _illegal(state, current, request, proposal)


def _illegal(
    state: ControllerState, current: Leadership, request: AlterPartition, proposal: IsrProposal
) -> ErrorCode | None:
    """What no ISR may be, whatever its epochs say."""
    if proposal.recovering and (len(proposal.isr) > 1 or not current.recovering):
        return ErrorCode.INVALID_REQUEST
    is_repeated = len(dict.fromkeys(proposal.isr)) < len(proposal.isr)
    if is_repeated or request.broker_id not in proposal.isr:
        # Kafka writes it. Who reads it back would take the state znode for damaged.
        return ErrorCode.INVALID_REQUEST
    # The leader itself may be on its way out: others must be able to join it, or nobody could ever
    # take over from it (KAFKA-999).
    others = (member for member in proposal.isr if member != request.broker_id)
    if any(member not in state.electable for member in others):
        if request.version >= TOPIC_IDS_SINCE_VERSION:
            return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.OPERATION_NOT_ATTEMPTED
    return None


def _find(
    state: ControllerState, request: AlterPartition, proposal: IsrProposal
) -> Partition | None:
    name: str | None = proposal.topic
    if request.version >= TOPIC_IDS_SINCE_VERSION:
        name = state.topic_names.get(proposal.topic)
    return None if name is None else state.partition(name, proposal.partition)


def _unknown(state: ControllerState, request: AlterPartition, proposal: IsrProposal) -> ErrorCode:
    """A known topic that lacks the partition is another thing than an unknown topic id."""
    if request.version >= TOPIC_IDS_SINCE_VERSION and proposal.topic not in state.topic_names:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _wanted(state: ControllerState, request: AlterPartition, proposal: IsrProposal) -> Leadership:
    """The leader epoch stays: the leader is the same and knows what it asked for."""
    return Leadership(
        request.broker_id,
        proposal.leader_epoch,
        proposal.isr,
        state.controller_epoch,
        proposal.zk_version,
        proposal.recovering,
    )


def _write(
    state: ControllerState,
    request: AlterPartition,
    writes: Sequence[tuple[IsrProposal, LeadershipWrite]],
    verdicts: dict[IsrProposal, IsrVerdict],
) -> Procedure[None]:
    results = yield from ask(WriteLeaderships(fence_of(state), [write for _, write in writes]))
    facts: list[Fact] = []
    lost: list[Partition] = []
    for (proposal, write), result in zip(writes, results, strict=True):
        partition, wanted = write.partition, write.leadership
        if isinstance(result, WriteFailure):
            lost.append(partition)
            error = (
                ErrorCode.INVALID_UPDATE_VERSION
                if result is WriteFailure.CONFLICT
                else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            verdicts[proposal] = _verdict(proposal, error, partition)
            continue
        written = wanted.at(result)
        state.set_leadership(partition, written)
        facts.append(
            IsrAltered(
                partition.topic,
                partition.index,
                request.broker_id,
                written.leader,
                written.leader_epoch,
                written.isr,
                written.zk_version,
                written.recovering,
            )
        )
        verdicts[proposal] = _verdict(proposal, ErrorCode.NONE, partition)
    if facts:
        yield Journal(facts)
    if lost:
        yield from refresh(state, lost)


def _verdict(proposal: IsrProposal, error: ErrorCode, partition: Partition | None) -> IsrVerdict:
    current = None if partition is None else partition.leadership
    if error is not ErrorCode.NONE or current is None:
        return IsrVerdict(proposal.topic, proposal.partition, error)
    return IsrVerdict(
        proposal.topic,
        proposal.partition,
        error,
        current.leader,
        current.leader_epoch,
        current.isr,
        current.zk_version,
        current.recovering,
    )


def _refuse_all(event: AlterPartitionRequested, error: ErrorCode) -> Procedure[None]:
    yield Journal([CallRefused(API, error, event.request.broker_id)])
    yield Reply(event.request_id, AlterPartitionAnswer(error))


def _refusal(request: AlterPartition, verdict: IsrVerdict) -> CallRefused:
    return CallRefused(API, verdict.error, request.broker_id, verdict.topic, verdict.partition)


# --- by notification --------------------------------------------------------------------------


def on_isr_changes_notified(state: ControllerState, _event: IsrChangesNotified) -> Procedure[None]:
    """Read what the notifications name, spread just that, and remove them."""
    notifications = yield from ask(ReadIsrNotifications())
    if not notifications:
        return
    changed: dict[Partition, None] = {}
    for notification in notifications:
        if isinstance(notification.partitions, Malformed):
            yield from isolate(state, [notification.partitions])
            continue
        for name in notification.partitions:
            partition = state.partition(name.topic, name.partition)
            if partition is not None:
                changed[partition] = None
    yield from refresh(state, list(changed))
    batch = RequestBatch(state)
    batch.add_update_metadata(state.brokers, changed)
    yield from batch.send()
    yield from complete_reassignments(state, changed)
    # A leader that we lost may have taken in a replica that could now lead.
    yield from try_electable(state)
    names = tuple(notification.name for notification in notifications)
    yield from ask(DeleteIsrNotifications(fence_of(state), names))


def refresh(state: ControllerState, partitions: Sequence[Partition]) -> Procedure[None]:
    """Know of these partitions what ZooKeeper knows."""
    if not partitions:
        return
    facts: list[Fact] = []
    reads = yield from ask(ReadLeaderships(partitions))
    for partition, read in zip(partitions, reads, strict=True):
        if isinstance(read, Leadership):
            learn(state, partition, read, facts)
    if facts:
        yield Journal(facts)
