"""Where the replicas of new partitions go, as Kafka's `AdminUtils` does it.

First replicas go round the brokers, so that leaders are spread; the others follow at a distance
that grows with every round, so that the partitions of one leader do not all have the same
followers. Where brokers have racks, the round goes from rack to rack, and no rack gets a second
replica of a partition while another has none. Where to begin is chance, and comes in from outside.
"""

from collections.abc import Mapping
from itertools import cycle

from msgspec import Struct

from regent.model.brokers import RegisteredBroker
from regent.model.ids import BrokerId

#: Brokers and the rack of each. Either all of them have one or none has.
Racks = Mapping[BrokerId, str | None]


class PlacementStart(Struct, frozen=True):
    """Which broker is first, and how far behind it the second replica begins."""

    index: int
    shift: int


def racks_of(brokers: Mapping[BrokerId, RegisteredBroker]) -> Racks:
    """The brokers on which replicas can be put, those that are shutting down included."""
    return {broker_id: registered.broker.rack for broker_id, registered in brokers.items()}


def continued_from(first: BrokerId, racks: Racks) -> PlacementStart:
    """Where placement goes on for a topic whose partition 0 has this first replica.

    If that broker is gone, the next one takes its place. Kafka looks for it in the order of ids,
    also where the round then goes from rack to rack.
    """
    brokers = sorted(racks)
    index = next((i for i, broker_id in enumerate(brokers) if broker_id >= first), 0)
    return PlacementStart(index, index)


def place(
    racks: Racks, partitions: range, replication_factor: int, start: PlacementStart
) -> dict[int, tuple[BrokerId, ...]]:
    """The replicas of each of these partitions; the first one is preferred."""
    assert 0 < replication_factor <= len(racks), "there is a broker for each replica"
    assert not has_some_racks(racks), "racks are known of all brokers or of none"
    ring = _to_ring(racks)
    count, shift = len(ring.brokers), start.shift
    choose = _across_racks if ring.rack_count else _in_order
    placed: dict[int, tuple[BrokerId, ...]] = {}
    for partition in partitions:
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start.index) % count
        placed[partition] = choose(ring, replication_factor, first, shift)
    return placed


def has_some_racks(racks: Racks) -> bool:
    """Whether some brokers have a rack and others have none; then nobody can place by racks."""
    known = [rack is not None for rack in racks.values()]
    return any(known) and not all(known)


def rack_by_rack(racks: Racks) -> list[BrokerId]:
    """One broker of each rack in turn, until all have had theirs."""
    waiting: dict[str | None, list[BrokerId]] = {}
    for broker_id in sorted(racks):
        waiting.setdefault(racks[broker_id], []).append(broker_id)
    queues = [waiting[rack] for rack in sorted(waiting, key=str)]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


class _Ring(Struct, frozen=True):
    """The brokers in the order of the round; without racks, `rack_count` is 0."""

    brokers: list[BrokerId]
    racks: Racks
    rack_count: int

    def behind(self, first: int, steps: int) -> BrokerId:
        """A broker behind the first one: round all the others, and never the first itself."""
        count = len(self.brokers)
        return self.brokers[(first + 1 + steps % (count - 1)) % count]


def _to_ring(racks: Racks) -> _Ring:
    if all(rack is None for rack in racks.values()):
        return _Ring(sorted(racks), racks, 0)
    return _Ring(rack_by_rack(racks), racks, len(dict.fromkeys(racks.values())))


def _in_order(ring: _Ring, replication_factor: int, first: int, shift: int) -> tuple[BrokerId, ...]:
    followers = (ring.behind(first, shift + j) for j in range(replication_factor - 1))
    return (ring.brokers[first], *followers)


def _across_racks(
    ring: _Ring, replication_factor: int, first: int, shift: int
) -> tuple[BrokerId, ...]:
    leader = ring.brokers[first]
    chosen, used = {leader: None}, {ring.racks[leader]: None}
    for step in cycle(range(len(ring.brokers) - 1)):
        if len(chosen) == replication_factor:
            break
        candidate = ring.behind(first, shift * ring.rack_count + step)
        rack = ring.racks[candidate]
        is_rack_free = rack not in used or len(used) == ring.rack_count
        if is_rack_free and candidate not in chosen:
            chosen[candidate] = used[rack] = None
    return tuple(chosen)
