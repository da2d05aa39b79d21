"""Giving leadership to those who should have it: by request, by znode, and by the clock (L1, L2).

A preferred election gives a partition to the head of its assignment or leaves it alone; an unclean
one, which only a caller can ask for, takes whoever lives. Whether an election is needed is decided
on what is known; whether it succeeds, on what ZooKeeper says when it is held.
"""

from collections.abc import Iterable
from typing import Final

from regent.core.asks import (
    DeleteElectionZnode,
    Malformed,
    Procedure,
    ReadElectionZnode,
    ask,
    fence_of,
)
from regent.core.effects import Journal, Reply, SetTimer
from regent.core.election import Strategy
from regent.core.events import ElectionZnodeChanged, ElectLeadersRequested, TimerRang
from regent.core.leader_elections import choose
from regent.core.partition_machine import move_partitions
from regent.core.state import ControllerState, Partition
from regent.model.admin_requests import ElectionType, ElectLeadersAnswer, PartitionResult
from regent.model.error_codes import ErrorCode
from regent.model.facts import BalanceChecked, CallRefused, ZnodeIsolated
from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.model.states import PartitionState

API: Final = "ElectLeaders"
ZNODE: Final = "preferred_replica_election"
BALANCE_TIMER: Final = "leader-balance"
#: A new controller lets the brokers settle before it moves leaders around.
FIRST_CHECK_MS: Final = 5_000
#: How many election znodes, each written as soon as the last was gone, one event serves. The
#: removal of the last one makes an event of its own.
ZNODES_MAX: Final = 10

STRATEGIES: Final = {
    ElectionType.PREFERRED: Strategy.PREFERRED,
    ElectionType.UNCLEAN: Strategy.OFFLINE_UNCLEAN,
}
FAILURES: Final = {
    ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


# --- by request -------------------------------------------------------------------------------


def on_elect_leaders_requested(
    state: ControllerState, event: ElectLeadersRequested
) -> Procedure[None]:
    """Elect what was asked for; who asked for everything hears only of what was in need."""
    request = event.request
    if request.partitions is None:
        everything = [partition.name for partition in state.all_partitions()]
        results = yield from hold_elections(state, everything, request.election)
        results = [r for r in results if r.error is not ErrorCode.ELECTION_NOT_NEEDED]
    else:
        results = yield from hold_elections(state, request.partitions, request.election)
    yield from _record_refusals(API, results)
    yield Reply(event.request_id, ElectLeadersAnswer(results=tuple(results)))


def hold_elections(
    state: ControllerState, names: Iterable[TopicPartition], election: ElectionType
) -> Procedure[list[PartitionResult]]:
    """One result for each partition named, in the order they were first named."""
    results: dict[TopicPartition, PartitionResult] = {}
    wanted: dict[TopicPartition, Partition] = {}
    for name in names:
        partition = state.partition(name.topic, name.partition)
        refused = _needless(state, name, partition, election)
        # A success, until it turns out otherwise, keeps the partition's place among the results.
        results[name] = refused or PartitionResult(*name)
        if partition is not None and refused is None:
            wanted[name] = partition
    if wanted:
        outcomes = yield from move_partitions(
            state, wanted.values(), PartitionState.ONLINE, STRATEGIES[election]
        )
        for name, partition in wanted.items():
            outcome = outcomes[partition]
            if not isinstance(outcome, Leadership):
                reason = _why_not(state, partition, election, outcome)
                results[name] = PartitionResult(*name, FAILURES[election], reason)
    return list(results.values())


def _needless(
    state: ControllerState,
    name: TopicPartition,
    partition: Partition | None,
    election: ElectionType,
) -> PartitionResult | None:
    """Why no election is held for a partition at all, if so."""
    if partition is None:
        error, reason = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}"
    elif state.is_being_deleted(name.topic):
        error, reason = ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name.topic} is being deleted"
    elif is_well_led(state, partition, election):
        leader = state.leader_of(partition)
        error, reason = ErrorCode.ELECTION_NOT_NEEDED, f"{name} is led by {leader}, which will do"
    else:
        return None
    return PartitionResult(*name, error, reason)


def is_well_led(state: ControllerState, partition: Partition, election: ElectionType) -> bool:
    """Whether the partition has the leader that this election is there to give it.

    For an unclean one any live leader will do, one that is shutting down included.
    """
    leader = state.leader_of(partition)
    if election is ElectionType.PREFERRED:
        return partition.assignment.replicas[:1] == (leader,)
    return leader in state.brokers and not state.is_in_failed_dir(leader, partition)


