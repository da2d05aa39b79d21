"""Becoming controller, and ceasing to be.

The order of `take_office` is the meaning (E6): brokers must know who is alive before they are told
whom to follow, and nothing pending is resumed before both machines stand. Any error on the way
makes the node resign, so that another controller starts clean.
"""

from typing import Final

from regent.core.asks import (
    DeleteIsrNotifications,
    DeleteLogDirEvents,
    DropController,
    EnsureFeatures,
    Fence,
    ListTopics,
    Malformed,
    Procedure,
    ReadBrokers,
    ReadController,
    ReadControllerEpoch,
    ReadIsrNotifications,
    ReadLogDirEvents,
    TakeController,
    ask,
    fence_of,
)
from regent.core.broker_changes import take_brokers, tell_live_brokers, watch_brokers
from regent.core.config_changes import learn_configs
from regent.core.effects import CancelTimers, CloseAllChannels, DropWatches, Journal
from regent.core.events import EventBase, ResignRequested, SessionExpired, TakeOverRequested
from regent.core.leader_balance import hold_pending_elections, start_balance
from regent.core.partition_machine import start_partitions
from regent.core.reassignment import resume_reassignments
from regent.core.replica_start import start_replicas
from regent.core.state import ControllerState
from regent.core.topic_changes import give_missing_ids, load_leaderships, load_topics
from regent.core.topic_deletion import load_deletions, resume_deletions
from regent.errors import ControllerMoved
from regent.model.facts import ControllerElected, ControllerResigned, EventFailed, ZnodeIsolated
from regent.model.ids import BrokerId
from regent.model.protocol_version import FEATURES_SINCE

#: How often one event stands for election when the winner is gone again each time.
ROUNDS_MAX: Final = 5
#: The id of a holder whose znode makes no sense to us.
UNREADABLE: Final = -1


# --- election ---------------------------------------------------------------------------------


def on_session_started(state: ControllerState, event: EventBase) -> Procedure[None]:
    """A node with a session stands for election (E2)."""
    yield from stand_for_election(state, event.now_ms)


def on_controller_changed(state: ControllerState, event: EventBase) -> Procedure[None]:
    """Somebody took or left the role: resign if it was ours, stand if it is free (E3)."""
    holder = yield from _read_holder(state)
    if state.is_active and holder != state.controller_id:
        yield from resign(state, f"/controller now names {holder}")
    if holder is None:
        yield from stand_for_election(state, event.now_ms)


def on_take_over_requested(state: ControllerState, event: TakeOverRequested) -> Procedure[None]:
    """Take the role from whoever has it, without a moment in which it is free."""
    yield from stand_for_election(state, event.now_ms, deposes=True)


def stand_for_election(
    state: ControllerState, now_ms: int, *, deposes: bool = False
) -> Procedure[None]:
    """Take the role if nobody has it; a winner that is gone again means another round.

    With `deposes` it is taken from others, too, but not from one that cannot be read: that may be
    a controller of another kind, which would not notice.
    """
    spared = (state.controller_id, UNREADABLE)
    for _ in range(ROUNDS_MAX):
        holder = yield from _read_holder(state)
        if holder is not None and (not deposes or holder in spared):
            return
        current = yield from ask(ReadControllerEpoch())
        won = yield from ask(
            TakeController(state.controller_id, current, now_ms, deposes=holder is not None)
        )
        if won is not None:
            yield from take_office(state, won)
            return


def _read_holder(state: ControllerState) -> Procedure[BrokerId | int | None]:
    """Who holds the role. One that cannot be read is held, by nobody we know."""
    holder = yield from ask(ReadController())
    if isinstance(holder, Malformed):
        # KAFKA-9267: taking an unreadable znode for a living controller must not pass in silence.
        yield Journal([ZnodeIsolated(holder.path, holder.reason)])
        state.active_id = None
        return UNREADABLE
    state.active_id = holder
    return holder


# --- taking office ----------------------------------------------------------------------------


def take_office(state: ControllerState, won: Fence) -> Procedure[None]:
    """Run the steps of a failover in Kafka's order (E6)."""
    state.clear()
    state.active_id = state.controller_id
    state.controller_epoch = won.controller_epoch
    state.epoch_zk_version = won.zk_version
    yield Journal([ControllerElected()])
    yield from ask(EnsureFeatures(enabled=state.config.protocol >= FEATURES_SINCE))
    # Notifications are dropped before anything is read: the read covers what they announce.
    yield from ask(ReadIsrNotifications())
    yield from ask(DeleteIsrNotifications(fence_of(state)))
    yield from ask(ReadLogDirEvents())
    yield from ask(DeleteLogDirEvents(fence_of(state)))
    yield from learn_configs(state)
    yield from _load(state)
    # Brokers refuse to follow a leader that is not in their list of live brokers (KAFKA-4443).
    yield from tell_live_brokers(state, state.brokers)
    yield from start_replicas(state)
    yield from start_partitions(state)
    yield from resume_reassignments(state)
    yield from resume_deletions(state)
    yield from hold_pending_elections(state)
    yield from start_balance(state)


def _load(state: ControllerState) -> Procedure[None]:
    registered = yield from ask(ReadBrokers())
    yield from take_brokers(state, registered, loaded=True)
    names = yield from ask(ListTopics())
    topics = yield from load_topics(state, names)
    partitions = [p for topic in topics for p in topic.partitions.values()]
    yield from load_leaderships(state, partitions)
    yield from give_missing_ids(state, topics)
    yield from load_deletions(state)
    yield from watch_brokers(state, registered)


# --- leaving office ---------------------------------------------------------------------------


def resign(state: ControllerState, reason: str) -> Procedure[None]:
    """Stop being controller; nothing is written and the node goes on as a broker (E7)."""
    yield DropWatches()
    yield CancelTimers()
    yield CloseAllChannels()
    yield Journal([ControllerResigned(reason)])
    state.clear()
    if state.active_id == state.controller_id:
        state.active_id = None


def on_session_expired(state: ControllerState, _event: SessionExpired) -> Procedure[None]:
    """Resign first; standing again waits for the new session (E4)."""
    if state.is_active:
        yield from resign(state, "the ZooKeeper session expired")
    state.active_id = None


def on_resign_requested(state: ControllerState, _event: ResignRequested) -> Procedure[None]:
    """Give the role up at once (E9)."""
    if state.is_active:
        yield from abdicate(state, "asked to resign")


def abdicate(state: ControllerState, reason: str) -> Procedure[None]:
    """Free the role for another and resign; being deposed already is just as well."""
    try:
        yield from ask(DropController(fence_of(state)))
    except ControllerMoved as moved:
        reason = f"{reason}; {moved}"
    yield from resign(state, reason)


def abdicate_after_failure(state: ControllerState, failure: str) -> Procedure[None]:
    """Something unforeseen happened: let another controller start clean."""
    yield Journal([EventFailed(failure)])
    if state.is_active:
        yield from abdicate(state, failure)


def on_deposed(state: ControllerState, moved: ControllerMoved, now_ms: int) -> Procedure[None]:
    """A newer controller exists, or existed: resign, then look who it is.

    Whoever said so may be wrong, and then `/controller` is still ours: a role that nobody fills
    must be free.
    """
    if state.is_active:
        yield from abdicate(state, f"deposed: {moved}")
    if (yield from _read_holder(state)) is None:
        yield from stand_for_election(state, now_ms)
