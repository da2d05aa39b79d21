"""The replica state machine: which moves are legal, and what each of them does.

Like the partition machine it moves many replicas at once, grouped by broker and by the state they
are in. The one move that writes is the one to OfflineReplica: it takes the replica out of the ISR.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from regent.core.asks import (
    LeadershipRead,
    LeadershipWrite,
    Procedure,
    ReadLeaderships,
    WriteFailure,
    WriteLeaderships,
    ask,
    fence_of,
)
from regent.core.effects import Journal
from regent.core.leader_elections import CONFLICTS_MAX, learn
from regent.core.leadership_lookup import look_up
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.core.strangers import without_strangers
from regent.errors import ControllerMoved
from regent.model.assignment import Assignment
from regent.model.facts import (
    AssignmentChanged,
    Fact,
    IsrShrunk,
    MoveRefused,
    ReplicaMoved,
)
from regent.model.ids import NO_LEADER, BrokerId, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.model.states import ReplicaState

NON_EXISTENT: Final = ReplicaState.NON_EXISTENT
NEW: Final = ReplicaState.NEW
ONLINE: Final = ReplicaState.ONLINE
OFFLINE: Final = ReplicaState.OFFLINE
STARTED: Final = ReplicaState.DELETION_STARTED
SUCCESSFUL: Final = ReplicaState.DELETION_SUCCESSFUL
INELIGIBLE: Final = ReplicaState.DELETION_INELIGIBLE

#: Replicas to move: for each broker, the partitions.
Replicas: TypeAlias = Mapping[BrokerId, Iterable[Partition]]


class ReplicaStep:
    """One call of the machine for one broker after the other."""

    def __init__(self, state: ControllerState) -> None:
        self.state = state
        self.batch = RequestBatch(state)
        self.facts: list[Fact] = []

    def refuse(
        self, partition: Partition, broker_id: BrokerId, target: ReplicaState, reason: str
    ) -> None:
        """The replica stays as it is."""
        self.facts.append(
            MoveRefused(
                partition.topic,
                partition.index,
                reason,
                broker_id=broker_id,
                replica_before=self.state.replica_state(partition, broker_id),
                replica_after=target,
            )
        )

    def settle(self, partition: Partition, broker_id: BrokerId, target: ReplicaState) -> None:
        """The move takes hold."""
        before = self.state.set_replica_state(partition, broker_id, target)
        if before is not target:
            self.facts.append(
                ReplicaMoved(partition.topic, partition.index, broker_id, before, target)
            )

    def settle_all(
        self, partitions: Iterable[Partition], broker_id: BrokerId, target: ReplicaState
    ) -> None:
        """The moves of many replicas on one broker take hold."""
        known = self.state.replicas_on.get(broker_id, {})
        moved = [p for p in partitions if known.get(p, NON_EXISTENT) is not target]
        if moved:
            self.facts += [
                ReplicaMoved(p.topic, p.index, broker_id, known.get(p, NON_EXISTENT), target)
                for p in moved
            ]
            self.state.set_replica_states(moved, broker_id, target)

    def assign(self, partition: Partition, after: Assignment) -> None:
        """The partition's replicas are others from now on."""
        self.state.set_assignment(partition, after)
        self.facts.append(
            AssignmentChanged(
                partition.topic, partition.index, after.replicas, after.adding, after.removing
            )
        )

    def journal(self) -> Iterable[Journal]:
        """Hand over the facts so far."""
        if self.facts:
            yield Journal(self.facts)
            self.facts = []


Move: TypeAlias = Callable[[ReplicaStep, BrokerId, Sequence[Partition]], Procedure[None]]


def move_replicas(
    state: ControllerState, replicas: Replicas, target: ReplicaState
) -> Procedure[None]:
    """Move all of these towards `target`; what is illegal or impossible stays where it is."""
    step = ReplicaStep(state)
    for broker_id, partitions in replicas.items():
        groups: dict[ReplicaState, list[Partition]] = {}
        known = state.replicas_on.get(broker_id, {})
        for partition in partitions:
            before = known.get(partition, NON_EXISTENT)
            group = groups.get(before)
            if group is None:
                group = groups[before] = []
            group.append(partition)
        for before, group in groups.items():
            move = TRANSITIONS.get((before, target))
            if move is None:
                for partition in group:
                    step.refuse(partition, broker_id, target, f"{before} cannot become {target}")
            else:
                yield from move(step, broker_id, group)
    yield from step.journal()
    yield from step.batch.send()


