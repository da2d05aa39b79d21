"""Each thing a procedure does as one line: a transcript is easier to compare than a tree.

`t-0@2` is the replica of t-0 on broker 2, and `2 <-` means that broker 2 is told.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    DeleteIsrNotifications,
    DeleteLogDirEvents,
    DeleteTopicMarkers,
    MarkTopicsForDeletion,
    ReadLeaderships,
    ReadTopicConfigs,
    ReadTopics,
    RemoveTopics,
    WatchBrokers,
    WriteLeaderships,
    WriteTopics,
)
from regent.core.effects import (
    CancelTimers,
    CloseAllChannels,
    CloseChannel,
    DropWatches,
    Effect,
    Journal,
    OpenChannel,
    Reply,
    Send,
    SetTimer,
)
from regent.model.control_requests import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import (
    AssignmentChanged,
    DeletionAdvanced,
    Fact,
    IsrAltered,
    IsrShrunk,
    LeaderElected,
    LeaderEpochRaised,
    LeadershipLearned,
    LoadedPartition,
    MoveRefused,
    PartitionMoved,
    ReassignmentAdvanced,
    ReplicaMoved,
    RequestSent,
    TopicForgotten,
    TopicLoaded,
)
from regent.model.leadership import Leadership


def lines_of(step: Ask[Any] | Effect) -> Iterator[str]:  # noqa: C901 - one case for each kind
    """The lines for one step; a journal entry has one for each fact but `RequestSent`."""
    match step:
        case Journal():
            yield from (line_of_fact(f) for f in step.facts if not isinstance(f, RequestSent))
        case Send():
            yield line_of_send(step)
        case OpenChannel():
            yield f"open channel to {step.broker.broker_id} ({step.broker_epoch})"
        case CloseChannel():
            yield f"close channel to {step.broker_id}"
        case CloseAllChannels():
            yield "close all channels"
        case DropWatches():
            yield "drop watches"
        case Reply():
            error: ErrorCode = getattr(step.answer, "error", ErrorCode.NONE)
            yield f"reply to {step.request_id}: {error.name}"
        case SetTimer():
            yield f"set timer {step.name} in {step.after_ms} ms"
        case CancelTimers():
            yield "cancel timers"
        case Ask():
            yield line_of_ask(step)


def line_of_ask(ask: Ask[Any]) -> str:  # noqa: PLR0911 - one case for each kind
    """The kind of ask, and what it is about."""
    kind = type(ask).__name__
    match ask:
        case ReadLeaderships():
            return f"{kind} {commas(ask.partitions)}"
        case CreateLeaderships() | WriteLeaderships():
            wanted = (f"{w.partition} {led(w.leadership)}" for w in ask.writes)
            return f"{kind} {'; '.join(wanted)}"
        case ReadTopics() | ReadTopicConfigs():
            return f"{kind} {commas(ask.topics)}"
        case DeleteTopicMarkers() | MarkTopicsForDeletion() | RemoveTopics():
            return f"{kind} {commas(ask.topics)}"
        case WriteTopics():
            return f"{kind} {commas(f'{w.topic} ({w.topic_id})' for w in ask.writes)}"
        case WatchBrokers():
            return f"{kind} {commas(ask.broker_ids)}"
        case DeleteIsrNotifications() | DeleteLogDirEvents():
            return f"{kind} {'all' if ask.names is None else commas(ask.names)}"
        case _:
            return kind


def line_of_send(send: Send) -> str:
    """Who is told what."""
    request = send.request
    told: Iterable[str]
    if isinstance(request, LeaderAndIsr):
        told = map(_leader_and_isr, request.partitions)
    elif isinstance(request, UpdateMetadata):
        live = commas(b.broker_id for b in request.live_brokers)
        told = (f"live={live}", *map(_metadata, request.partitions))
    else:
        told = map(_stop, request.partitions)
    return f"{send.broker_id} <- {type(request).__name__} {'; '.join(told)}"


def _leader_and_isr(entry: LeaderAndIsrPartition) -> str:
    new = " new" if entry.is_new else ""
    return f"{entry.topic}-{entry.partition} {led(entry.leadership)}{new}"


def _metadata(entry: PartitionMetadata) -> str:
    away = f" offline={commas(entry.offline_replicas)}" if entry.offline_replicas else ""
    return (
        f"{entry.topic}-{entry.partition} leader={entry.leader} isr={commas(entry.isr)}"
        f" epoch={entry.leader_epoch} v{entry.zk_version} replicas={commas(entry.replicas)}{away}"
    )


def _stop(entry: StopReplicaPartition) -> str:
    delete = " delete" if entry.delete else ""
    return f"{entry.topic}-{entry.partition} epoch={entry.leader_epoch}{delete}"


def line_of_fact(fact: Fact) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind
    """What took hold."""
    match fact:
        case PartitionMoved():
            return f"{fact.topic}-{fact.partition} {fact.before} -> {fact.after}"
        case ReplicaMoved():
            replica = f"{fact.topic}-{fact.partition}@{fact.broker_id}"
            return f"{replica} {fact.replica_before} -> {fact.replica_after}"
        case MoveRefused(broker_id=None):
            return f"{fact.topic}-{fact.partition} stays {fact.before}: {fact.reason}"
        case MoveRefused():
            replica = f"{fact.topic}-{fact.partition}@{fact.broker_id}"
            return f"{replica} stays {fact.replica_before}: {fact.reason}"
        case LeaderElected():
            unclean = " unclean" if fact.unclean else ""
            moved = f"{fact.topic}-{fact.partition} {fact.before} -> OnlinePartition"
            return f"{moved} {_fact_led(fact)}{unclean}"
        case LeadershipLearned():
            return f"{fact.topic}-{fact.partition} learned {_fact_led(fact)}"
        case IsrShrunk():
            return f"{fact.topic}-{fact.partition}@{fact.broker_id} shrunk {_fact_led(fact)}"
        case LeaderEpochRaised():
            return f"{fact.topic}-{fact.partition} raised {_fact_led(fact)}"
        case ReassignmentAdvanced():
            return f"{fact.topic}-{fact.partition} reassignment {fact.phase}"
        case IsrAltered():
            return f"{fact.topic}-{fact.partition} altered {_fact_led(fact)}"
        case DeletionAdvanced():
            return f"{fact.topic} deletion {fact.phase}{f': {fact.reason}' if fact.reason else ''}"
        case TopicForgotten():
            return f"{fact.topic} forgotten"
        case AssignmentChanged():
            adding = f" adding={commas(fact.adding)}" if fact.adding else ""
            removing = f" removing={commas(fact.removing)}" if fact.removing else ""
            assigned = f"{fact.topic}-{fact.partition} assigned to {commas(fact.replicas)}"
            return f"{assigned}{adding}{removing}"
        case TopicLoaded():
            loaded = "; ".join(map(_loaded, fact.partitions))
            return f"{fact.topic} loaded ({fact.topic_id}): {loaded}"
        case _:
            return repr(fact)


def _loaded(entry: LoadedPartition) -> str:
    found = f"{entry.partition} on {commas(entry.replicas)}"
    if entry.isr is None:
        return found
    led_by = f"leader={entry.leader} isr={commas(entry.isr)}"
    return f"{found} {led_by} epoch={entry.leader_epoch} v{entry.zk_version}"


def _fact_led(
    fact: LeaderElected | LeadershipLearned | LeaderEpochRaised | IsrShrunk | IsrAltered,
) -> str:
    recovering = " recovering" if fact.recovering else ""
    isr, epoch = commas(fact.isr), fact.leader_epoch
    return f"leader={fact.leader} isr={isr} epoch={epoch} v{fact.zk_version}{recovering}"


def led(leadership: Leadership) -> str:
    """A leadership in a few words; the controller epoch is left out."""
    recovering = " recovering" if leadership.recovering else ""
    isr, epoch = commas(leadership.isr), leadership.leader_epoch
    return (
        f"leader={leadership.leader} isr={isr} epoch={epoch} v{leadership.zk_version}{recovering}"
    )


def commas(items: Iterable[object]) -> str:
    """All of them, with commas between."""
    return ",".join(map(str, items))
