"""Builders of control requests, and brokers wired to each other without any latency."""

from regent.broker.broker_config import NEVER_MS, BrokerConfig
from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import (
    AnnounceIsrChanges,
    AnswerAppend,
    AnswerFetch,
    BrokerEffect,
    SendAlterPartition,
    SendEpochQuery,
    SendFetch,
    WriteIsr,
)
from regent.broker.log import MemoryLogDirectory, Value
from regent.broker.replication_requests import Fetch
from regent.model.alter_partition import AlterPartition, AlterPartitionAnswer, IsrVerdict
from regent.model.assignment import Assignment
from regent.model.brokers import Broker
from regent.model.control_requests import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
ALL = (B1, B2, B3)
T0, T1, T2 = (TopicPartition("t", partition) for partition in range(3))
NOW_MS = 1_000


def leadership(
    leader: BrokerId = B1,
    epoch: int = 1,
    isr: tuple[BrokerId, ...] = ALL,
    zk_version: int | None = None,
) -> Leadership:
    """One that the first controller decided; the znode moves with the leader epoch."""
    version = epoch if zk_version is None else zk_version
    return Leadership(leader, LeaderEpoch(epoch), isr, ControllerEpoch(1), ZkVersion(version))


def leader_and_isr(
    *orders: tuple[TopicPartition, Leadership],
    replicas: tuple[BrokerId, ...] = ALL,
    controller_epoch: int = 1,
    broker_epoch: int = BROKER_EPOCH_UNKNOWN,
    topic_ids: tuple[tuple[str, str], ...] = (),
) -> LeaderAndIsr:
    """Orders for partitions that all have the same replicas."""
    return LeaderAndIsr(
        controller_id=B1,
        controller_epoch=ControllerEpoch(controller_epoch),
        broker_epoch=BrokerEpoch(broker_epoch),
        partitions=tuple(
            LeaderAndIsrPartition(name.topic, name.partition, each, Assignment(replicas), False)
            for name, each in orders
        ),
        topic_ids=topic_ids,
    )


def update_metadata(
    *live: BrokerId,
    controller_id: BrokerId = B1,
    controller_epoch: int = 1,
    broker_epoch: int = BROKER_EPOCH_UNKNOWN,
) -> UpdateMetadata:
    """Who is alive; no partitions."""
    return UpdateMetadata(
        controller_id=controller_id,
        controller_epoch=ControllerEpoch(controller_epoch),
        broker_epoch=BrokerEpoch(broker_epoch),
        partitions=(),
        live_brokers=tuple(Broker(broker_id) for broker_id in live),
    )


def stop_replica(
    name: TopicPartition,
    leader_epoch: int,
    *,
    delete: bool = True,
    controller_epoch: int = 1,
    broker_epoch: int = BROKER_EPOCH_UNKNOWN,
) -> StopReplica:
    """Stop one replica."""
    order = StopReplicaPartition(name.topic, name.partition, LeaderEpoch(leader_epoch), delete)
    return StopReplica(
        controller_id=B1,
        controller_epoch=ControllerEpoch(controller_epoch),
        broker_epoch=BrokerEpoch(broker_epoch),
        partitions=(order,),
    )


def broker(
    broker_id: BrokerId = B1,
    *,
    config: BrokerConfig | None = None,
    directory: MemoryLogDirectory | None = None,
    live: tuple[BrokerId, ...] = ALL,
) -> BrokerCore:
    """A broker that was told who is alive, if anybody is."""
    core = BrokerCore(broker_id, config or BrokerConfig(), directory or MemoryLogDirectory())
    if live:
        core.update_metadata(update_metadata(*live))
    return core


