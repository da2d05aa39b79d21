"""START HERE. A broker without clock, disk or network: what it does with what it is told.

Inputs are method calls that carry the time; outputs are return values and effects, which the
shell takes with `take_effects` after every call and carries out in order. `next_tick_ms` says when
to call `tick`. A crash is the loss of this object: a new one on the same `LogDirectory` has the
logs, the checkpointed high watermarks, and nothing else.

The room:

    broker_core         control requests, and where each input goes
    hosted_partition    one replica: role, epochs, high watermark, ISR arithmetic
    leader_side         records and followers' fetches
    fetch_session       the leader's memory of a follower
    isr_keeper          when the ISR should change
    isr_changes         getting it changed
    follower_side       the fetchers
    replica_fetcher     one of them: truncate, then fetch
    replication_quota   how fast new replicas may be copied
    metadata_cache      what UpdateMetadata said
    log                 the log and the disk, with twins in memory
    log_failures        what may come between, and what callers are told
"""

from collections.abc import Callable

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_effects import BrokerEffect
from regent.broker.follower_side import FollowerSide
from regent.broker.hosted_partition import HostedPartition
from regent.broker.isr_changes import IsrChanges
from regent.broker.isr_keeper import IsrKeeper
from regent.broker.leader_side import LeaderSide
from regent.broker.log import LogDirectory, Value
from regent.broker.metadata_cache import MetadataCache
from regent.broker.replication_quota import ReplicationQuota
from regent.broker.replication_requests import EpochQuery, EpochQueryAnswer, Fetch, FetchAnswer
from regent.model.alter_partition import AlterPartitionAnswer
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    LEADER_DURING_DELETE,
    LEADER_EPOCH_DURING_DELETE,
    LEADER_EPOCH_UNKNOWN,
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership


class BrokerCore:
    """One life of a broker."""

    def __init__(self, broker_id: BrokerId, config: BrokerConfig, directory: LogDirectory) -> None:
        self.broker_id = broker_id
        self.broker_epoch: BrokerEpoch = BROKER_EPOCH_UNKNOWN
        #: In memory only: a restarted broker obeys whoever speaks first.
        self.controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
        self.metadata = MetadataCache()
        self.hosted: dict[TopicPartition, HostedPartition] = {}
        #: What may be copied from here, and to here.
        self.leader_quota = ReplicationQuota(broker_id)
        self.follower_quota = ReplicationQuota(broker_id)
        self._config = config
        self._directory = directory
        self._effects: list[BrokerEffect] = []
        self._isr_changes = IsrChanges(broker_id, config, self.metadata, self._effects)
        self._isr_keeper = IsrKeeper(config, self.metadata, self._isr_changes)
        self._leader_side = LeaderSide(
            config, directory, self.hosted, self._isr_keeper, self._effects, self.leader_quota
        )
        self._follower_side = FollowerSide(broker_id, config, self._effects, self.follower_quota)
        self._checkpointed_ms = 0
        #: Leader epochs of replicas that moved away in this life. A late copy of an order to lead
        #: would find nothing here that shows it to be old, and lead alone. Topics that are deleted
        #: as a whole are not here: one of the same name begins again with epoch 0.
        self._buried: dict[TopicPartition, LeaderEpoch] = {}

    def registered(self, broker_epoch: BrokerEpoch) -> None:
        """The broker has (again) registered itself; requests to earlier lives are stale now."""
        self.broker_epoch = broker_epoch
        self._isr_changes.broker_epoch = broker_epoch

    def leads(self) -> tuple[TopicPartition, ...]:
        """The partitions that this broker believes it leads."""
        return tuple(self._isr_keeper.leading)

    def take_effects(self) -> list[BrokerEffect]:
        """What is to be done, in order; each effect is given out once."""
        effects = self._effects.copy()
        self._effects.clear()
        return effects

    # --- from the controller ------------------------------------------------------------------

    def leader_and_isr(self, request: LeaderAndIsr, now_ms: int) -> ControlAnswer:
        """Lead and follow as told; each partition is judged by itself."""
        error = self._refusal(request)
        if error is not ErrorCode.NONE:
            names = (TopicPartition(each.topic, each.partition) for each in request.partitions)
            return ControlAnswer(error, tuple((name, error) for name in names))
        topic_ids = dict(request.topic_ids)
        errors = []
        for order in request.partitions:
            name = TopicPartition(order.topic, order.partition)
            errors.append((name, self._obey(name, order, topic_ids.get(order.topic), now_ms)))
        self._settle()
        self._follower_side.send(now_ms)
        return ControlAnswer(partition_errors=tuple(errors))

    def update_metadata(self, request: UpdateMetadata) -> ControlAnswer:
        """Learn who is alive and who leads; wishes that waited for a controller go out."""
        error = self._refusal(request)
        if error is not ErrorCode.NONE:
            return ControlAnswer(error)
        alive_before = self.metadata.live_brokers.keys()
        self.metadata.update(request)
        for each in request.partitions:
            if each.leader == LEADER_DURING_DELETE:
                # One of the same name begins again with epoch 0.
                self._buried.pop(TopicPartition(each.topic, each.partition), None)
        if not alive_before <= self.metadata.live_brokers.keys():
            self._leader_side.stop_waiting_for_the_lost()
        self._settle()
        return ControlAnswer()

    def stop_replica(self, request: StopReplica, now_ms: int) -> ControlAnswer:
        """Stop serving partitions, and delete those that are to be deleted."""
        error = self._refusal(request)
        if error is not ErrorCode.NONE:
            return ControlAnswer(error)
        errors = []
        for order in request.partitions:
            name = TopicPartition(order.topic, order.partition)
            errors.append((name, self._stop(name, order)))
        self._settle()
        self._follower_side.send(now_ms)
        return ControlAnswer(partition_errors=tuple(errors))

    def _refusal(self, request: ControlRequest) -> ErrorCode:
        """A newer broker epoch is fine: the controller may know of our registration first."""
        if BROKER_EPOCH_UNKNOWN < request.broker_epoch < self.broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        if request.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = request.controller_epoch
        return ErrorCode.NONE

    def _obey(
        self, name: TopicPartition, order: LeaderAndIsrPartition, topic_id: str | None, now_ms: int
    ) -> ErrorCode:
        if self._directory.failed or self._directory.is_offline(name):
            return ErrorCode.KAFKA_STORAGE_ERROR
        known_id = self._isr_changes.topic_ids.get(name.topic)
        if topic_id is not None and known_id is not None and topic_id != known_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        leadership = order.leadership
        hosted = self.hosted.get(name)
        if hosted is not None and leadership.leader_epoch <= hosted.leader_epoch:
            if leadership.leader_epoch < hosted.leader_epoch or topic_id is None or known_id:
                return ErrorCode.STALE_CONTROLLER_EPOCH
            # Nothing new but the id of a topic that had none.
            self._isr_changes.topic_ids[name.topic] = topic_id
            self._directory.note_topic_id(name, topic_id)
        elif self.broker_id not in order.assignment.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif leadership.leader_epoch <= self._buried.get(name, LEADER_EPOCH_UNKNOWN):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        elif hosted is None or leadership.zk_version >= hosted.zk_version:
            if topic_id is not None:
                self._isr_changes.topic_ids[name.topic] = topic_id
            self._take_role(hosted or self._host(name, topic_id), order, now_ms)
        # A lower partition epoch is passed over without an error, as in Kafka: what is known
        # here is newer.
        return ErrorCode.NONE

    def _take_role(
        self, hosted: HostedPartition, order: LeaderAndIsrPartition, now_ms: int
    ) -> None:
        leader = order.leadership.leader
        if leader != self.broker_id and not self.metadata.is_alive(leader):
            # Kafka 3.9, ReplicaManager.makeFollowers: the role and the epoch stay, so that the
            # same order is obeyed when it comes again after an UpdateMetadata.
            return
        self._follower_side.ended(hosted.name)
        if leader == self.broker_id:
            # Appends of an earlier epoch wait on, as in Kafka: they are in the log, and nobody
            # cuts a leader's. If they failed, producers would write them a second time.
            hosted.lead(order.leadership, order.assignment, now_ms)
            self._leader_side.started(hosted, now_ms)
        else:
            self._leader_side.ended(hosted)
            hosted.follow(order.leadership, order.assignment)
            self._follower_side.started(hosted)

    def _host(self, name: TopicPartition, topic_id: str | None) -> HostedPartition:
        kept_id = self._directory.topic_id(name)
        if topic_id is not None and kept_id not in (topic_id, None):
            # It was deleted while this broker was away, and made again.
            self._directory.set_aside(name)
        hosted = HostedPartition(
            name,
            self.broker_id,
            self._directory.open(name),
            self._leader_side.min_isr_of,
            self._leader_side.is_joining,
        )
        if topic_id is not None and topic_id != kept_id:
            self._directory.note_topic_id(name, topic_id)
        saved = self._directory.high_watermark(name)
        hosted.high_watermark = min(saved, hosted.log.end_offset)
        self.hosted[name] = hosted
        return hosted

    def _stop(self, name: TopicPartition, order: StopReplicaPartition) -> ErrorCode:
        if self._directory.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        hosted = self.hosted.get(name)
        if hosted is not None:
            unchecked = (LEADER_EPOCH_UNKNOWN, LEADER_EPOCH_DURING_DELETE)
            if order.leader_epoch not in unchecked and order.leader_epoch < hosted.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            self._follower_side.ended(name)
            self._leader_side.ended(hosted)
            hosted.stop()
        if order.delete:
            self._bury(name, order.leader_epoch, hosted)
            self._delete(name)
        return ErrorCode.NONE

    def _bury(
        self, name: TopicPartition, leader_epoch: LeaderEpoch, hosted: HostedPartition | None
    ) -> None:
        if leader_epoch == LEADER_EPOCH_DURING_DELETE:
            self._buried.pop(name, None)
            return
        known = LEADER_EPOCH_UNKNOWN if hosted is None else hosted.leader_epoch
        self._buried[name] = max(leader_epoch, known, self._buried.get(name, LEADER_EPOCH_UNKNOWN))

    def _delete(self, name: TopicPartition) -> None:
        self.hosted.pop(name, None)
        self._leader_side.unsaved.pop(name, None)
        self._directory.delete(name)
        if not any(other.topic == name.topic for other in self.hosted):
            # A topic of the same name that is made later has another id.
            self._isr_changes.topic_ids.pop(name.topic, None)

    # --- from producers and followers ---------------------------------------------------------

    @property
    def min_isr(self) -> dict[str, int]:
        """By topic: the size of the ISR that an acks=all append needs, where the topic says it."""
        return self._leader_side.min_isr

    def watch(self, on_changed: Callable[[TopicPartition], None]) -> None:
        """Tell the shell which partitions got records, a high watermark or a role."""
        self._leader_side.on_changed = on_changed

    def append(
        self, name: TopicPartition, value: Value, request_id: int, *, acks_all: bool = True
    ) -> None:
        """Take a record; the outcome is an `AnswerAppend`, now or (with acks=all) later."""
        self._leader_side.append(name, value, request_id, acks_all=acks_all)
        self._settle()

    def append_refusal(self, name: TopicPartition, *, acks_all: bool) -> ErrorCode:
        """Why no record can be taken now, whatever it is; NONE if one can."""
        return self._leader_side.append_refusal(name, acks_all=acks_all)

    def append_again(
        self, name: TopicPartition, offset: int, last_offset: int, request_id: int
    ) -> None:
        """An acks=all append was repeated: answered once what it appended then is committed."""
        self._leader_side.repeat(name, offset, last_offset, request_id)
        self._settle()

    def log_began_later(self, name: TopicPartition) -> None:
        """Records were deleted from the start of a log; followers are to hear of it."""
        hosted = self.hosted.get(name)
        if hosted is not None:
            self._leader_side.changed(hosted)
        self._settle()

    def checkpoint(self, now_ms: int) -> None:
        """Save the high watermarks now, as before the broker ends."""
        self._checkpoint(now_ms)

    def fetch(self, request: Fetch, now_ms: int) -> FetchAnswer | None:
        """Serve a follower; None means that an `AnswerFetch` follows later."""
        answer = self._leader_side.fetch(request, now_ms)
        self._settle()
        return answer

    def epoch_query(self, query: EpochQuery) -> EpochQueryAnswer:
        """Tell a follower where epochs end."""
        return self._leader_side.epoch_query(query)

    # --- from leaders, the controller and ZooKeeper, in answer to effects ---------------------

    def fetch_answered(
        self, leader_id: BrokerId, request: Fetch, answer: FetchAnswer | None, now_ms: int
    ) -> None:
        """The outcome of a `SendFetch`; None if there is no answer and will be none."""
        usable = None if self._directory.failed else answer
        for hosted in self._follower_side.fetch_answered(leader_id, request, usable, now_ms):
            self._leader_side.unsaved[hosted.name] = hosted

    def epoch_query_answered(
        self, leader_id: BrokerId, query: EpochQuery, answer: EpochQueryAnswer | None, now_ms: int
    ) -> None:
        """The outcome of a `SendEpochQuery`."""
        usable = None if self._directory.failed else answer
        self._follower_side.epoch_query_answered(leader_id, query, usable, now_ms)

    def alter_partition_answered(
        self, request_id: int, answer: AlterPartitionAnswer | None, now_ms: int
    ) -> None:
        """The outcome of a `SendAlterPartition`."""
        committed, reverted = self._isr_changes.answered(request_id, answer, now_ms)
        for hosted in committed:
            self._leader_side.isr_committed(hosted, now_ms)
        for hosted in reverted:
            self._leader_side.isr_refused(hosted, now_ms)
        self._settle()

    def isr_written(
        self,
        name: TopicPartition,
        leadership: Leadership,
        zk_version: ZkVersion | None,
        now_ms: int,
    ) -> None:
        """The outcome of a `WriteIsr`: the new version, or None if somebody else wrote first."""
        hosted = self.hosted.get(name)
        if hosted is not None and self._isr_changes.written(hosted, leadership, zk_version, now_ms):
            self._leader_side.isr_committed(hosted, now_ms)
        self._settle()

    # --- time ---------------------------------------------------------------------------------

    def next_tick_ms(self) -> int:
        """When `tick` has something to do; it moves with every input."""
        due = min(
            self._leader_side.due_ms(), self._follower_side.due_ms(), self._isr_changes.due_ms()
        )
        if self._leader_side.unsaved:
            due = min(due, self._checkpointed_ms + self._config.checkpoint_ms)
        return due

    def tick(self, now_ms: int) -> None:
        """Do what time asks for; calling it too early does no harm."""
        self._isr_changes.tick(now_ms)
        self._leader_side.tick(now_ms)
        self._follower_side.tick(now_ms)
        if now_ms >= self._checkpointed_ms + self._config.checkpoint_ms:
            self._checkpoint(now_ms)
        self._settle()
        self._follower_side.send(now_ms)

    def _checkpoint(self, now_ms: int) -> None:
        self._checkpointed_ms = now_ms
        if not self._directory.failed:
            for name, hosted in self._leader_side.unsaved.items():
                self._directory.checkpoint(name, hosted.high_watermark)
        self._leader_side.unsaved.clear()

    # --- at the end of an input ---------------------------------------------------------------

    def _settle(self) -> None:
        self._leader_side.settle()
        self._isr_changes.send()
