"""Taking a snapshot: everything that a controller would read, read once and kept.

It asks what the core asks, so it works on whatever can answer the core. What cannot be read is left
out, and said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from regent.core.asks import (
    Ask,
    LeadershipRead,
    ListTopicDeletions,
    ListTopics,
    Malformed,
    ReadBrokerDefaults,
    ReadBrokers,
    ReadLeaderships,
    ReadTopicConfigs,
    ReadTopics,
    TopicRead,
)
from regent.core.state import Partition
from regent.dryrun.snapshot import (
    SNAPSHOT_VERSION,
    Snapshot,
    SnapshotBroker,
    SnapshotEndpoint,
    SnapshotLeadership,
    SnapshotPartition,
    SnapshotTopic,
)
from regent.model.assignment import Assignment
from regent.model.brokers import RegisteredBroker
from regent.model.leadership import Leadership

Answerer = Callable[[Ask[Any]], Any]


def capture(
    answer: Answerer, *, at_ms: int | None = None, cluster: str | None = None
) -> tuple[Snapshot, tuple[str, ...]]:
    """The cluster as it is now, and what had to be left out.

    What time it is and what the cluster is called only the caller can tell.
    """
    left_out: list[str] = []
    brokers = _readable(answer(ReadBrokers()), left_out)
    names = answer(ListTopics())
    topics = _readable(answer(ReadTopics(names)), left_out)
    configs = _readable(answer(ReadTopicConfigs(tuple(topics))), left_out)
    defaults = _readable({"defaults": answer(ReadBrokerDefaults())}, left_out)
    deleting = dict.fromkeys(answer(ListTopicDeletions()))
    partitions = _partitions(answer, topics, left_out)
    snapshot = Snapshot(
        SNAPSHOT_VERSION,
        tuple(map(_to_broker, brokers.values())),
        tuple(
            SnapshotTopic(
                name,
                partitions[name],
                read.topic_id,
                configs.get(name, {}),
                name in deleting,
            )
            for name, read in topics.items()
        ),
        defaults.get("defaults", {}),
        at_ms,
        cluster,
    )
    return snapshot, tuple(left_out)


def _readable(reads: Mapping[Any, Any], left_out: list[str]) -> dict[Any, Any]:
    """What is there and can be used."""
    _report(reads.values(), left_out)
    return {
        key: read
        for key, read in reads.items()
        if read is not None and not isinstance(read, Malformed)
    }


def _report(reads: Iterable[Any], left_out: list[str]) -> None:
    left_out += [f"{read.path}: {read.reason}" for read in reads if isinstance(read, Malformed)]


def _partitions(
    answer: Answerer, topics: Mapping[str, TopicRead], left_out: list[str]
) -> dict[str, tuple[SnapshotPartition, ...]]:
    """Of all topics at once: a cluster may have thousands of them, each a question by itself."""
    partitions = [
        Partition(name, index, assignment)
        for name, read in topics.items()
        for index, assignment in sorted(read.partitions.items())
    ]
    left_out += [
        f"{name}-{index}: {reason}"
        for name, read in topics.items()
        for index, reason in read.malformed.items()
    ]
    reads: Sequence[LeadershipRead] = answer(ReadLeaderships(partitions))
    _report(reads, left_out)
    found: dict[str, list[SnapshotPartition]] = {name: [] for name in topics}
    for partition, known in zip(partitions, reads, strict=True):
        found[partition.topic].append(to_partition(partition.index, partition.assignment, known))
    return {name: tuple(each) for name, each in found.items()}


def to_partition(index: int, assignment: Assignment, known: LeadershipRead) -> SnapshotPartition:
    """A partition as a snapshot has it."""
    return SnapshotPartition(
        index,
        assignment.replicas,
        assignment.adding,
        assignment.removing,
        _to_leadership(known) if isinstance(known, Leadership) else None,
    )


def _to_leadership(known: Leadership) -> SnapshotLeadership:
    return SnapshotLeadership(
        known.leader,
        known.isr,
        known.leader_epoch,
        known.controller_epoch,
        known.zk_version,
        known.recovering,
    )


def _to_broker(registered: RegisteredBroker) -> SnapshotBroker:
    broker = registered.broker
    endpoints = tuple(
        SnapshotEndpoint(e.host, e.port, e.listener, e.security_protocol) for e in broker.endpoints
    )
    return SnapshotBroker(broker.broker_id, broker.rack, registered.broker_epoch, endpoints)
