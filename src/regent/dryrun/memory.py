"""A shared memory of plain Python values that answers everything the core asks.

Nobody else writes to it, so no race is ever lost; the conditions are looked at all the same. Where
a write would make a real ZooKeeper tell its watchers, the event that they would get waits in
`news`, and whoever drives the controller hands it over.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from regent.core import asks
from regent.core.asks import Ask, Fence, LeadershipWrite, TopicRead, WriteFailure, WriteResult
from regent.core.events import (
    ElectionZnodeChanged,
    Event,
    ReassignmentZnodeChanged,
    TopicChanged,
    TopicDeletionsChanged,
    TopicsChanged,
)
from regent.errors import ControllerMoved
from regent.model.brokers import Broker, RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, TopicPartition, ZkVersion
from regent.model.leadership import Leadership

#: Nothing here takes time.
NOW_MS: Final = 0


class CopiedMemory:
    """What ZooKeeper holds for a cluster, copied."""

    def __init__(self) -> None:
        self.holder: BrokerId | None = None
        self.epoch = Fence(ControllerEpoch(0), ZkVersion(0))
        self.brokers: dict[BrokerId, RegisteredBroker] = {}
        #: Brokers that were registered here and are no longer.
        self.gone: dict[BrokerId, RegisteredBroker] = {}
        self.topics: dict[str, TopicRead] = {}
        #: By topic and number of the partition.
        self.leaderships: dict[str, dict[int, Leadership]] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.broker_defaults: dict[str, str] = {}
        self.deletions: dict[str, None] = {}
        self.reassignments: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        self.elections: tuple[TopicPartition, ...] = ()
        #: What the watches of a real ZooKeeper would have told by now, oldest first. A watch that
        #: has fired is quiet until somebody looks, so nothing is there twice.
        self.news: dict[Event, None] = {}
        self.minted_count = 0

    def answer(self, ask: Ask[Any]) -> Any:
        """Do what is asked."""
        fence: Fence | None = getattr(ask, "fence", None)
        if fence is not None and fence != self.epoch:
            raise ControllerMoved(f"the epoch is {self.epoch.controller_epoch} by now")
        return ANSWERS[type(ask)](self, ask)

    def lose_broker(self, broker_id: BrokerId) -> None:
        """A broker's registration vanishes."""
        self.gone[broker_id] = self.brokers.pop(broker_id)

    def bring_back(self, broker_id: BrokerId) -> None:
        """A broker registers in a new life, where it was before if that is known."""
        lives = [each.broker_epoch for each in (*self.brokers.values(), *self.gone.values())]
        known = self.gone.pop(broker_id, None)
        broker = Broker(broker_id) if known is None else known.broker
        latest = max(lives, default=BrokerEpoch(0))
        self.brokers[broker_id] = RegisteredBroker(broker, BrokerEpoch(latest + 1))

    def tell(self, *events: Event) -> None:
        """Have these events wait for whoever drives the controller."""
        self.news.update(dict.fromkeys(events))


# --- the controller ---------------------------------------------------------------------------


def _take_controller(memory: CopiedMemory, ask: asks.TakeController) -> Fence | None:
    if (memory.holder is not None and not ask.deposes) or ask.current != memory.epoch:
        return None
    memory.holder = ask.controller_id
    memory.epoch = Fence(
        ControllerEpoch(memory.epoch.controller_epoch + 1), ZkVersion(memory.epoch.zk_version + 1)
    )
    return memory.epoch


def _drop_controller(memory: CopiedMemory, _ask: asks.DropController) -> None:
    memory.holder = None


# --- topics -----------------------------------------------------------------------------------


def _mint(memory: CopiedMemory, ask: asks.MintTopicIds) -> tuple[str, ...]:
    """Ids that cannot be taken for real ones."""
    first = memory.minted_count + 1
    memory.minted_count += ask.count
    return tuple(f"copied-{number}" for number in range(first, first + ask.count))


def _write_topics(memory: CopiedMemory, ask: asks.WriteTopics) -> tuple[WriteFailure | None, ...]:
    results: list[WriteFailure | None] = []
    for write in ask.writes:
        if write.topic in memory.topics:
            kept = {} if write.is_whole else memory.topics[write.topic].partitions
            memory.topics[write.topic] = TopicRead(write.topic_id, kept | write.partitions)
            memory.tell(TopicChanged(NOW_MS, write.topic))
            results.append(None)
        else:
            results.append(WriteFailure.MISSING)
    return tuple(results)


def _create_topics(
    memory: CopiedMemory, ask: asks.CreateTopicZnodes
) -> tuple[WriteFailure | None, ...]:
    results: list[WriteFailure | None] = []
    for creation in ask.creations:
        if creation.topic in memory.topics:
            results.append(WriteFailure.EXISTS)
            continue
        memory.configs[creation.topic] = dict(creation.configs)
        memory.topics[creation.topic] = TopicRead(creation.topic_id, dict(creation.partitions))
        memory.leaderships[creation.topic] = {}
        results.append(None)
    memory.tell(TopicsChanged(NOW_MS))
    return tuple(results)


def _remove_topics(memory: CopiedMemory, ask: asks.RemoveTopics) -> None:
    for topic in ask.topics:
        for held in (memory.topics, memory.leaderships, memory.configs, memory.deletions):
            held.pop(topic, None)
    memory.tell(TopicsChanged(NOW_MS), TopicDeletionsChanged(NOW_MS))


def _mark(memory: CopiedMemory, ask: asks.MarkTopicsForDeletion) -> None:
    memory.deletions.update(dict.fromkeys(ask.topics))
    memory.tell(TopicDeletionsChanged(NOW_MS))