class Wiring:
    """Brokers, a controller that grants every ISR, and a clock that moves when told to."""

    def __init__(self, *broker_ids: BrokerId, config: BrokerConfig | None = None) -> None:
        self.config = config or BrokerConfig()
        self.now_ms = NOW_MS
        self.disks = {broker_id: MemoryLogDirectory() for broker_id in broker_ids}
        self.brokers: dict[BrokerId, BrokerCore] = {}
        self.states: dict[TopicPartition, Leadership] = {}
        self.answers: dict[int, AnswerAppend] = {}
        self.announced: list[TopicPartition] = []
        self._parked: dict[tuple[BrokerId, BrokerId, int], Fetch] = {}
        for broker_id in broker_ids:
            self.start(broker_id)
        self.tell_who_lives()

    def start(self, broker_id: BrokerId) -> None:
        """A new life on the same disk."""
        self.brokers[broker_id] = BrokerCore(broker_id, self.config, self.disks[broker_id])

    def crash(self, broker_id: BrokerId) -> None:
        """End a life; whoever waits for this broker learns that no answer will come."""
        del self.brokers[broker_id]
        for leader_id, replica_id, fetch_id in list(self._parked):
            if broker_id in (leader_id, replica_id):
                request = self._parked.pop((leader_id, replica_id, fetch_id))
                if replica_id in self.brokers:
                    self.brokers[replica_id].fetch_answered(leader_id, request, None, self.now_ms)

    def tell_who_lives(self) -> None:
        """UpdateMetadata to everybody."""
        for core in self.brokers.values():
            core.update_metadata(update_metadata(*self.brokers))

    def elect(
        self,
        name: TopicPartition,
        leader: BrokerId,
        isr: tuple[BrokerId, ...],
        *,
        told: tuple[BrokerId, ...] = ALL,
    ) -> None:
        """Write a new leadership and tell the live brokers among `told`."""
        before = self.states.get(name)
        epoch = before.leader_epoch + 1 if before else 1
        zk_version = before.zk_version + 1 if before else 1
        after = leadership(leader, epoch, isr, zk_version)
        self.states[name] = after
        self.tell(name, told)

    def tell(self, name: TopicPartition, told: tuple[BrokerId, ...] = ALL) -> None:
        """Send the present leadership, perhaps once more."""
        request = leader_and_isr((name, self.states[name]))
        for broker_id in told:
            if broker_id in self.brokers:
                self.brokers[broker_id].leader_and_isr(request, self.now_ms)
        self.pump()

    def append(self, leader: BrokerId, name: TopicPartition, value: Value, request_id: int) -> None:
        """Produce, and let the consequences run."""
        self.brokers[leader].append(name, value, request_id)
        self.pump()

    def values(self, broker_id: BrokerId, name: TopicPartition) -> list[Value]:
        """What is on a disk."""
        return [entry.value for entry in self.disks[broker_id].open(name).read(0, 10_000)]

    def run_for(self, duration_ms: int) -> None:
        """Let time pass, tick by tick."""
        end_ms = self.now_ms + duration_ms
        self.pump()
        while True:
            due_ms = min((core.next_tick_ms() for core in self.brokers.values()), default=NEVER_MS)
            if due_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, due_ms)
            for core in list(self.brokers.values()):
                if core.next_tick_ms() <= self.now_ms:
                    core.tick(self.now_ms)
            self.pump()
        self.now_ms = end_ms

    def pump(self) -> None:
        """Carry out effects until there are none."""
        while True:
            batch = [(core, core.take_effects()) for core in list(self.brokers.values())]
            if not any(effects for _, effects in batch):
                return
            for core, effects in batch:
                for effect in effects:
                    self._carry_out(core, effect)

    def _carry_out(self, core: BrokerCore, effect: BrokerEffect) -> None:
        match effect:
            case SendFetch(leader_id, request):
                self._fetch(core, leader_id, request)
            case AnswerFetch(replica_id, fetch_id, answer):
                parked = self._parked.pop((core.broker_id, replica_id, fetch_id), None)
                if parked is not None:
                    asker = self.brokers[replica_id]
                    asker.fetch_answered(core.broker_id, parked, answer, self.now_ms)
            case SendEpochQuery(leader_id, query):
                leader = self.brokers.get(leader_id)
                reply = leader.epoch_query(query) if leader else None
                core.epoch_query_answered(leader_id, query, reply, self.now_ms)
            case SendAlterPartition(_, request_id, alter):
                core.alter_partition_answered(request_id, self._alter(alter), self.now_ms)
            case WriteIsr(topic, partition, wished):
                name = TopicPartition(topic, partition)
                core.isr_written(name, wished, self._write(name, wished), self.now_ms)
            case AnswerAppend(request_id):
                self.answers[request_id] = effect
            case AnnounceIsrChanges(partitions):
                self.announced.extend(partitions)

    def _fetch(self, core: BrokerCore, leader_id: BrokerId, request: Fetch) -> None:
        leader = self.brokers.get(leader_id)
        answer = leader.fetch(request, self.now_ms) if leader else None
        if leader is not None and answer is None:
            self._parked[leader_id, core.broker_id, request.fetch_id] = request
        else:
            core.fetch_answered(leader_id, request, answer, self.now_ms)

    def _alter(self, request: AlterPartition) -> AlterPartitionAnswer:
        verdicts = []
        for each in request.proposals:
            name = TopicPartition(each.topic, each.partition)
            wished = leadership(request.broker_id, each.leader_epoch, each.isr, each.zk_version)
            written = self._write(name, wished)
            error = ErrorCode.INVALID_UPDATE_VERSION if written is None else ErrorCode.NONE
            now = self.states[name]
            verdicts.append(
                IsrVerdict(
                    name.topic,
                    name.partition,
                    error,
                    now.leader,
                    now.leader_epoch,
                    now.isr,
                    now.zk_version,
                )
            )
        return AlterPartitionAnswer(verdicts=tuple(verdicts))

    def _write(self, name: TopicPartition, wished: Leadership) -> ZkVersion | None:
        before = self.states[name]
        if (wished.zk_version, wished.leader_epoch) != (before.zk_version, before.leader_epoch):
            return None
        version = before.zk_version + 1
        self.states[name] = leadership(wished.leader, wished.leader_epoch, wished.isr, version)
        return ZkVersion(version)
