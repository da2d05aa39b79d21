"""Asks a cluster how large its partitions are, and where they end.

Each broker is asked about what it leads: DescribeLogDirs for sizes, ListOffsets for ends. Whoever
does not answer is a gap in the sample and no failure.
"""

from collections.abc import Iterator

from msgspec import Struct

from regent.client.addresses import Address
from regent.client.cluster import Cluster
from regent.client.loads import LoadSample, PartitionSize
from regent.client.seen import ClusterSeen
from regent.errors import BrokerGone, NotSupported
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.log_requests import (
    LATEST_TIMESTAMP,
    DescribeLogDirs,
    DescribeLogDirsAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    OffsetQuestion,
)


class _Told(Struct):
    """What brokers told so far."""

    sizes: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]
    gaps: list[str]


def take_sample(cluster: Cluster, at_ms: int) -> LoadSample:
    """All partitions that somebody leads, as they are now."""
    seen = cluster.look()
    told = _Told({}, {}, [])
    for broker in seen.brokers:
        names = tuple(part.name for part in seen.partitions() if part.leader == broker.broker_id)
        if names:
            address = Address(broker.host, broker.port)
            try:
                _ask_leader(cluster, address, names, told)
            except (BrokerGone, NotSupported) as error:
                told.gaps.append(f"broker {broker.broker_id}: {error}")
    return LoadSample(at_ms, dict(_sizes(seen, told)), tuple(told.gaps))


def _ask_leader(
    cluster: Cluster, address: Address, names: tuple[TopicPartition, ...], told: _Told
) -> None:
    """The size is asked for last, so that it is not of fewer records than the end says."""
    questions = tuple(OffsetQuestion(name, LATEST_TIMESTAMP) for name in names)
    told.ends |= dict(_ends(cluster.ask_at(address, ListOffsets(questions)), told.gaps))
    answer: DescribeLogDirsAnswer = cluster.ask_at(address, DescribeLogDirs(names))
    if answer.error is not ErrorCode.NONE:
        told.gaps.append(f"{address} tells no sizes: {answer.error.name}")
    told.sizes |= _log_sizes(answer)


def _ends(answer: ListOffsetsAnswer, gaps: list[str]) -> Iterator[tuple[TopicPartition, int]]:
    for found in answer.offsets:
        if found.error is ErrorCode.NONE:
            yield found.name, found.offset
        else:
            gaps.append(f"the end of {found.name} is not known: {found.error.name}")


def _log_sizes(answer: DescribeLogDirsAnswer) -> dict[TopicPartition, int]:
    return {
        log.name: log.size_bytes
        for log_dir in answer.log_dirs
        for log in log_dir.logs
        if not log.is_future
    }


def _sizes(seen: ClusterSeen, told: _Told) -> Iterator[tuple[TopicPartition, PartitionSize]]:
    for partition in seen.partitions():
        name = partition.name
        yield name, PartitionSize(told.sizes.get(name), told.ends.get(name))
