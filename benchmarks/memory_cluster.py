"""A shared memory for measuring: it answers the core's asks out of plain Python values, fast.

No JSON, no znodes, no conflicts: what is measured beside it is the core alone. Every read makes new
objects, numbers included, as a decoder would. Otherwise the core would compare a leadership with
itself, and its memory would look smaller than it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from regent.core import asks
from regent.core.asks import Ask, Fence, LeadershipWrite, TopicRead
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership

BROKER_COUNT: Final = 10
REPLICATION_FACTOR: Final = 3
TOPIC_SIZE: Final = 50
#: Above the small numbers of which Python keeps just one: real epochs cost their bytes too.
FIRST_EPOCH: Final = 1_000


def assigned(number: int) -> tuple[int, ...]:
    """Kafka's own layout: first replicas round robin, the others shifted against them."""
    first = number % BROKER_COUNT
    shift = number // BROKER_COUNT
    followers = (
        (first + 1 + (shift + j) % (BROKER_COUNT - 1)) % BROKER_COUNT
        for j in range(REPLICATION_FACTOR - 1)
    )
    return (first, *followers)


class MemoryCluster:
    """Ten brokers and topics of fifty partitions with three replicas each, all in sync."""

    def __init__(self, partition_count: int) -> None:
        self.brokers = {BrokerId(b): _registered(b) for b in range(BROKER_COUNT)}
        self.assignments: dict[str, list[tuple[int, ...]]] = {}
        self.leaderships: dict[str, list[Leadership]] = {}
        self.epoch = Fence(ControllerEpoch(FIRST_EPOCH), ZkVersion(FIRST_EPOCH))
        for start in range(0, partition_count, TOPIC_SIZE):
            count = min(TOPIC_SIZE, partition_count - start)
            name = f"topic-{start // TOPIC_SIZE:06}"
            self.assignments[name] = [assigned(start + i) for i in range(count)]
            self.leaderships[name] = [_first_leadership(r) for r in self.assignments[name]]

    def add_topic(self, name: str) -> None:
        """A topic of one partition that nobody has led yet."""
        self.assignments[name] = [assigned(len(self.assignments))]

    def answer(self, ask: Ask[Any]) -> Any:
        """What the core is told."""
        return _ANSWERS[type(ask)](self, ask)


def _registered(broker_id: int) -> RegisteredBroker:
    broker = Broker(BrokerId(broker_id), (Endpoint(f"host{broker_id}", 9092),))
    return RegisteredBroker(broker, BrokerEpoch(FIRST_EPOCH + broker_id))


def _first_leadership(replicas: Sequence[int]) -> Leadership:
    isr = tuple(BrokerId(r) for r in replicas)
    epoch = FIRST_EPOCH
    return Leadership(isr[0], LeaderEpoch(epoch), isr, ControllerEpoch(epoch), ZkVersion(epoch))


# --- answers ----------------------------------------------------------------------------------


def _read_leaderships(cluster: MemoryCluster, ask: asks.ReadLeaderships) -> list[Leadership]:
    stored = cluster.leaderships
    return [_decoded(stored[p.topic][p.index]) for p in ask.partitions]


def _decoded(stored: Leadership) -> Leadership:
    """An equal one that shares nothing: `+ 0` makes a new number, as reading its digits would."""
    return Leadership(
        stored.leader,
        LeaderEpoch(stored.leader_epoch + 0),
        (*stored.isr,),
        ControllerEpoch(stored.controller_epoch + 0),
        ZkVersion(stored.zk_version + 0),
    )


def _create_leaderships(
    cluster: MemoryCluster, ask: asks.CreateLeaderships
) -> Sequence[ZkVersion | None]:
    for write in ask.writes:
        cluster.leaderships.setdefault(write.partition.topic, []).append(write.leadership)
    return [ZkVersion(0)] * len(ask.writes)


def _write_leaderships(cluster: MemoryCluster, ask: asks.WriteLeaderships) -> list[ZkVersion]:
    return [_write(cluster.leaderships, write) for write in ask.writes]


def _write(stored: dict[str, list[Leadership]], write: LeadershipWrite) -> ZkVersion:
    partition, after = write.partition, write.leadership
    versioned = Leadership(
        after.leader,
        after.leader_epoch,
        after.isr,
        after.controller_epoch,
        ZkVersion(after.zk_version + 1),
    )
    stored[partition.topic][partition.index] = versioned
    return ZkVersion(after.zk_version + 1)


def _read_topics(cluster: MemoryCluster, ask: asks.ReadTopics) -> dict[str, TopicRead]:
    return {name: _read_topic(cluster, name) for name in ask.topics}


def _read_topic(cluster: MemoryCluster, name: str) -> TopicRead:
    return TopicRead(
        f"id-of-{name}",
        {
            index: Assignment(tuple(BrokerId(r) for r in replicas))
            for index, replicas in enumerate(cluster.assignments[name])
        },
    )


def _take_controller(cluster: MemoryCluster, _ask: asks.TakeController) -> Fence:
    epoch = cluster.epoch.controller_epoch + 1
    cluster.epoch = Fence(ControllerEpoch(epoch), ZkVersion(epoch))
    return cluster.epoch


# fmt: off
_ANSWERS: Final[Mapping[type[Ask[Any]], Callable[[MemoryCluster, Any], Any]]] = {
    asks.ReadController:         lambda _cluster, _ask: None,
    asks.ReadControllerEpoch:    lambda cluster, _ask: cluster.epoch,
    asks.TakeController:         _take_controller,
    asks.EnsureFeatures:         lambda _cluster, _ask: None,
    asks.ReadIsrNotifications:   lambda _cluster, _ask: (),
    asks.DeleteIsrNotifications: lambda _cluster, _ask: None,
    asks.ReadBrokers:            lambda cluster, _ask: dict(cluster.brokers),
    asks.WatchBrokers:           lambda cluster, ask: {
        b: cluster.brokers.get(b) for b in ask.broker_ids
    },
    asks.ListTopics:             lambda cluster, _ask: tuple(cluster.assignments),
    asks.ReadTopics:             _read_topics,
    asks.ReadLeaderships:        _read_leaderships,
    asks.CreateLeaderships:      _create_leaderships,
    asks.WriteLeaderships:       _write_leaderships,
}
# fmt: on


def partition_names(cluster: MemoryCluster) -> Iterator[tuple[str, int]]:
    """Every partition, topic by topic."""
    for name, assignments in cluster.assignments.items():
        for index in range(len(assignments)):
            yield name, index
