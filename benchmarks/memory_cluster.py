"""A shared memory for measuring: it answers the core's asks out of plain Python values, fast.

No JSON, no znodes, no conflicts: what is measured beside it is the core alone. It is the dry run's
memory, but reading assignments and leaderships makes new objects, numbers included, as a decoder
would. Otherwise the core would compare a leadership with itself, and its memory would look smaller
than it is.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from regent.core.asks import Ask, Fence, ReadLeaderships, ReadTopics, TopicRead
from regent.dryrun.memory import CopiedMemory
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


class MemoryCluster(CopiedMemory):
    """Ten brokers and topics of fifty partitions with three replicas each, all in sync."""

    def __init__(self, partition_count: int) -> None:
        super().__init__()
        self.brokers = {BrokerId(b): _registered(b) for b in range(BROKER_COUNT)}
        self.epoch = Fence(ControllerEpoch(FIRST_EPOCH), ZkVersion(FIRST_EPOCH))
        for start in range(0, partition_count, TOPIC_SIZE):
            count = min(TOPIC_SIZE, partition_count - start)
            name = f"topic-{start // TOPIC_SIZE:06}"
            self._add_topic(name, [assigned(start + i) for i in range(count)])
            self.leaderships[name] = {
                index: _first_leadership(assignment.replicas)
                for index, assignment in self.topics[name].partitions.items()
            }

    def add_topic(self, name: str) -> None:
        """A topic of one partition that nobody has led yet."""
        self._add_topic(name, [assigned(len(self.topics))])
        self.leaderships[name] = {}

    def _add_topic(self, name: str, replicas: Sequence[tuple[int, ...]]) -> None:
        partitions = {i: Assignment(tuple(map(BrokerId, each))) for i, each in enumerate(replicas)}
        self.topics[name] = TopicRead(f"id-of-{name}", partitions)

    def answer(self, ask: Ask[Any]) -> Any:
        """What the core is told."""
        answer = super().answer(ask)
        if isinstance(ask, ReadLeaderships):
            return [None if stored is None else _decoded(stored) for stored in answer]
        if isinstance(ask, ReadTopics):
            return {name: _decoded_topic(read) for name, read in answer.items()}
        return answer


def _registered(broker_id: int) -> RegisteredBroker:
    broker = Broker(BrokerId(broker_id), (Endpoint(f"host{broker_id}", 9092),))
    return RegisteredBroker(broker, BrokerEpoch(FIRST_EPOCH + broker_id))


def _first_leadership(replicas: Sequence[int]) -> Leadership:
    isr = tuple(BrokerId(r) for r in replicas)
    epoch = FIRST_EPOCH
    return Leadership(isr[0], LeaderEpoch(epoch), isr, ControllerEpoch(epoch), ZkVersion(epoch))


def _decoded(stored: Leadership) -> Leadership:
    """An equal one that shares nothing: `+ 0` makes a new number, as reading its digits would."""
    return Leadership(
        stored.leader,
        LeaderEpoch(stored.leader_epoch + 0),
        (*stored.isr,),
        ControllerEpoch(stored.controller_epoch + 0),
        ZkVersion(stored.zk_version + 0),
    )


def _decoded_topic(stored: TopicRead) -> TopicRead:
    return TopicRead(
        stored.topic_id,
        {index: Assignment((*each.replicas,)) for index, each in stored.partitions.items()},
    )


def partition_names(cluster: MemoryCluster) -> Iterator[tuple[str, int]]:
    """Every partition, topic by topic."""
    for name, topic in cluster.topics.items():
        for index in topic.partitions:
            yield name, index
