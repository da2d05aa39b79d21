"""A broker that wants to go has its leaderships moved first (B4).

From the request until its registration vanishes the broker is alive in one sense and dead in the
other: it is told things and may be followed, and it is neither elected nor taken into an ISR.
"""

from typing import Final

from regent.core.asks import Procedure
from regent.core.effects import Journal, Reply
from regent.core.election import Strategy
from regent.core.events import ControlledShutdownRequested
from regent.core.partition_machine import move_partitions
from regent.core.replica_machine import move_replicas
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.model.admin_requests import ControlledShutdown, ControlledShutdownAnswer
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, ShutdownAdvanced
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerId
from regent.model.states import PartitionState, ReplicaState

API: Final = "ControlledShutdown"


def on_controlled_shutdown_requested(
    state: ControllerState, event: ControlledShutdownRequested
) -> Procedure[None]:
    """Move what the broker leads, stop what it follows, and say what it still leads.

    A broker that is told of partitions asks again after a while, and all of this is done again.
    """
    request, broker_id = event.request, event.request.broker_id
    refused = _refusal(state, request)
    if refused is not None:
        yield Journal([refused])
        yield Reply(event.request_id, ControlledShutdownAnswer(refused.error))
        return
    state.mark_shutting_down(broker_id)
    hosted = _replicated_on(state, broker_id)
    led = [p for p in hosted if state.leader_of(p) == broker_id]
    followed = [p for p in hosted if state.leader_of(p) != broker_id]
    # Recorded before anything is moved: from here on the broker is not elected.
    yield Journal([ShutdownAdvanced(broker_id, len(led))])
    yield from move_partitions(state, led, PartitionState.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    yield from _stop_following(state, broker_id, followed)
    remaining = tuple(
        p.name for p in _replicated_on(state, broker_id) if state.leader_of(p) == broker_id
    )
    yield Journal([ShutdownAdvanced(broker_id, len(remaining))])
    yield Reply(event.request_id, ControlledShutdownAnswer(remaining=remaining))


def _refusal(state: ControllerState, request: ControlledShutdown) -> CallRefused | None:
    """A request from an earlier life of the broker must not shut down the present one."""
    broker_id, claimed = request.broker_id, request.broker_epoch
    known = state.broker_epoch(broker_id)
    if known is None:
        error, reason = ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is not registered"
    elif claimed != BROKER_EPOCH_UNKNOWN and claimed < known:
        error = ErrorCode.STALE_BROKER_EPOCH
        reason = f"broker {broker_id} is registered with epoch {known}, not {claimed}"
    else:
        return None
    return CallRefused(API, error, broker_id, reason=reason)


def _replicated_on(state: ControllerState, broker_id: BrokerId) -> list[Partition]:
    """What the broker hosts and others have too; what only it has cannot be moved anyway."""
    return [
        partition
        for partition in state.replicas_on.get(broker_id, ())
        if len(partition.assignment.replicas) > 1
        and partition.leadership is not None
        and not state.is_being_deleted(partition.topic)
    ]


def _stop_following(
    state: ControllerState, broker_id: BrokerId, partitions: list[Partition]
) -> Procedure[None]:
    """Stop the fetching first: a replica that still fetches would be taken back into the ISR."""
    stops = RequestBatch(state)
    stops.add_stop_replicas(broker_id, partitions)
    yield from stops.send()
    yield from move_replicas(state, {broker_id: partitions}, ReplicaState.OFFLINE)
