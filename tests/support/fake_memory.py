"""The shared memory as plain dicts: answers every ask of the core, with no znode in sight.

Writes are fenced and conditional as the real ones are. A test may change anything between a read
and a write (`before_write`), and have an ask fail in whatever way it likes (`failures`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    CreateTopicZnodes,
    DeleteElectionZnode,
    DeleteIsrNotifications,
    DeleteLogDirEvents,
    DeleteTopicMarkers,
    DrawNumbers,
    DropController,
    EnsureFeatures,
    Fence,
    IsrNotification,
    LeadershipWrite,
    ListTopicDeletions,
    ListTopics,
    Malformed,
    MarkTopicsForDeletion,
    MintTopicIds,
    ReadBrokerDefaults,
    ReadBrokers,
    ReadConfigChanges,
    ReadController,
    ReadControllerEpoch,
    ReadElectionZnode,
    ReadIsrNotifications,
    ReadLeaderships,
    ReadLogDirEvents,
    ReadMutationQuotas,
    ReadReassignmentZnode,
    ReadTopicConfigs,
    ReadTopics,
    RemoveTopics,
    TakeController,
    TopicCreation,
    TopicRead,
    TopicWrite,
    WatchBrokers,
    WatchLeaderships,
    WriteFailure,
    WriteLeaderships,
    WriteReassignmentZnode,
    WriteResult,
    WriteTopics,
)
from regent.errors import ControllerMoved
from regent.model.assignment import Assignment
from regent.model.brokers import RegisteredBroker
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition, ZkVersion
from regent.model.leadership import Leadership
from tests.support.builders import ids, registered

Fenced = DropController | WriteTopics | CreateLeaderships | WriteLeaderships
Fenced |= DeleteIsrNotifications | CreateTopicZnodes
Fenced |= DeleteElectionZnode | DeleteLogDirEvents
Fenced |= WriteReassignmentZnode
Fenced |= DeleteTopicMarkers | MarkTopicsForDeletion | RemoveTopics


class FakeMemory:
    """What a ZooKeeper would hold for a cluster."""

    def __init__(self) -> None:
        self.holder: BrokerId | Malformed | None = None
        self.epoch = Fence(ControllerEpoch(0), ZkVersion(0))
        #: Whether `/feature` is enabled, and its version; None while there is no such znode.
        self.features: tuple[bool, int] | None = None
        self.brokers: dict[BrokerId, RegisteredBroker | Malformed] = {}
        self.topics: dict[str, TopicRead | Malformed] = {}
        self.configs: dict[str, dict[str, str] | Malformed] = {}
        self.deletions: dict[str, None] = {}
        self.leaderships: dict[TopicPartition, Leadership | Malformed] = {}
        self.notifications: dict[str, tuple[TopicPartition, ...] | Malformed] = {}
        self.plan: dict[TopicPartition, tuple[BrokerId, ...]] | Malformed | None = None
        self.elections: tuple[TopicPartition, ...] | Malformed | None = None
        self.log_dir_events: dict[str, BrokerId | Malformed] = {}
        self.config_changes: dict[str, str | Malformed] = {}
        self.broker_defaults: dict[str, str] | Malformed = {}
        #: By entity: partitions a second.
        self.mutation_quotas: dict[str, float | Malformed | None] = {}
        self.minted_count = 0
        #: What is drawn when chance is asked, over and over.
        self.drawn: tuple[int, ...] = (0,)
        #: Called with every ask that writes for a controller, before it is looked at.
        self.before_write: Callable[[Ask[Any]], None] = lambda _: None
        #: Called with every ask, before it is looked at.
        self.before_answer: Callable[[Ask[Any]], None] = lambda _: None
        #: What is raised instead of an answer, by the kind of ask.
        self.failures: dict[type[Ask[Any]], Exception] = {}

    # --- what tests say --------------------------------------------------------------------------

    def register(self, *broker_ids: int, life: int = 1) -> None:
        """These brokers are there now, in this life of theirs."""
        for broker_id in broker_ids:
            self.brokers[BrokerId(broker_id)] = registered(broker_id, life=life)

    def lose(self, *broker_ids: int) -> None:
        """These brokers are gone."""
        for broker_id in broker_ids:
            del self.brokers[BrokerId(broker_id)]

    def create_topic(
        self, topic: str, *replicas: tuple[int, ...], topic_id: str | None = "default"
    ) -> None:
        """A topic with one partition for each tuple of replicas; its id is made from its name."""
        topic_id = f"id-of-{topic}" if topic_id == "default" else topic_id
        partitions = {index: Assignment(ids(*each)) for index, each in enumerate(replicas)}
        self.topics[topic] = TopicRead(topic_id, partitions)

    def mark(self, *topics: str) -> None:
        """These topics shall be deleted."""
        self.deletions.update(dict.fromkeys(topics))

    def unmark(self, *topics: str) -> None:
        """These topics are no longer, or never were, to be deleted."""
        for topic in topics:
            self.deletions.pop(topic, None)

    def depose(self, successor: int = 99) -> None:
        """Another node takes the role, and the epoch with it."""
        self.holder = BrokerId(successor)
        self._raise_epoch()

    def free_role(self) -> None:
        """Nobody holds the role: its holder has died, or somebody deleted it by hand."""
        self.holder = None

    # --- what the core asks ----------------------------------------------------------------------

    def answer(self, ask: Ask[Any]) -> Any:  # noqa: C901, PLR0911, PLR0912, PLR0915
        """Do what is asked, or raise what the test wants raised."""
        self.before_answer(ask)
        if type(ask) in self.failures:
            raise self.failures[type(ask)]
        if isinstance(ask, TakeController):
            self.before_write(ask)
        if isinstance(ask, Fenced):
            self.before_write(ask)
            if ask.fence != self.epoch:
                raise ControllerMoved(f"the epoch is {self.epoch.controller_epoch} by now")
        match ask:
            case ReadController():
                return self.holder
            case ReadControllerEpoch():
                return self.epoch
            case TakeController():
                return self._take_controller(ask)
            case DropController():
                self.holder = None
                return None
            case EnsureFeatures():
                return self._ensure_features(enabled=ask.enabled)
            case ReadBrokers():
                return dict(self.brokers)
            case WatchBrokers():
                return {b: self.brokers.get(b) for b in ask.broker_ids}
            case ListTopics():
                return tuple(sorted(self.topics))
            case ReadTopics():
                return {topic: self.topics.get(topic) for topic in ask.topics}
            case ReadTopicConfigs():
                return {topic: self.configs.get(topic, {}) for topic in ask.topics}
            case ListTopicDeletions():
                return tuple(sorted(self.deletions))
            case DeleteTopicMarkers():
                self.unmark(*ask.topics)
                return None
            case MarkTopicsForDeletion():
                self.mark(*ask.topics)
                return None
            case RemoveTopics():
                return self._remove_topics(ask.topics)
            case MintTopicIds():
                return self._mint(ask.count)
            case DrawNumbers():
                return tuple(self.drawn[i % len(self.drawn)] for i in range(ask.count))
            case CreateTopicZnodes():
                return tuple(self._create_topic(creation) for creation in ask.creations)
            case WriteTopics():
                return tuple(self._write_topic(write) for write in ask.writes)
            case ReadLeaderships() | WatchLeaderships():
                return [self.leaderships.get(p.name) for p in ask.partitions]
            case CreateLeaderships():
                return self._create_leaderships(ask.writes)
            case WriteLeaderships():
                return self._write_leaderships(ask.writes)
            case ReadIsrNotifications():
                named = sorted(self.notifications.items())
                return tuple(IsrNotification(each, partitions) for each, partitions in named)
            case DeleteIsrNotifications():
                for each in ask.names if ask.names is not None else tuple(self.notifications):
                    self.notifications.pop(each, None)
                return None
            case ReadReassignmentZnode():
                return dict(self.plan) if isinstance(self.plan, dict) else self.plan
            case WriteReassignmentZnode():
                self.plan = dict(ask.targets) or None
                return None
            case ReadElectionZnode():
                return self.elections
            case DeleteElectionZnode():
                self.elections = None
                return None
            case ReadLogDirEvents():
                return tuple(sorted(self.log_dir_events.items()))
            case DeleteLogDirEvents():
                for each in ask.names if ask.names is not None else tuple(self.log_dir_events):
                    self.log_dir_events.pop(each, None)
                return None
            case ReadConfigChanges():
                return tuple(sorted(self.config_changes.items()))
            case ReadBrokerDefaults():
                return self.broker_defaults
            case ReadMutationQuotas(entities=None):
                return dict(self.mutation_quotas)
            case ReadMutationQuotas(entities=entities):
                return {entity: self.mutation_quotas.get(entity) for entity in entities or ()}
            case _:
                raise AssertionError(f"nobody knows how to answer {ask}")

    def _take_controller(self, ask: TakeController) -> Fence | None:
        if (self.holder is not None and not ask.deposes) or ask.current != self.epoch:
            return None
        self.holder = ask.controller_id
        self._raise_epoch()
        return self.epoch

    def _raise_epoch(self) -> None:
        self.epoch = Fence(
            ControllerEpoch(self.epoch.controller_epoch + 1), ZkVersion(self.epoch.zk_version + 1)
        )

    def _ensure_features(self, *, enabled: bool) -> None:
        if self.features is None:
            self.features = (enabled, 0)
        elif self.features[0] is not enabled:
            self.features = (enabled, self.features[1] + 1)

    def _mint(self, count: int) -> tuple[str, ...]:
        first = self.minted_count + 1
        self.minted_count += count
        return tuple(f"minted-{number}" for number in range(first, first + count))

    def _create_topic(self, creation: TopicCreation) -> WriteFailure | None:
        if creation.topic in self.topics:
            return WriteFailure.EXISTS
        self.configs[creation.topic] = dict(creation.configs)
        self.topics[creation.topic] = TopicRead(creation.topic_id, dict(creation.partitions))
        return None

    def _write_topic(self, write: TopicWrite) -> WriteFailure | None:
        stored = self.topics.get(write.topic)
        if stored is None:
            return WriteFailure.MISSING
        kept = stored.partitions if isinstance(stored, TopicRead) and not write.is_whole else {}
        self.topics[write.topic] = TopicRead(write.topic_id, kept | write.partitions)
        return None

    def _remove_topics(self, topics: Sequence[str]) -> None:
        for topic in topics:
            self.topics.pop(topic, None)
            self.configs.pop(topic, None)
        for name in [each for each in self.leaderships if each.topic in topics]:
            del self.leaderships[name]
        self.unmark(*topics)

    def _create_leaderships(self, writes: Sequence[LeadershipWrite]) -> list[WriteResult]:
        return [self._create_leadership(write) for write in writes]

    def _create_leadership(self, write: LeadershipWrite) -> WriteResult:
        if write.partition.name in self.leaderships:
            return WriteFailure.EXISTS
        return self._store(write, ZkVersion(0))

    def _write_leaderships(self, writes: Sequence[LeadershipWrite]) -> list[WriteResult]:
        return [self._write_leadership(write) for write in writes]

    def _write_leadership(self, write: LeadershipWrite) -> WriteResult:
        found = self.leaderships.get(write.partition.name)
        if found is None:
            return WriteFailure.MISSING
        if isinstance(found, Malformed) or found.zk_version != write.leadership.zk_version:
            return WriteFailure.CONFLICT
        return self._store(write, ZkVersion(found.zk_version + 1))

    def _store(self, write: LeadershipWrite, zk_version: ZkVersion) -> ZkVersion:
        wanted = write.leadership
        self.leaderships[write.partition.name] = Leadership(
            wanted.leader,
            wanted.leader_epoch,
            wanted.isr,
            wanted.controller_epoch,
            zk_version,
            wanted.recovering,
        )
        return zk_version
