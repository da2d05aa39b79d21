"""All that the controller knows, and the indexes that keep every event as cheap as what it touches.

Only the methods here change the collections, so that the indexes and counters cannot drift from
what they count. Nothing here decides, asks or sends. Collections are dicts, also where a set would
do: their order is the order of insertion, and so every run of a seed is the same run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from regent.core.config import ControllerConfig
from regent.core.mutation_quotas import MutationQuotas
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, RegisteredBroker
from regent.model.ids import (
    NO_CONTROLLER_EPOCH,
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership
from regent.model.states import PartitionState, ReplicaState

# Looking a member up in its enum is slower than anything else done here for each partition.
NO_PARTITION: Final = PartitionState.NON_EXISTENT
OFFLINE: Final = PartitionState.OFFLINE
NO_REPLICA: Final = ReplicaState.NON_EXISTENT


class Partition(Struct, eq=False, gc=False):
    """One partition as the controller sees it now; compared and hashed by identity.

    Its replicas' states are in `ControllerState.replicas_on`, by broker, because that is how they
    are asked for.
    """

    topic: str
    index: int
    assignment: Assignment
    leadership: Leadership | None = None
    state: PartitionState = NO_PARTITION
    #: Counted in `preferred_imbalance_count`.
    is_imbalanced: bool = False

    @property
    def name(self) -> TopicPartition:
        """The partition's name, for those outside the core."""
        return TopicPartition(self.topic, self.index)

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"


class Topic(Struct, eq=False):
    """A topic and its partitions, by number."""

    name: str
    topic_id: str | None = None
    partitions: dict[int, Partition] = {}


