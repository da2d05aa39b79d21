"""From a snapshot to the memory that a controller reads."""

from collections.abc import Iterable

from regent.core.asks import Fence, TopicRead
from regent.dryrun.memory import CopiedMemory
from regent.dryrun.snapshot import Snapshot, SnapshotBroker, SnapshotLeadership, SnapshotTopic
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership


def load_snapshot(snapshot: Snapshot) -> CopiedMemory:
    """A memory that holds what a snapshot says; the snapshot stays as it is."""
    memory = CopiedMemory()
    for each in snapshot.brokers:
        memory.brokers[BrokerId(each.id)] = _to_registered(each)
    memory.broker_defaults = dict(snapshot.broker_defaults)
    latest = 0
    for topic in snapshot.topics:
        memory.topics[topic.name] = _to_topic(topic)
        memory.configs[topic.name] = dict(topic.configs)
        led = {p.partition: p.leadership for p in topic.partitions if p.leadership is not None}
        memory.leaderships[topic.name] = {i: _to_leadership(each) for i, each in led.items()}
        latest = max([latest, *(each.controller_epoch for each in led.values())])
        if topic.deleting:
            memory.deletions[topic.name] = None
    # Whoever takes office here comes after every controller that left a trace.
    memory.epoch = Fence(ControllerEpoch(latest), ZkVersion(latest))
    return memory


def _to_registered(each: SnapshotBroker) -> RegisteredBroker:
    endpoints = tuple(
        Endpoint(e.host, e.port, e.listener, e.security_protocol) for e in each.endpoints
    )
    return RegisteredBroker(
        Broker(BrokerId(each.id), endpoints, each.rack), BrokerEpoch(each.epoch)
    )


def _to_topic(topic: SnapshotTopic) -> TopicRead:
    return TopicRead(
        topic.id,
        {
            p.partition: Assignment(to_ids(p.replicas), to_ids(p.adding), to_ids(p.removing))
            for p in topic.partitions
        },
    )


def _to_leadership(each: SnapshotLeadership) -> Leadership:
    return Leadership(
        BrokerId(each.leader),
        LeaderEpoch(each.leader_epoch),
        to_ids(each.isr),
        ControllerEpoch(each.controller_epoch),
        ZkVersion(each.zk_version),
        each.recovering,
    )


def to_ids(numbers: Iterable[int]) -> tuple[BrokerId, ...]:
    """Numbers that name brokers."""
    return tuple(map(BrokerId, numbers))
