"""How far a reassignment is: what ZooKeeper says about the ISRs of moving partitions."""

from collections.abc import Sequence

from regent.core.asks import Procedure, ReadLeaderships, WatchLeaderships, ask
from regent.core.effects import Journal
from regent.core.leader_epochs import learn_in_office
from regent.core.state import ControllerState, Partition
from regent.model.facts import Fact
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from regent.model.protocol_version import ALTER_ISR_SINCE


def arrived(state: ControllerState, partitions: Sequence[Partition]) -> Procedure[list[Partition]]:
    """Those of the partitions whose whole target is in sync, as ZooKeeper has it."""
    moving = [p for p in partitions if p.assignment.is_reassigning]
    in_sync = yield from read_isrs(state, moving)
    return [
        p
        for p in partitions
        if not p.assignment.is_reassigning
        or (p in in_sync and all(r in in_sync[p] for r in p.assignment.target))
    ]


def read_isrs(
    state: ControllerState, partitions: Sequence[Partition]
) -> Procedure[dict[Partition, tuple[BrokerId, ...]]]:
    """Leaders that write the ISR themselves do not tell us: their znodes are watched."""
    if not partitions:
        return {}
    is_told = state.config.protocol >= ALTER_ISR_SINCE
    reads = yield from ask((ReadLeaderships if is_told else WatchLeaderships)(partitions))
    facts: list[Fact] = []
    isrs = {}
    for partition, read in zip(partitions, reads, strict=True):
        if isinstance(read, Leadership):
            learn_in_office(state, partition, read, facts)
            isrs[partition] = read.isr
    if facts:
        yield Journal(facts)
    return isrs
