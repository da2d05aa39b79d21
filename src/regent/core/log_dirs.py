"""Log directories that fail while their broker lives (B5).

A broker only says that it lost a directory. Which replicas were there shows in its answers: it is
told again about all of its replicas, and refuses those that it can no longer serve.
"""

from regent.core.asks import (
    DeleteLogDirEvents,
    Malformed,
    Procedure,
    ReadLogDirEvents,
    ask,
    fence_of,
)
from regent.core.broker_answers import on_answered
from regent.core.broker_changes import lose_replicas
from regent.core.effects import Journal
from regent.core.events import LeaderAndIsrAnswered, LogDirsFailed
from regent.core.isolation import isolate
from regent.core.partition_machine import try_electable
from regent.core.replica_machine import move_replicas
from regent.core.state import ControllerState, Partition
from regent.model.error_codes import ErrorCode
from regent.model.facts import Fact, LogDirFailed
from regent.model.ids import BrokerId
from regent.model.states import ReplicaState


def on_log_dirs_failed(state: ControllerState, _event: LogDirsFailed) -> Procedure[None]:
    """Tell the brokers concerned about all of their replicas, then remove the announcements."""
    events = yield from ask(ReadLogDirEvents())
    if not events:
        return
    yield from isolate(state, [said for _, said in events if isinstance(said, Malformed)])
    announced = [said for _, said in events if not isinstance(said, Malformed)]
    hosted = {b: _served_on(state, b) for b in dict.fromkeys(announced) if b in state.brokers}
    yield from move_replicas(state, hosted, ReplicaState.ONLINE)
    yield from ask(DeleteLogDirEvents(fence_of(state), tuple(name for name, _ in events)))


def _served_on(state: ControllerState, broker_id: BrokerId) -> list[Partition]:
    """What the broker is meant to serve; it need not be told to serve what is being deleted."""
    hosted = state.replicas_on.get(broker_id, ())
    return [partition for partition in hosted if not state.is_being_deleted(partition.topic)]


def on_leader_and_isr_answered(
    state: ControllerState, event: LeaderAndIsrAnswered
) -> Procedure[None]:
    """Take from a broker's answer which of its replicas it can serve."""
    yield from on_answered(state, event)
    # An answer of the broker's last life says nothing about its directories in this one.
    is_current = (event.controller_epoch, event.broker_epoch) == (
        state.controller_epoch,
        state.broker_epoch(event.broker_id),
    )
    if is_current and event.answer.error is ErrorCode.NONE:
        yield from _learn_failed_dirs(state, event)


def _learn_failed_dirs(state: ControllerState, event: LeaderAndIsrAnswered) -> Procedure[None]:
    broker_id = event.broker_id
    hosted, known = state.replicas_on.get(broker_id, {}), state.offline_dirs.get(broker_id, {})
    failed: list[Partition] = []
    healed: list[Partition] = []
    for name, error in event.answer.partition_errors:
        partition = state.partition(name.topic, name.partition)
        if partition is None or partition not in hosted:
            continue
        if error is ErrorCode.KAFKA_STORAGE_ERROR:
            failed.append(partition)
        elif error is ErrorCode.NONE and partition in known:
            healed.append(partition)
    if healed:
        yield from _regain(state, broker_id, healed)
    if failed:
        yield from _give_up(state, broker_id, failed)


def _give_up(
    state: ControllerState, broker_id: BrokerId, failed: list[Partition]
) -> Procedure[None]:
    """These replicas are lost until the broker starts anew, or says otherwise.

    One that is known to be lost and was brought online since, with the rest of its broker, goes
    offline again.
    """
    known = state.offline_dirs.setdefault(broker_id, {})
    in_use = (ReplicaState.NEW, ReplicaState.ONLINE)
    new = [p for p in failed if p not in known]
    lost = [p for p in failed if p not in known or state.replica_state(p, broker_id) in in_use]
    known.update(dict.fromkeys(new))
    if new:
        facts: list[Fact] = [LogDirFailed(p.topic, p.index, broker_id) for p in new]
        yield Journal(facts)
    if lost:
        yield from lose_replicas(state, {broker_id: lost})


def _regain(
    state: ControllerState, broker_id: BrokerId, healed: list[Partition]
) -> Procedure[None]:
    """The broker serves these after all: use them."""
    known = state.offline_dirs[broker_id]
    for partition in healed:
        del known[partition]
    if not known:
        del state.offline_dirs[broker_id]
    yield Journal([LogDirFailed(p.topic, p.index, broker_id, loaded=True) for p in healed])
    offline = [p for p in healed if state.replica_state(p, broker_id) is ReplicaState.OFFLINE]
    yield from move_replicas(state, {broker_id: offline}, ReplicaState.ONLINE)
    yield from try_electable(state)
