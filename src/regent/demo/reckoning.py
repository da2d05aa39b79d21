"""Whether everything is as it was promised: records against answers, the journal against ZooKeeper.

Pure comparisons.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from regent.journal.replay import ReplayedState
from regent.model.ids import TopicPartition
from regent.model.known_cluster import KnownCluster


class Acknowledged(NamedTuple):
    """A record that was promised to stay."""

    number: int
    #: None when a lost answer was made up for by that to a later record, which tells no offset.
    offset: int | None


class Reckoning(Struct, frozen=True):
    """Acknowledged records, held against what can be read."""

    acknowledged: int = 0
    lost: int = 0
    #: Records that are there more than once, which an idempotent producer must not cause.
    doubled: int = 0

    def __add__(self, other: "Reckoning") -> "Reckoning":
        return Reckoning(
            self.acknowledged + other.acknowledged,
            self.lost + other.lost,
            self.doubled + other.doubled,
        )


def reckon(
    acknowledged: Mapping[TopicPartition, Sequence[Acknowledged]],
    found: Mapping[TopicPartition, Mapping[int, int]],
) -> Reckoning:
    """What is `found` is, by partition, the number of the record at each offset."""
    lost = sum(_lost(records, found.get(name, {})) for name, records in acknowledged.items())
    copies = Counter(number for records in found.values() for number in records.values())
    return Reckoning(
        acknowledged=sum(map(len, acknowledged.values())),
        lost=lost,
        doubled=sum(count - 1 for count in copies.values()),
    )


def _lost(records: Iterable[Acknowledged], found: Mapping[int, int]) -> int:
    there = set(found.values())
    return sum(
        number not in there if offset is None else found.get(offset) != number
        for number, offset in records
    )


def differences(replayed: ReplayedState, known: KnownCluster) -> Iterator[str]:
    """Where a state rebuilt from journals is not what ZooKeeper holds."""
    if replayed.controller_id != known.controller_id:
        yield f"controller {replayed.controller_id}, not {known.controller_id}"
    if sorted(replayed.brokers) != sorted(known.brokers):
        yield f"brokers {sorted(replayed.brokers)}, not {sorted(known.brokers)}"
    for topic, partitions in known.topics.items():
        for each in partitions:
            name = TopicPartition(topic, each.partition)
            rebuilt = replayed.partition(*name)
            if rebuilt is None:
                yield f"{name} is unknown"
            elif (rebuilt.assignment, rebuilt.leadership) != (each.assignment, each.leadership):
                yield f"{name} has {rebuilt.leadership}, not {each.leadership}"
    for topic in replayed.topics:
        if topic not in known.topics:
            yield f"{topic} is not forgotten"
