"""Raising a leader epoch without an election: the replicas listen only to what is newer."""

from regent.core.asks import (
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
from regent.core.state import ControllerState, Partition
from regent.core.strangers import without_strangers
from regent.errors import ControllerMoved
from regent.model.facts import Fact, LeaderEpochRaised, MoveRefused
from regent.model.ids import LeaderEpoch
from regent.model.leadership import Leadership


def raise_leader_epoch(state: ControllerState, partition: Partition) -> Procedure[bool]:
    """Write the same leader and ISR under the next leader epoch.

    Strangers leave the ISR: a leader that had not heard of the end of a move may have taken in a
    replica that was stopped since, and nobody else would take it out (KAFKA-9672).
    """
    for _ in range(CONFLICTS_MAX):
        (read,) = yield from ask(ReadLeaderships((partition,)))
        if not isinstance(read, Leadership):
            found = "missing" if read is None else "unreadable"
            yield Journal([stays(partition, f"the partition's state znode is {found}")])
            return False
        facts: list[Fact] = []
        learn_in_office(state, partition, read, facts)
        if facts:
            yield Journal(facts)
        leader_epoch = LeaderEpoch(read.leader_epoch + 1)
        isr = without_strangers(state, partition, read)
        wanted = Leadership(
            read.leader,
            leader_epoch,
            isr,
            state.controller_epoch,
            read.zk_version,
            read.recovering,
        )
        write = LeadershipWrite(partition, wanted)
        (result,) = yield from ask(WriteLeaderships(fence_of(state), (write,)))
        if not isinstance(result, WriteFailure):
            written = wanted.at(result)
            state.set_leadership(partition, written)
            yield Journal([_raised(partition, written)])
            return True
    yield Journal([stays(partition, f"lost {CONFLICTS_MAX} races in a row")])
    return False


def learn_in_office(
    state: ControllerState, partition: Partition, read: Leadership, facts: list[Fact]
) -> None:
    """Take over what ZooKeeper says, unless a newer controller has written it."""
    if read.controller_epoch > state.controller_epoch:
        raise ControllerMoved(f"{partition} was written by epoch {read.controller_epoch}")
    learn(state, partition, read, facts)


def stays(partition: Partition, reason: str) -> MoveRefused:
    """The partition is as it was, and why."""
    return MoveRefused(partition.topic, partition.index, reason, partition.state)


def _raised(partition: Partition, written: Leadership) -> LeaderEpochRaised:
    return LeaderEpochRaised(
        partition.topic,
        partition.index,
        written.leader,
        written.leader_epoch,
        written.isr,
        written.zk_version,
        written.recovering,
    )