def _why_not(
    state: ControllerState, partition: Partition, election: ElectionType, reason: str
) -> str:
    """The machine's reason, or what is wrong with the one replica that was to lead."""
    preferred = next(iter(partition.assignment.replicas), None)
    if election is ElectionType.UNCLEAN or preferred is None:
        return reason
    if not state.is_replica_online(preferred, partition):
        return f"the preferred replica {preferred} is not available"
    if partition.leadership is not None and preferred not in partition.leadership.isr:
        isr = list(partition.leadership.isr)
        return f"the preferred replica {preferred} is not in sync; in sync are {isr}"
    return reason


def _record_refusals(api: str, results: Iterable[PartitionResult]) -> Procedure[None]:
    refused = [
        CallRefused(api, r.error, topic=r.topic, partition=r.partition, reason=r.message)
        for r in results
        if r.error is not ErrorCode.NONE
    ]
    if refused:
        yield Journal(refused)


# --- by znode ---------------------------------------------------------------------------------


def on_election_znode_changed(
    state: ControllerState, _event: ElectionZnodeChanged
) -> Procedure[None]:
    """Our own removal of the znode is a change too; then there is nothing left to do."""
    yield from hold_pending_elections(state)


def hold_pending_elections(state: ControllerState) -> Procedure[None]:
    """Hold the preferred elections that a znode asks for, and remove it, good or bad.

    Then look again: what was written in between must not wait for the next change. Partitions
    that are well led, gone or being deleted are refused, so one that a predecessor has served is
    not elected twice.
    """
    for _ in range(ZNODES_MAX):
        found = yield from ask(ReadElectionZnode())
        if found is None:
            return
        if isinstance(found, Malformed):
            yield Journal([ZnodeIsolated(found.path, found.reason)])
        else:
            results = yield from hold_elections(state, found, ElectionType.PREFERRED)
            yield from _record_refusals(ZNODE, results)
        yield from ask(DeleteElectionZnode(fence_of(state)))


# --- by the clock -----------------------------------------------------------------------------


def start_balance(state: ControllerState) -> Procedure[None]:
    """Look at the balance for the first time soon, if at all."""
    if state.config.balances_leaders:
        yield SetTimer(BALANCE_TIMER, FIRST_CHECK_MS)


def on_timer_rang(state: ControllerState, event: TimerRang) -> Procedure[None]:
    """Time to look at the balance again; the next look is counted from the end of this one."""
    if event.name == BALANCE_TIMER:
        yield from balance_leaders(state)
        yield SetTimer(BALANCE_TIMER, state.config.balance_interval_ms)


def balance_leaders(state: ControllerState) -> Procedure[None]:
    """Where too many of the partitions that prefer a broker are led elsewhere, move them back.

    A partition under reassignment is moved like any other, to the head of the list on its way, as
    Kafka does since 3.4; earlier ones waited, which let one stuck move stop all balancing
    (KAFKA-10149). Only elections that can succeed are tried (KAFKA-9866).
    """
    facts: list[BalanceChecked] = []
    movable: list[Partition] = []
    preferring = _by_preferred(state)
    for broker_id in sorted(preferring):
        partitions = preferring[broker_id]
        astray = [p for p in partitions if p.leadership and p.leadership.leader != broker_id]
        if len(astray) * 100 > state.config.imbalance_percent * len(partitions):
            chosen = [p for p in astray if _can_be_preferred(state, p)]
            facts.append(BalanceChecked(broker_id, len(chosen)))
            movable += chosen
    if facts:
        yield Journal(facts)
    if movable:
        yield from move_partitions(state, movable, PartitionState.ONLINE, Strategy.PREFERRED)


def _by_preferred(state: ControllerState) -> dict[BrokerId, list[Partition]]:
    """The partitions that prefer each broker, without those of topics being deleted."""
    preferring: dict[BrokerId, list[Partition]] = {}
    for partition in state.all_partitions():
        replicas = partition.assignment.replicas
        if replicas and partition.topic not in state.topics_to_delete:
            preferring.setdefault(replicas[0], []).append(partition)
    return preferring


def _can_be_preferred(state: ControllerState, partition: Partition) -> bool:
    known = partition.leadership
    return known is not None and choose(state, partition, known.isr, Strategy.PREFERRED) is not None
