"""What a wave of moves may not do to a partition, and a model of what it does.

The model knows just what a reassignment comes to: the newcomers catch up if there is a leader to
copy from, and when all of the target are in sync the others go. That is enough to look at a
hundred thousand moves in seconds; whether it is right, the controller's own procedures say
(`waves`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from regent.dryrun.snapshot import Snapshot, SnapshotBroker, SnapshotPartition

Row = tuple[int, ...]


class WaveFinding(Struct, frozen=True):
    """What a wave would break, and where. Waves count from 1."""

    wave: int
    partition: str
    detail: str


class PartitionView(Struct, frozen=True):
    """What the rules look at."""

    in_sync: int
    is_led: bool
    #: The replicas that shall stay.
    target: Row


class WaveRules:
    """What holds for the whole cluster while waves go over it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.live = frozenset(broker.id for broker in snapshot.brokers)
        self.rack_of = {broker.id: broker.rack for broker in snapshot.brokers}
        self._fewest = _least_crowding(snapshot.brokers)

    def faults(self, now: PartitionView, began: PartitionView, min_isr: int) -> Iterator[str]:
        """What is wrong with a partition now, given how it was before the first wave."""
        needed = min(began.in_sync, min_isr)
        if now.in_sync < needed:
            yield f"{now.in_sync} replicas are in sync, and {needed} must be"
        if began.is_led and not now.is_led:
            yield "nobody leads it any more"
        fewest = self._fewest[min(len(now.target), len(self._fewest) - 1)]
        if self.crowding(now.target) > max(self.crowding(began.target), fewest):
            racks = [self.rack_of.get(broker) for broker in now.target]
            yield f"replicas {list(now.target)} lie in racks {racks}, which is worse than before"

    def crowding(self, replicas: Sequence[int]) -> int:
        """In how many pairs two replicas share a rack."""
        racks = [self.rack_of.get(broker) or broker for broker in replicas]
        return sum(racks[:i].count(rack) for i, rack in enumerate(racks))


def unfinished(missing: Sequence[int]) -> str:
    """What is said of a move that waits for these replicas."""
    return f"its move does not end: {list(missing)} are not in sync and alive"


def _least_crowding(brokers: Iterable[SnapshotBroker]) -> list[int]:
    """The fewest pairs that share a rack, by number of replicas.

    A rack's n-th replica shares it with those before it, so the racks with the fewest are filled
    first; a broker without a rack is a rack of its own.
    """
    sizes = Counter(broker.rack or broker.id for broker in brokers)
    shared = sorted(before for size in sizes.values() for before in range(size))
    return [0, *accumulate(shared)]


class ModelledPartition:
    """A partition that goes through the waves without a controller."""

    def __init__(self, partition: SnapshotPartition, live: frozenset[int]) -> None:
        """As a controller has it when it has taken office: led by somebody in sync and alive."""
        known = partition.leadership
        in_sync = partition.replicas if known is None else known.isr
        self.live = live
        self.is_new = known is None
        self.replicas: Row = partition.replicas
        self.in_sync: Row = tuple(broker for broker in in_sync if broker in live)

    def view(self, target: Row | None = None) -> PartitionView:
        """As the rules see it; while it moves, with its target."""
        return PartitionView(
            len(self.in_sync), bool(self.in_sync), self.replicas if target is None else target
        )

    def missing(self, target: Row) -> Row:
        """Who of the target is not in sync even when all have caught up who can.

        Nobody, if only the order changes: there is nothing to wait for.
        """
        if set(target) == set(self.replicas):
            return ()
        return tuple(broker for broker in target if broker not in self._caught_up(target))

    def move(self, target: Row) -> None:
        """The end of a move that nobody is missing for."""
        if set(target) != set(self.replicas):
            self.in_sync = tuple(broker for broker in self._caught_up(target) if broker in target)
        self.replicas = target

    def _caught_up(self, target: Row) -> Row:
        """Without anybody in sync there is nothing to copy from, unless nobody ever led."""
        if not (self.in_sync or self.is_new):
            return ()
        joined = (broker for broker in target if broker in self.live)
        return tuple(dict.fromkeys((*self.in_sync, *joined)))
