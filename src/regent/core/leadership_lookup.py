"""What to decide on: the leaderships that are known, or read anew where that is not enough.

A write is made on condition that nobody wrote in between. So a decision to write may be made on
what is known: if that was out of date, the write loses its race and is decided afresh on what is
then read. A decision to write nothing has no such proof, and is made only on what was just read.
"""

from collections.abc import Callable, Sequence

from regent.core.asks import LeadershipRead, Procedure, ReadLeaderships, ask
from regent.core.state import Partition
from regent.model.leadership import Leadership


def look_up(
    partitions: Sequence[Partition], leads_to_write: Callable[[Partition, Leadership], bool]
) -> Procedure[Sequence[LeadershipRead]]:
    """For each partition what is known of it if that leads to a write, else what ZooKeeper says."""
    found: list[LeadershipRead] = []
    unsure: list[int] = []
    for place, partition in enumerate(partitions):
        known = partition.leadership
        found.append(known)
        if known is None or not leads_to_write(partition, known):
            unsure.append(place)
    if unsure:
        reads = yield from ask(ReadLeaderships([partitions[place] for place in unsure]))
        for place, read in zip(unsure, reads, strict=True):
            found[place] = read
    return found
