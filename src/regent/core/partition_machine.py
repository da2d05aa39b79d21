"""The partition state machine: which moves are legal, and what each of them does.

A move is made for many partitions at once. Partitions are grouped by the state they are in, each
group's row of the table says what to do, and a pair that has no row is refused for those partitions
while the others go on (P1). What a move writes is durable before any broker hears of it; a write
that lost a race is decided afresh on what was read back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from regent.core.asks import Procedure
from regent.core.effects import Journal
from regent.core.election import Strategy
from regent.core.leader_elections import choose, elect_first_or_again, elect_leaders
from regent.core.partition_step import PartitionStep, Results
from regent.core.state import ControllerState, Partition
from regent.model.facts import Fact, PartitionsStarted
from regent.model.states import PartitionState

NON_EXISTENT: Final = PartitionState.NON_EXISTENT
NEW: Final = PartitionState.NEW
ONLINE: Final = PartitionState.ONLINE
OFFLINE: Final = PartitionState.OFFLINE

Move: TypeAlias = Callable[[PartitionStep, Sequence[Partition]], Procedure[None]]


def move_partitions(
    state: ControllerState,
    partitions: Iterable[Partition],
    target: PartitionState,
    strategy: Strategy = Strategy.OFFLINE,
) -> Procedure[Results]:
    """Move all of these towards `target`; what is illegal or impossible stays where it is."""
    step = PartitionStep(state, strategy)
    groups: dict[PartitionState, list[Partition]] = {}
    for partition in partitions:
        group = groups.get(partition.state)
        if group is None:
            group = groups[partition.state] = []
        group.append(partition)
    for before, group in groups.items():
        move = TRANSITIONS.get((before, target))
        if move is None:
            for partition in group:
                step.refuse(partition, target, f"{before} cannot become {target}")
        else:
            yield from move(step, group)
    yield from step.journal()
    yield from step.batch.send()
    return step.results


def start_partitions(state: ControllerState) -> Procedure[None]:
    """Find the state of every loaded partition, then try all that have no leader (P2)."""
    live = state.brokers
    found: dict[PartitionState, list[Partition]] = {NEW: [], ONLINE: [], OFFLINE: []}
    new, online, offline = found.values()
    facts: list[Fact] = []
    for topic in state.topics.values():
        new_before, offline_before = len(new), len(offline)
        for partition in topic.partitions.values():
            leadership = partition.leadership
            if leadership is None:
                (offline if partition in state.unreadable else new).append(partition)
            elif leadership.leader in live and not (
                state.offline_dirs and state.is_in_failed_dir(leadership.leader, partition)
            ):
                online.append(partition)
            else:
                offline.append(partition)
        facts.append(
            PartitionsStarted(
                topic.name,
                tuple(partition.index for partition in new[new_before:]),
                tuple(partition.index for partition in offline[offline_before:]),
            )
        )
    for first, partitions in found.items():
        state.set_first_states(partitions, first)
    yield Journal(facts)
    yield from try_online(state)


def try_online(state: ControllerState) -> Procedure[Results]:
    """Try every New and Offline partition, except of topics being deleted."""
    waiting = [
        partition
        for before in (OFFLINE, NEW)
        for partition in state.partitions_in[before]
        if not state.is_abandoned(partition.topic)
    ]
    if not waiting:
        return {}
    return (yield from move_partitions(state, waiting, ONLINE, Strategy.OFFLINE))


def try_electable(state: ControllerState) -> Procedure[Results]:
    """Try the Offline partitions that have, as far as we know by now, an in-sync replica to lead.

    For the end of a procedure that may have learned of an ISR after it held its elections. Kafka
    leaves such a partition for the next change of brokers.
    """
    waiting = [
        partition
        for partition in state.partitions_in[OFFLINE]
        if not state.is_abandoned(partition.topic)
        and (known := partition.leadership) is not None
        and choose(state, partition, known.isr, Strategy.OFFLINE) is not None
    ]
    if not waiting:
        return {}
    return (yield from move_partitions(state, waiting, ONLINE, Strategy.OFFLINE))


# --- moves that only change the state ---------------------------------------------------------


def register(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """Replicas are assigned; nobody leads yet."""
    yield from _settle_all(step, partitions, NEW)


def go_offline(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """Nothing is written: ZooKeeper keeps the last leadership for the next election."""
    yield from _settle_all(step, partitions, OFFLINE)


def forget(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """The topic goes."""
    yield from _settle_all(step, partitions, NON_EXISTENT)


def _settle_all(
    step: PartitionStep, partitions: Sequence[Partition], target: PartitionState
) -> Procedure[None]:
    step.settle(partitions, target)
    yield from step.journal()


# A pair that is not in the table is illegal. The docs, the journal and the tests read this
# table; nothing repeats it.
# fmt: off
TRANSITIONS: Final[Mapping[tuple[PartitionState, PartitionState], Move]] = {
    # from          to
    (NON_EXISTENT, NEW):          register,
    (NEW,          ONLINE):       elect_first_or_again,
    (NEW,          OFFLINE):      go_offline,
    (ONLINE,       ONLINE):       elect_leaders,
    (ONLINE,       OFFLINE):      go_offline,
    (OFFLINE,      ONLINE):       elect_leaders,
    (OFFLINE,      OFFLINE):      go_offline,
    (OFFLINE,      NON_EXISTENT): forget,
}
# fmt: on