class ControllerState:
    """What one controller knows during one reign. A new reign starts with a new one."""

    def __init__(self, controller_id: BrokerId, config: ControllerConfig) -> None:
        self.controller_id = controller_id
        self.config = config
        #: Who holds `/controller` as far as this node has heard; None when nobody does.
        self.active_id: BrokerId | None = None
        self.controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
        self.epoch_zk_version = ZkVersion(-1)
        self.clear()

    def clear(self) -> None:
        """Forget the cluster, as one does when resigning."""
        self.controller_epoch = NO_CONTROLLER_EPOCH
        self.epoch_zk_version = ZkVersion(-1)
        #: Registered brokers, those that are shutting down included.
        self.brokers: dict[BrokerId, RegisteredBroker] = {}
        self.shutting_down: dict[BrokerId, None] = {}
        self.topics: dict[str, Topic] = {}
        #: Topic names by topic id, for the requests that speak of ids.
        self.topic_names: dict[str, str] = {}
        #: Every replica's state, by the broker it is on, dead brokers included.
        self.replicas_on: dict[BrokerId, dict[Partition, ReplicaState]] = {}
        #: Every partition, by its state. NonExistentPartition has no entries.
        self.partitions_in: dict[PartitionState, dict[Partition, None]] = {
            state: {} for state in PartitionState
        }
        #: Replicas in a failed log directory of a broker that is still alive.
        self.offline_dirs: dict[BrokerId, dict[Partition, None]] = {}
        self.topics_to_delete: dict[str, None] = {}
        self.topics_in_deletion: dict[str, None] = {}
        self.topics_ineligible: dict[str, None] = {}
        self.reassigning: dict[Partition, None] = {}
        self._reassigning_in: dict[str, int] = {}
        #: What the cluster's dynamic defaults say about unclean elections; None: nothing.
        self.dynamic_unclean: bool | None = None
        #: Announcements of changed configs that have been looked at, by name.
        self.config_changes_seen: dict[str, None] = {}
        #: How many partitions callers may make and delete; None: nobody has wanted to yet.
        self.mutation_quotas: MutationQuotas | None = None
        #: What could not be read, by path; everything else is served.
        self.isolated: dict[str, tuple[str, ...]] = {}
        #: Partitions whose state znode cannot be read; they count as offline until it can.
        self.unreadable: dict[Partition, None] = {}
        self.offline_partition_count = 0
        self.preferred_imbalance_count = 0
        self.unclean_election_count = 0
        self._electable: frozenset[BrokerId] = frozenset()
        #: One object for equal assignments: tens of thousands of partitions have few of them.
        self._shared: dict[Assignment, Assignment] = {}

    @property
    def is_active(self) -> bool:
        """Whether this node believes to be the controller; the fence knows better."""
        return self.controller_epoch != NO_CONTROLLER_EPOCH

    @property
    def unclean_default(self) -> bool:
        """Whether topics that do not say otherwise allow unclean elections."""
        if self.dynamic_unclean is None:
            return self.config.unclean_election_default
        return self.dynamic_unclean

    # --- brokers ------------------------------------------------------------------------------

    @property
    def electable(self) -> frozenset[BrokerId]:
        """The brokers that may lead: alive and not shutting down."""
        return self._electable

    def add_broker(self, registered: RegisteredBroker) -> None:
        """Take a broker, or a new life of it, into the live set."""
        self.brokers[registered.broker.broker_id] = registered
        self._refresh_electable()

    def update_broker(self, broker: Broker) -> None:
        """The same life of the broker, with other endpoints or features."""
        epoch = self.brokers[broker.broker_id].broker_epoch
        self.brokers[broker.broker_id] = RegisteredBroker(broker, epoch)

    def remove_broker(self, broker_id: BrokerId) -> None:
        """Take a broker out of the live set; its replicas stay known."""
        self.brokers.pop(broker_id, None)
        self.shutting_down.pop(broker_id, None)
        self.offline_dirs.pop(broker_id, None)
        self._refresh_electable()

    def mark_shutting_down(self, broker_id: BrokerId) -> None:
        """Still alive for being told things, no longer for being elected."""
        self.shutting_down[broker_id] = None
        self._refresh_electable()

    def _refresh_electable(self) -> None:
        self._electable = frozenset(b for b in self.brokers if b not in self.shutting_down)

    def broker_epoch(self, broker_id: BrokerId) -> BrokerEpoch | None:
        """Which life of the broker is registered."""
        registered = self.brokers.get(broker_id)
        return None if registered is None else registered.broker_epoch

    def is_replica_online(self, broker_id: BrokerId, partition: Partition) -> bool:
        """Whether the replica can be elected: broker alive, staying, and its directory fine."""
        return broker_id in self._electable and not self.is_in_failed_dir(broker_id, partition)

    def is_in_failed_dir(self, broker_id: BrokerId, partition: Partition) -> bool:
        """Whether the replica sits in a failed log directory of its broker."""
        return bool(self.offline_dirs) and partition in self.offline_dirs.get(broker_id, {})

    def electable_for(self, partition: Partition) -> frozenset[BrokerId]:
        """The brokers on which this partition can be elected."""
        if not self.offline_dirs:
            return self._electable
        return frozenset(b for b in self._electable if self.is_replica_online(b, partition))

    def reachable_for(self, partition: Partition) -> frozenset[BrokerId]:
        """Like `electable_for`, with the brokers that are shutting down."""
        return frozenset(b for b in self.brokers if not self.is_in_failed_dir(b, partition))

    # --- topics and partitions ----------------------------------------------------------------

    def all_partitions(self) -> Iterator[Partition]:
        """Every known partition, topic by topic."""
        for topic in self.topics.values():
            yield from topic.partitions.values()

    def partition(self, topic: str, index: int) -> Partition | None:
        """One partition, if it is known."""
        known = self.topics.get(topic)
        return None if known is None else known.partitions.get(index)

    def assignments_of(self, topic: str) -> dict[int, Assignment]:
        """The assignments of a topic's partitions; empty for an unknown topic."""
        known = self.topics.get(topic)
        return {} if known is None else {i: p.assignment for i, p in known.partitions.items()}

    def replicas_of(self, topic: str, index: int) -> tuple[BrokerId, ...]:
        """The replicas of a partition; empty if there is no such partition."""
        known = self.partition(topic, index)
        return () if known is None else known.assignment.replicas

    def topic_ids_of(self, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Each of these topics once, with its id, for those that have one."""
        known = ((name, self.topics.get(name)) for name in dict.fromkeys(names))
        return tuple(
            (name, topic.topic_id)
            for name, topic in known
            if topic is not None and topic.topic_id is not None
        )

    def add_topic(self, name: str, topic_id: str | None) -> Topic:
        """Know a topic, without partitions so far."""
        topic = self.topics[name] = Topic(name, None, {})
        if topic_id is not None:
            self.give_topic_id(topic, topic_id)
        return topic

    def give_topic_id(self, topic: Topic, topic_id: str) -> None:
        """A topic's id, once given, is its id for life."""
        topic.topic_id = topic_id
        self.topic_names[topic_id] = topic.name

    def add_partition(self, topic: Topic, index: int, assignment: Assignment) -> Partition:
        """Know a partition; it and its replicas do not exist for the machines yet."""
        self.add_partitions(topic, {index: assignment})
        return topic.partitions[index]

    def add_partitions(self, topic: Topic, assignments: Mapping[int, Assignment]) -> None:
        """Like `add_partition` for many of a topic, in the order of their numbers."""
        name, partitions, share = topic.name, topic.partitions, self._shared.setdefault
        for index in sorted(assignments):
            assignment = assignments[index]
            partition = Partition(name, index, share(assignment, assignment))
            partitions[index] = partition
            if assignment.adding or assignment.removing:
                self._mark_reassigning(partition)

    def remove_topic(self, name: str) -> None:
        """Forget a topic and everything that hangs on it."""
        topic = self.topics.pop(name, None)
        if topic is None:
            return
        if topic.topic_id is not None:
            self.topic_names.pop(topic.topic_id, None)
        for partition in topic.partitions.values():
            self.set_leadership(partition, None)
            self.set_partition_state(partition, NO_PARTITION)
            self._unmark_reassigning(partition)
            self.unreadable.pop(partition, None)
            for replicas in self.replicas_on.values():
                replicas.pop(partition, None)
            for failed in self.offline_dirs.values():
                failed.pop(partition, None)
        for collection in (self.topics_to_delete, self.topics_in_deletion, self.topics_ineligible):
            collection.pop(name, None)

    def set_assignment(self, partition: Partition, assignment: Assignment) -> None:
        """Replace a partition's replicas; replica states follow only by moves."""
        partition.assignment = self._shared.setdefault(assignment, assignment)
        if assignment.is_reassigning:
            self._mark_reassigning(partition)
        else:
            self._unmark_reassigning(partition)
        self._recount_imbalance(partition)

    def _mark_reassigning(self, partition: Partition) -> None:
        if partition not in self.reassigning:
            self.reassigning[partition] = None
            self._reassigning_in[partition.topic] = self.reassigning_in(partition.topic) + 1

    def _unmark_reassigning(self, partition: Partition) -> None:
        if partition in self.reassigning:
            del self.reassigning[partition]
            left = self._reassigning_in.pop(partition.topic) - 1
            if left:
                self._reassigning_in[partition.topic] = left

    def reassigning_in(self, topic: str) -> int:
        """How many partitions of the topic are being moved."""
        return self._reassigning_in.get(topic, 0)

    def set_leadership(self, partition: Partition, leadership: Leadership | None) -> None:
        """Know another leadership, as ZooKeeper has it."""
        partition.leadership = leadership
        if self.unreadable:
            self.unreadable.pop(partition, None)
        if leadership is not None and not partition.is_imbalanced:
            replicas = partition.assignment.replicas
            if replicas and leadership.leader == replicas[0]:
                return  # As it nearly always is: balanced before and after.
        self._recount_imbalance(partition)

    # --- states -------------------------------------------------------------------------------

    def set_partition_state(self, partition: Partition, after: PartitionState) -> None:
        """Move a partition in the index; whether it may is the machine's business."""
        before = partition.state
        if before is after:
            return
        partition.state = after
        self.partitions_in[before].pop(partition, None)
        if after is not NO_PARTITION:
            self.partitions_in[after][partition] = None
        if partition.topic not in self.topics_to_delete:
            if after is OFFLINE:
                self.offline_partition_count += 1
            elif before is OFFLINE:
                self.offline_partition_count -= 1

    def set_first_states(self, partitions: Sequence[Partition], state: PartitionState) -> None:
        """Like `set_partition_state` for many partitions that have no state yet."""
        for partition in partitions:
            assert partition.state is NO_PARTITION, "its entry in the index would stay behind"
            partition.state = state
        self.partitions_in[state].update(dict.fromkeys(partitions))
        if state is OFFLINE:
            deleted = self.topics_to_delete
            self.offline_partition_count += sum(p.topic not in deleted for p in partitions)

    def replica_state(self, partition: Partition, broker_id: BrokerId) -> ReplicaState:
        """Where a replica is in its life."""
        return self.replicas_on.get(broker_id, {}).get(partition, NO_REPLICA)

    def set_replica_state(
        self, partition: Partition, broker_id: BrokerId, after: ReplicaState
    ) -> ReplicaState:
        """Move a replica in the index, and say where it was; a non-existent one has no entry."""
        hosted = self.replicas_on.get(broker_id)
        if hosted is None:
            hosted = self.replicas_on[broker_id] = {}
        if after is NO_REPLICA:
            return hosted.pop(partition, NO_REPLICA)
        before = hosted.get(partition, NO_REPLICA)
        hosted[partition] = after
        return before

    def set_replica_states(
        self, partitions: Iterable[Partition], broker_id: BrokerId, after: ReplicaState
    ) -> None:
        """Like `set_replica_state` for many replicas on one broker."""
        if after is NO_REPLICA:
            for partition in partitions:
                self.set_replica_state(partition, broker_id, after)
        else:
            self.replicas_on.setdefault(broker_id, {}).update(dict.fromkeys(partitions, after))

    # --- deletion -----------------------------------------------------------------------------

    def is_being_deleted(self, topic: str) -> bool:
        """Whether the topic is queued for deletion."""
        return topic in self.topics_to_delete

    def is_abandoned(self, topic: str) -> bool:
        """Whether the topic goes, so that nobody needs to lead it any more.

        One whose deletion waits for a reassignment does not: without a leader the reassignment
        would never end, and so neither would the deletion.
        """
        if topic not in self.topics_to_delete:
            return False
        return topic in self.topics_in_deletion or not self.reassigning_in(topic)

    def abandoned_topics(self) -> dict[str, None]:
        """All such topics."""
        return dict.fromkeys(t for t in self.topics_to_delete if self.is_abandoned(t))

    def queue_deletions(self, topics: Iterable[str]) -> None:
        """From now on these topics' partitions count neither as offline nor as imbalanced."""
        for name in topics:
            if name in self.topics_to_delete or name not in self.topics:
                continue
            self.topics_to_delete[name] = None
            for partition in self.topics[name].partitions.values():
                if partition.state is OFFLINE:
                    self.offline_partition_count -= 1
                self._recount_imbalance(partition)

    def begin_deletions(self, topics: Iterable[str]) -> None:
        """The replicas of these queued topics are now being deleted."""
        for name in topics:
            assert name in self.topics_to_delete, "only a queued topic's deletion can begin"
            self.topics_in_deletion[name] = None

    # --- counters -----------------------------------------------------------------------------

    def _recount_imbalance(self, partition: Partition) -> None:
        is_imbalanced = self._is_imbalanced(partition)
        if is_imbalanced is not partition.is_imbalanced:
            partition.is_imbalanced = is_imbalanced
            self.preferred_imbalance_count += 1 if is_imbalanced else -1

    def _is_imbalanced(self, partition: Partition) -> bool:
        """Led by another than the preferred replica. One being added counts once in the ISR."""
        leadership = partition.leadership
        replicas = partition.assignment.replicas
        if leadership is None or not replicas or partition.topic in self.topics_to_delete:
            return False
        preferred = replicas[0]
        if leadership.leader == preferred:
            return False
        return preferred not in partition.assignment.adding or preferred in leadership.isr

    def leader_of(self, partition: Partition) -> BrokerId:
        """The leader, -1 when there is none."""
        return NO_LEADER if partition.leadership is None else partition.leadership.leader