# --- moves ------------------------------------------------------------------------------------


def introduce(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """A replica that its broker has never heard of; it follows, if there is somebody to follow."""
    introduced = []
    for partition in partitions:
        leadership = partition.leadership
        if leadership is not None:
            if leadership.leader == broker_id:
                step.refuse(partition, broker_id, NEW, "the leader cannot be a new replica")
                continue
            step.batch.add_leader_and_isr((broker_id,), partition, is_new=True)
        introduced.append(partition)
    step.settle_all(introduced, broker_id, NEW)
    yield from step.journal()


def join(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """A new replica has been told all there is to tell; the assignment has it from now on."""
    for partition in partitions:
        before = partition.assignment
        if broker_id not in before.replicas:
            joined = (*before.replicas, broker_id)
            step.assign(partition, Assignment(joined, before.adding, before.removing))
    step.settle_all(partitions, broker_id, ONLINE)
    yield from step.journal()


def come_online(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """Tell the broker what it hosts; this is how a restarted one learns it."""
    led = [p for p in partitions if p.leadership is not None]
    step.batch.add_known(broker_id, led)
    if step.state.reassigning:
        for partition in still_new(broker_id, led):
            step.batch.add_leader_and_isr((broker_id,), partition, is_new=True)
    step.settle_all(partitions, broker_id, ONLINE)
    yield from step.journal()


def still_new(broker_id: BrokerId, partitions: Iterable[Partition]) -> list[Partition]:
    """Replicas that a move adds and that are not in sync.

    After a failover or a bounce nobody knows whether the broker has heard of them. If it has not,
    and one of its directories has failed, it makes only what it is told is new (KAFKA-10314).
    """
    return [
        p
        for p in partitions
        if broker_id in p.assignment.adding
        and p.leadership is not None
        and broker_id not in p.leadership.isr
    ]


def start_deletion(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """Have the replica deleted; the broker's answer comes back as an event."""
    for partition in partitions:
        step.batch.add_stop_replica(broker_id, partition, delete=True)
        step.settle(partition, broker_id, STARTED)
    yield from step.journal()


def finish_deletion(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """The broker has deleted it."""
    yield from _settle_all(step, broker_id, partitions, SUCCESSFUL)


def give_deletion_up(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """It cannot be deleted now."""
    yield from _settle_all(step, broker_id, partitions, INELIGIBLE)


def _settle_all(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition], target: ReplicaState
) -> Procedure[None]:
    step.settle_all(partitions, broker_id, target)
    yield from step.journal()


def leave(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """The replica is gone: out of the assignment, and no state of it is kept."""
    for partition in partitions:
        before = partition.assignment
        if broker_id in before.replicas:
            groups = (before.replicas, before.adding, before.removing)
            step.assign(partition, Assignment(*(_others(group, broker_id) for group in groups)))
        step.settle(partition, broker_id, NON_EXISTENT)
    yield from step.journal()


# --- going offline ----------------------------------------------------------------------------


def go_offline(
    step: ReplicaStep, broker_id: BrokerId, partitions: Sequence[Partition]
) -> Procedure[None]:
    """Stop the replica and take it out of the ISR, whose last member stays (R4)."""
    state, batch = step.state, step.batch
    batch.add_stop_replicas(broker_id, partitions)
    led = [p for p in partitions if p.leadership is not None]
    unled = [p for p in partitions if p.leadership is None]
    # Brokers must hear that this one is gone even when no partition's leadership changes.
    batch.add_update_metadata(state.brokers, unled)
    step.settle_all(unled, broker_id, OFFLINE)
    yield from step.journal()
    waiting: Sequence[Partition] = led
    reads = yield from look_up(led, lambda _, known: broker_id in known.isr)
    for _ in range(CONFLICTS_MAX):
        waiting = yield from _leave_isr(step, broker_id, waiting, reads)
        yield from step.journal()
        if not waiting:
            return
        reads = yield from ask(ReadLeaderships(waiting))
    for partition in waiting:
        step.refuse(partition, broker_id, OFFLINE, f"lost {CONFLICTS_MAX} races in a row")


def _leave_isr(
    step: ReplicaStep,
    broker_id: BrokerId,
    partitions: Sequence[Partition],
    reads: Sequence[LeadershipRead],
) -> Procedure[list[Partition]]:
    """One round: those whose write lost a race are returned, to be decided afresh."""
    state, controller_epoch = step.state, step.state.controller_epoch
    writes = []
    for partition, read in zip(partitions, reads, strict=True):
        if not isinstance(read, Leadership):
            _stay_or_go(step, broker_id, partition, read)
            continue
        if read.controller_epoch > controller_epoch:
            raise ControllerMoved(f"{partition} was written by epoch {read.controller_epoch}")
        if read is not partition.leadership:
            learn(state, partition, read, step.facts)
        if broker_id in read.isr:
            writes.append(LeadershipWrite(partition, without(state, partition, read, broker_id)))
        else:
            _gone_offline(step, broker_id, partition)
    if not writes:
        return []
    results = yield from ask(WriteLeaderships(fence_of(state), writes))
    waiting = []
    for write, result in zip(writes, results, strict=True):
        if not isinstance(result, WriteFailure):
            _shrunk(step, broker_id, write, result)
        elif result is WriteFailure.CONFLICT:
            waiting.append(write.partition)
        else:
            _stay_or_go(step, broker_id, write.partition, None)
    return waiting


def without(
    state: ControllerState, partition: Partition, before: Leadership, broker_id: BrokerId
) -> Leadership:
    """The leadership less one replica. The last in-sync one is never dropped: it has the data.

    Strangers, which a leader took in before it heard that they had moved away, leave with it.
    """
    isr = without_strangers(state, partition, before)
    return Leadership(
        NO_LEADER if before.leader == broker_id else before.leader,
        LeaderEpoch(before.leader_epoch + 1),
        isr if len(isr) == 1 else _others(isr, broker_id),
        state.controller_epoch,
        before.zk_version,
        before.recovering,
    )


# A dying broker leaves thousands of partitions and few different sets of replicas: each is made
# once, which is faster and lets the partitions share it.
@lru_cache(maxsize=4096)
def _others(members: tuple[BrokerId, ...], broker_id: BrokerId) -> tuple[BrokerId, ...]:
    return tuple(r for r in members if r != broker_id)


def _shrunk(
    step: ReplicaStep, broker_id: BrokerId, write: LeadershipWrite, zk_version: ZkVersion
) -> None:
    partition, wanted = write.partition, write.leadership
    leader, leader_epoch, isr = wanted.leader, wanted.leader_epoch, wanted.isr
    written = wanted.at(zk_version)
    step.state.set_leadership(partition, written)
    step.facts.append(
        IsrShrunk(
            partition.topic,
            partition.index,
            broker_id,
            leader,
            leader_epoch,
            isr,
            zk_version,
            wanted.recovering,
        )
    )
    _gone_offline(step, broker_id, partition)


def _gone_offline(step: ReplicaStep, broker_id: BrokerId, partition: Partition) -> None:
    """The replica is out of the ISR (or its last member): the others are told what is now."""
    if not step.state.is_abandoned(partition.topic):
        others = _others(partition.assignment.replicas, broker_id)
        step.batch.add_leader_and_isr(others, partition, is_new=False)
    step.settle(partition, broker_id, OFFLINE)


def _stay_or_go(
    step: ReplicaStep, broker_id: BrokerId, partition: Partition, read: LeadershipRead
) -> None:
    """Without a state znode only a replica of a topic being deleted can go offline."""
    if partition.topic in step.state.topics_to_delete:
        step.settle(partition, broker_id, OFFLINE)
    else:
        found = "missing" if read is None else "unreadable"
        step.refuse(partition, broker_id, OFFLINE, f"the partition's state znode is {found}")


# A pair that is not in the table is illegal. The docs, the journal and the tests read this
# table; nothing repeats it.
# fmt: off
TRANSITIONS: Final[Mapping[tuple[ReplicaState, ReplicaState], Move]] = {
    # from          to
    (NON_EXISTENT, NEW):          introduce,
    (NEW,          ONLINE):       join,
    (ONLINE,       ONLINE):       come_online,
    (OFFLINE,      ONLINE):       come_online,
    (INELIGIBLE,   ONLINE):       come_online,
    (NEW,          OFFLINE):      go_offline,
    (ONLINE,       OFFLINE):      go_offline,
    (OFFLINE,      OFFLINE):      go_offline,
    (INELIGIBLE,   OFFLINE):      go_offline,
    (OFFLINE,      STARTED):      start_deletion,
    (STARTED,      SUCCESSFUL):   finish_deletion,
    (OFFLINE,      INELIGIBLE):   give_deletion_up,
    (STARTED,      INELIGIBLE):   give_deletion_up,
    (SUCCESSFUL,   NON_EXISTENT): leave,
}
# fmt: on
