"""What a topic may be called and where its replicas may be put: pure checks, in Kafka's order.

Each says what is wrong, or None. Which error code that means is known where it is asked.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from regent.core.placement import Racks, has_some_racks
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId

#: With `-`, a partition number and a suffix it must still be the name of a directory.
NAME_LENGTH_MAX: Final = 249
#: A znode has at most 1 MiB, and `"0":[0],` is the least that a partition needs.
PARTITIONS_MAX: Final = 2**20 // 8
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+\Z")


def misnamed(name: str) -> str | None:
    """Why no topic can have this name, if so."""
    if not name:
        return "a topic's name cannot be empty"
    if name in (".", ".."):
        return f"a topic cannot be called {name!r}"
    if len(name) > NAME_LENGTH_MAX:
        return f"a topic's name has at most {NAME_LENGTH_MAX} characters, this one {len(name)}"
    if _LEGAL_NAME.match(name) is None:
        return f"{name!r} has characters other than ASCII letters, digits, '.', '_' and '-'"
    return None


def metric_name(name: str) -> str:
    """What metrics call a topic: two topics with the same could not be told apart there."""
    return name.replace(".", "_")


def miscounted(count: int) -> str | None:
    """Why a topic cannot have so many partitions, if so."""
    if count <= 0:
        return f"{count} is no partition count"
    if count > PARTITIONS_MAX:
        return f"the znode of a topic has room for {PARTITIONS_MAX} partitions, not for {count}"
    return None


def misreplicated(factor: int, racks: Racks) -> str | None:
    """Why partitions cannot have so many replicas, if so."""
    if factor <= 0:
        return f"{factor} is no replication factor"
    if factor > len(racks):
        return f"the replication factor is {factor}, and there are {len(racks)} live brokers"
    return None


def partly_racked(racks: Racks) -> str | None:
    """Why replicas cannot be spread over racks, if so."""
    if not has_some_racks(racks):
        return None
    without = sorted(broker_id for broker_id, rack in racks.items() if rack is None)
    return f"brokers {without} have no rack and others have one; give it to all or to none"


def misassigned(
    replicas_by_partition: Iterable[tuple[int, Sequence[BrokerId]]], live: Racks
) -> str | None:
    """What is wrong with replicas that somebody chose by hand, partition by partition, if so."""
    for partition, replicas in replicas_by_partition:
        if not replicas:
            return f"partition {partition} has no replicas"
        if len(dict.fromkeys(replicas)) != len(replicas):
            return f"partition {partition} has a broker twice: {list(replicas)}"
        unknown = [broker_id for broker_id in replicas if broker_id not in live]
        if unknown:
            return f"partition {partition} is assigned to {unknown}, which are not live brokers"
    return None


def misnumbered(partitions: Sequence[int]) -> str | None:
    """Partitions are numbered from 0 without a gap; what is wrong with these numbers, if so."""
    if sorted(partitions) == list(range(len(partitions))):
        return None
    return f"partitions are numbered from 0 without a gap, these are {sorted(partitions)}"


def unequally_replicated(replica_lists: Iterable[Sequence[BrokerId]], factor: int) -> str | None:
    """All partitions of a topic have as many replicas; whether one of these differs."""
    for replicas in replica_lists:
        if len(replicas) != factor:
            return f"{list(replicas)} has {len(replicas)} replicas where the topic has {factor}"
    return None


def to_assignments(
    replicas_by_partition: Mapping[int, tuple[BrokerId, ...]],
) -> dict[int, Assignment]:
    """The same as assignments in which nothing moves."""
    return {index: Assignment(replicas) for index, replicas in replicas_by_partition.items()}
