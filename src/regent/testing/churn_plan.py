"""A schedule of faults, drawn from a seed and from nothing else.

It knows how many brokers there are, and keeps its own account of which of them it has put out of
order; how long a cluster takes over a step changes nothing about the next one.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from regent.errors import BadInput


class ChurnKind(Enum):
    """What is done to a cluster."""

    KILL = "kill"
    STOP = "stop"
    PAUSE = "pause"
    CUT = "cut"
    #: Its ZooKeeper session ends while it lives.
    EXPIRE = "expire"
    #: Some partition gets other replicas, or the same ones in another order.
    MOVE = "move"
    START = "start"
    RESUME = "resume"
    HEAL = "heal"


#: Each fault, and what mends it.
# fmt: off
REMEDIES: Final = {
    ChurnKind.KILL:  ChurnKind.START,
    ChurnKind.STOP:  ChurnKind.START,
    ChurnKind.PAUSE: ChurnKind.RESUME,
    ChurnKind.CUT:   ChurnKind.HEAL,
}
# fmt: on

#: What needs no remedy: the cluster gets over it by itself.
PASSING: Final = (ChurnKind.EXPIRE, ChurnKind.MOVE)
FAULTS: Final = (*REMEDIES, *PASSING)
#: How many brokers a fault is about, where that is not one; None: all that are well, in any order.
BROKER_COUNTS: Final[Mapping[ChurnKind, int | None]] = {ChurnKind.CUT: 2, ChurnKind.MOVE: None}
#: How often something that is out of order is mended, when more could be put out of order too.
MENDING: Final = 0.6


class ChurnStep(Struct, frozen=True):
    """One thing to do, after a rest."""

    rest_s: float
    kind: ChurnKind
    #: One broker; two for a cut, and for its healing; for a move, where replicas may go.
    broker_ids: tuple[int, ...]
    #: From 0 to 1: which of all partitions is moved. The schedule does not know how many there are.
    lot: float = 0.0

    @property
    def is_fault(self) -> bool:
        """Whether it puts something out of order, if only for a moment."""
        return self.kind in FAULTS

    def __str__(self) -> str:
        if self.kind is ChurnKind.MOVE:
            return f"move partition {self.lot:.3f} to {', '.join(map(str, self.broker_ids))}"
        return f"{self.kind.value} {' and '.join(map(str, self.broker_ids))}"


def plan_churn(
    seed: int,
    broker_ids: Sequence[int],
    *,
    kinds: Sequence[ChurnKind] = FAULTS,
    rest_s: tuple[float, float] = (0.2, 2.0),
) -> Iterator[ChurnStep]:
    """Steps without end. Of all brokers, less than half are out of order at a time, or just one."""
    possible = [kind for kind in kinds if kind is not ChurnKind.CUT or len(broker_ids) > 1]
    if not broker_ids or not possible or not set(possible) <= set(FAULTS):
        raise BadInput(f"no schedule of {[kind.value for kind in kinds]} for {len(broker_ids)}")
    draw = random.Random(seed)
    broken: list[ChurnStep] = []
    broken_max = max(1, (len(broker_ids) - 1) // 2)
    while True:
        pause_s = round(draw.uniform(*rest_s), 3)
        if broken and (len(broken) >= broken_max or draw.random() < MENDING):
            fault = broken.pop(draw.randrange(len(broken)))
            yield ChurnStep(pause_s, REMEDIES[fault.kind], fault.broker_ids)
            continue
        hit = {broker_id for fault in broken for broker_id in fault.broker_ids}
        well = [broker_id for broker_id in broker_ids if broker_id not in hit]
        # One cut at a time, since healing undoes all of them.
        is_cut = any(fault.kind is ChurnKind.CUT for fault in broken)
        kind = draw.choice([each for each in possible if each is not ChurnKind.CUT or not is_cut])
        hit_count = BROKER_COUNTS.get(kind, 1) or len(well)
        lot = draw.random() if kind is ChurnKind.MOVE else 0.0
        step = ChurnStep(pause_s, kind, tuple(draw.sample(well, hit_count)), lot)
        if kind not in PASSING:
            broken.append(step)
        yield step
