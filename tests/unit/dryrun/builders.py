"""Small clusters to ask about."""

from regent.dryrun.snapshot import (
    SNAPSHOT_VERSION,
    Snapshot,
    SnapshotBroker,
    SnapshotLeadership,
    SnapshotPartition,
    SnapshotTopic,
)


def partition(
    index: int, *replicas: int, isr: tuple[int, ...] | None = None, leader: int | None = None
) -> SnapshotPartition:
    """A partition with everybody in sync and the first in sync leading, unless said otherwise."""
    in_sync = replicas if isr is None else isr
    leads = in_sync[0] if leader is None else leader
    return SnapshotPartition(index, replicas, leadership=SnapshotLeadership(leads, in_sync))


def topic(name: str, *partitions: SnapshotPartition, **configs: str) -> SnapshotTopic:
    """A topic with an id made from its name."""
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    return SnapshotTopic(name, partitions, f"id-of-{name}", settings)


def cluster(*topics: SnapshotTopic, brokers: tuple[int, ...] = (1, 2, 3)) -> Snapshot:
    """These brokers, odd ones in rack `odd` and even ones in rack `even`."""
    registered = tuple(SnapshotBroker(b, "odd" if b % 2 else "even", 100 + b) for b in brokers)
    return Snapshot(SNAPSHOT_VERSION, registered, topics)
