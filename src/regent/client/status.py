"""How a cluster is, in one value: who leads it, who is there, and what is not as it should be.

Wherever brokers and partitions come from, `to_status` makes the same of them. What the source
could not know is None, and never a zero that looks like good news.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from regent.client.seen import BrokerSeen, ClusterSeen, PartitionSeen
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition


class BrokerStatus(Struct, frozen=True):
    """One live broker, and what it carries."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None
    is_controller: bool
    replica_count: int
    leader_count: int
    #: Partitions whose first replica is here.
    preferred_count: int


class ClusterStatus(Struct, frozen=True):
    """The whole; partitions by their names, such as `orders-3`."""

    cluster_id: str | None
    #: None while there is none.
    controller_id: BrokerId | None
    #: None where the source does not tell it.
    controller_epoch: int | None
    brokers: tuple[BrokerStatus, ...]
    #: Brokers that hold replicas and are not alive.
    missing_brokers: tuple[BrokerId, ...]
    topic_count: int
    partition_count: int
    #: Nobody leads them.
    offline: tuple[str, ...]
    under_replicated: tuple[str, ...]
    #: One replica less, and nobody can write with acks=all; None where configs are not known.
    at_min_isr: tuple[str, ...] | None
    #: Nobody can write with acks=all.
    under_min_isr: tuple[str, ...] | None
    #: Led by another replica than the first one.
    not_preferred: tuple[str, ...]
    reassigning: tuple[str, ...] | None
    #: Topics that are going.
    deleting: tuple[str, ...] | None
    #: What could not be found out, and why.
    notes: tuple[str, ...] = ()


def to_status(  # noqa: PLR0913 - each is a source of its own, and named
    seen: ClusterSeen,
    *,
    moving: Mapping[TopicPartition, Assignment] | None,
    min_isr: Mapping[str, int] | None,
    controller_epoch: int | None = None,
    deleting: Sequence[str] | None = None,
    notes: Sequence[str] = (),
) -> ClusterStatus:
    """Count and sort out; `moving` and `min_isr` are None where they could not be asked for."""
    partitions = list(seen.partitions())
    live = {broker.broker_id for broker in seen.brokers}
    under_way = {name: move for name, move in (moving or {}).items() if move.is_reassigning}

    def names(is_wanted: Callable[[PartitionSeen], bool]) -> tuple[str, ...]:
        return tuple(str(each.name) for each in partitions if is_wanted(each))

    def against_min_isr(is_wanted: Callable[[int, int], bool]) -> tuple[str, ...] | None:
        if min_isr is None:
            return None
        return names(
            lambda each: each.topic in min_isr and is_wanted(len(each.isr), min_isr[each.topic])
        )

    return ClusterStatus(
        cluster_id=seen.cluster_id,
        controller_id=seen.controller_id,
        controller_epoch=controller_epoch,
        brokers=_to_brokers(seen, partitions),
        missing_brokers=tuple(
            sorted({replica for each in partitions for replica in each.replicas} - live)
        ),
        topic_count=len(seen.topics),
        partition_count=len(partitions),
        offline=names(lambda each: is_offline(each, live)),
        under_replicated=names(lambda each: is_under_replicated(each, under_way.get(each.name))),
        at_min_isr=against_min_isr(lambda in_sync, needed: in_sync == needed),
        under_min_isr=against_min_isr(lambda in_sync, needed: in_sync < needed),
        not_preferred=names(lambda each: _is_led_by_another(each, under_way.get(each.name))),
        reassigning=None if moving is None else tuple(map(str, under_way)),
        deleting=None if deleting is None else tuple(deleting),
        notes=(*notes, *_say_errors(seen)),
    )


def is_offline(partition: PartitionSeen, live: set[BrokerId]) -> bool:
    """Nobody leads it, or somebody who is not there."""
    return partition.leader not in live


def is_under_replicated(partition: PartitionSeen, move: Assignment | None = None) -> bool:
    """Fewer replicas in sync than it shall have; those that are being added do not count yet."""
    adding = 0 if move is None else len(move.adding)
    return len(partition.isr) < len(partition.replicas) - adding


def _is_led_by_another(partition: PartitionSeen, move: Assignment | None) -> bool:
    """A first replica that is only being added cannot lead until it is in sync."""
    if not partition.replicas:
        return False
    preferred = partition.replicas[0]
    is_coming = move is not None and preferred in move.adding and preferred not in partition.isr
    return partition.leader != preferred and not is_coming


def _to_brokers(seen: ClusterSeen, partitions: Sequence[PartitionSeen]) -> tuple[BrokerStatus, ...]:
    replicas = Counter(replica for each in partitions for replica in each.replicas)
    leaders = Counter(each.leader for each in partitions)
    preferred = Counter(each.replicas[0] for each in partitions if each.replicas)

    def to_broker(broker: BrokerSeen) -> BrokerStatus:
        number = broker.broker_id
        return BrokerStatus(
            broker_id=number,
            host=broker.host,
            port=broker.port,
            rack=broker.rack,
            is_controller=number == seen.controller_id,
            replica_count=replicas[number],
            leader_count=leaders[number],
            preferred_count=preferred[number],
        )

    return tuple(map(to_broker, seen.brokers))


def _say_errors(seen: ClusterSeen) -> list[str]:
    """Topics of which a broker told only an error."""
    return [
        f"topic {topic.name}: {topic.error.name}"
        for topic in seen.topics
        if topic.error is not ErrorCode.NONE and not topic.partitions
    ]