def _unmark(memory: CopiedMemory, ask: asks.DeleteTopicMarkers) -> None:
    for topic in ask.topics:
        memory.deletions.pop(topic, None)
    memory.tell(TopicDeletionsChanged(NOW_MS))


def _read_configs(memory: CopiedMemory, ask: asks.ReadTopicConfigs) -> dict[str, dict[str, str]]:
    return {topic: memory.configs.get(topic, {}) for topic in ask.topics}


# --- work that admins leave -------------------------------------------------------------------


def _write_reassignments(memory: CopiedMemory, ask: asks.WriteReassignmentZnode) -> None:
    memory.reassignments = dict(ask.targets)
    memory.tell(ReassignmentZnodeChanged(NOW_MS))


def _delete_elections(memory: CopiedMemory, _ask: asks.DeleteElectionZnode) -> None:
    memory.elections = ()
    memory.tell(ElectionZnodeChanged(NOW_MS))


# --- leadership -------------------------------------------------------------------------------


def _read_leaderships(
    memory: CopiedMemory, ask: asks.ReadLeaderships | asks.WatchLeaderships
) -> Sequence[Leadership | None]:
    held = memory.leaderships
    return [held[p.topic].get(p.index) for p in ask.partitions]


def _create_leaderships(memory: CopiedMemory, ask: asks.CreateLeaderships) -> Sequence[WriteResult]:
    return [_create_leadership(memory.leaderships, write) for write in ask.writes]


def _create_leadership(
    held: dict[str, dict[int, Leadership]], write: LeadershipWrite
) -> WriteResult:
    of_topic = held.setdefault(write.partition.topic, {})
    if write.partition.index in of_topic:
        return WriteFailure.EXISTS
    return _store(of_topic, write, ZkVersion(0))


def _write_leaderships(memory: CopiedMemory, ask: asks.WriteLeaderships) -> Sequence[WriteResult]:
    return [_write_leadership(memory.leaderships, write) for write in ask.writes]


def _write_leadership(
    held: dict[str, dict[int, Leadership]], write: LeadershipWrite
) -> WriteResult:
    of_topic = held.get(write.partition.topic, {})
    found = of_topic.get(write.partition.index)
    if found is None:
        return WriteFailure.MISSING
    if found.zk_version != write.leadership.zk_version:
        return WriteFailure.CONFLICT
    return _store(of_topic, write, ZkVersion(found.zk_version + 1))


def _store(
    of_topic: dict[int, Leadership], write: LeadershipWrite, zk_version: ZkVersion
) -> ZkVersion:
    wanted = write.leadership
    of_topic[write.partition.index] = Leadership(
        wanted.leader,
        wanted.leader_epoch,
        wanted.isr,
        wanted.controller_epoch,
        zk_version,
        wanted.recovering,
    )
    return zk_version


def _nothing(_memory: CopiedMemory, _ask: Ask[Any]) -> None:
    """What it is about is not in a snapshot."""


def _empty(_memory: CopiedMemory, _ask: Ask[Any]) -> tuple[()]:
    return ()


# Any: each answer is for just its own kind of ask.
# fmt: off
ANSWERS: Final[Mapping[type[Ask[Any]], Callable[[CopiedMemory, Any], Any]]] = {
    asks.ReadController:         lambda memory, _: memory.holder,
    asks.ReadControllerEpoch:    lambda memory, _: memory.epoch,
    asks.TakeController:         _take_controller,
    asks.DropController:         _drop_controller,
    asks.EnsureFeatures:         _nothing,
    asks.ReadBrokers:            lambda memory, _: dict(memory.brokers),
    asks.WatchBrokers:           lambda memory, ask: {
        broker_id: memory.brokers.get(broker_id) for broker_id in ask.broker_ids
    },
    asks.ListTopics:             lambda memory, _: tuple(sorted(memory.topics)),
    asks.ReadTopics:             lambda memory, ask: {
        topic: memory.topics.get(topic) for topic in ask.topics
    },
    asks.ReadTopicConfigs:       _read_configs,
    asks.ListTopicDeletions:     lambda memory, _: tuple(sorted(memory.deletions)),
    asks.MintTopicIds:           _mint,
    asks.DrawNumbers:            lambda _, ask: (0,) * ask.count,
    asks.WriteTopics:            _write_topics,
    asks.DeleteTopicMarkers:     _unmark,
    asks.MarkTopicsForDeletion:  _mark,
    asks.RemoveTopics:           _remove_topics,
    asks.CreateTopicZnodes:      _create_topics,
    asks.ReadReassignmentZnode:  lambda memory, _: dict(memory.reassignments) or None,
    asks.WriteReassignmentZnode: _write_reassignments,
    asks.ReadElectionZnode:      lambda memory, _: memory.elections or None,
    asks.DeleteElectionZnode:    _delete_elections,
    asks.ReadLogDirEvents:       _empty,
    asks.DeleteLogDirEvents:     _nothing,
    asks.ReadConfigChanges:      _empty,
    asks.ReadBrokerDefaults:     lambda memory, _: dict(memory.broker_defaults),
    asks.ReadMutationQuotas:     lambda _memory, _: {},
    asks.ReadLeaderships:        _read_leaderships,
    asks.WatchLeaderships:       _read_leaderships,
    asks.CreateLeaderships:      _create_leaderships,
    asks.WriteLeaderships:       _write_leaderships,
    asks.ReadIsrNotifications:   _empty,
    asks.DeleteIsrNotifications: _nothing,
}
# fmt: on
