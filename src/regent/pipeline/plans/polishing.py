"""The last brokers outside the band, one replica at a time.

Each step makes the distance of all brokers from the band smaller, so it ends; it looks only at
replicas that are about as heavy as what is over or missing, so a step costs little in a cluster of
any size.
"""

from typing import Final

import numpy as np

from regent.pipeline.plans.bounds import Band
from regent.pipeline.plans.draft import Draft, siblings_of
from regent.pipeline.plans.problem import NOBODY, Flags, Floats, Ints

STEPS_MAX: Final = 300
#: How many replicas of a broker, and how many brokers on the other side, a step looks at.
REPLICAS_SEEN: Final = 128
SOURCES_SEEN: Final = 8
TARGETS_SEEN: Final = 64

#: Partition, slot, and the broker that it goes to.
PolishStep = tuple[int, int, int]


def polish(draft: Draft, band: Band, members: Flags, *, giving: Flags, receiving: Flags) -> None:
    """Take the best step for the broker that is farthest off, while one helps."""
    is_whole = (draft.replicas == NOBODY) | draft.problem.is_live[draft.replicas]
    movable: Flags = is_whole.all(axis=1)
    is_hopeless = ~members
    for _ in range(STEPS_MAX):
        off = np.where(is_hopeless, 0.0, distance(draft.load, band))
        worst = int(off.argmax())
        if off[worst] <= 1e-9 * max(band.mean, 1.0):
            return
        if draft.load[worst] > band.high:
            sources = [worst] if giving[worst] else []
            targets = _lowest(draft.load, receiving, TARGETS_SEEN)
        else:
            sources = _lowest(-draft.load, giving, SOURCES_SEEN)
            targets = [worst] if receiving[worst] else []
        step = _best_step(draft, band, movable, sources, targets)
        if step is None:
            is_hopeless[worst] = True
        else:
            draft.move(*step)
            is_hopeless = ~members


def distance(load: Floats, band: Band) -> Floats:
    """How far each load is outside the band."""
    far: Floats = np.maximum(load - band.high, 0.0) + np.maximum(band.low - load, 0.0)
    return far


def _lowest(key: Floats, among: Flags, count: int) -> list[int]:
    chosen = np.flatnonzero(among)
    first: list[int] = chosen[np.argsort(key[chosen], kind="stable")][:count].tolist()
    return first


def _best_step(
    draft: Draft, band: Band, movable: Flags, sources: list[int], targets: list[int]
) -> PolishStep | None:
    """The step that brings the two brokers nearest to the band together; None if none does."""
    best: PolishStep | None = None
    best_gain = 1e-9 * max(band.mean, 1.0)
    receivers = np.array(targets, dtype=np.int32)
    for source in sources:
        partitions, slots = _fitting(draft, band, movable, source)
        if not len(partitions) or not len(receivers):
            continue
        weights = draft.problem.weight[partitions]
        load = draft.load
        given = distance(load[[source]], band) - distance(load[source] - weights, band)
        taken = distance(load[receivers], band)[None, :] - distance(
            load[receivers][None, :] + weights[:, None], band
        )
        gain = np.where(fits(draft, partitions, slots, receivers), given[:, None] + taken, -np.inf)
        row, column = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[row, column] > best_gain:
            best_gain = float(gain[row, column])
            best = (int(partitions[row]), int(slots[row]), int(receivers[column]))
    return best


def _fitting(draft: Draft, band: Band, movable: Flags, source: int) -> tuple[Ints, Ints]:
    """The replicas of a broker whose weight is nearest to what it has over the mean."""
    partitions, slots = np.nonzero((draft.replicas == source) & movable[:, None])
    wanted = abs(float(draft.load[source]) - band.mean)
    order = np.argsort(abs(draft.problem.weight[partitions] - wanted), kind="stable")
    nearest = order[:REPLICAS_SEEN]
    return partitions[nearest].astype(np.int32), slots[nearest].astype(np.int32)


def fits(draft: Draft, partitions: Ints, slots: Ints, receivers: Ints) -> Flags:
    """Which replica (row) may go to which broker (column)."""
    racks = draft.problem.rack_of
    rows = draft.replicas[partitions]
    is_sibling = siblings_of(rows, slots)
    row_racks = racks[rows]
    own = np.take_along_axis(row_racks, slots[:, None].astype(np.intp), axis=1)
    shared = ((row_racks == own) & is_sibling).sum(axis=1)
    crowd = (
        (row_racks[:, :, None] == racks[receivers][None, None, :]) & is_sibling[:, :, None]
    ).sum(axis=1)
    has = (rows[:, :, None] == receivers[None, None, :]).any(axis=1)
    room = (draft.problem.capacity - draft.used)[receivers]
    allowed: Flags = (
        ~has & (crowd <= shared[:, None]) & (draft.size[partitions][:, None] <= room[None, :])
    )
    return allowed
