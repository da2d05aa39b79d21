"""The requests that one step of a machine leads to: at most one of each kind for each broker.

A batch is made for a step, filled while the step's writes are confirmed, and sent at its end: all
LeaderAndIsr, then UpdateMetadata, then StopReplica. It cannot be left over from before, because it
lives no longer than its step (C3). Within a batch `is_new` and `delete` only ever get stronger.
"""

from collections.abc import Iterable, Iterator, Sequence

from regent.core.effects import Effect, Journal, Send
from regent.core.state import ControllerState, Partition
from regent.model.control_requests import (
    ControlRequest,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.facts import RequestSent
from regent.model.ids import (
    LEADER_DURING_DELETE,
    LEADER_EPOCH_DURING_DELETE,
    LEADER_EPOCH_UNKNOWN,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    ZkVersion,
)
from regent.model.protocol_version import request_versions

#: From this version on, StopReplica says for each partition whether to delete it.
STOP_REPLICA_MIXED_SINCE = 3


class RequestBatch:
    """Collects what one step has to tell the brokers."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        #: By broker: partition to `is_new`.
        self._leaderships: dict[BrokerId, dict[Partition, bool]] = {}
        #: By broker: partition to (leader epoch, `delete`).
        self._stops: dict[BrokerId, dict[Partition, tuple[LeaderEpoch, bool]]] = {}
        self._metadata: dict[Partition, None] = {}
        self._metadata_brokers: dict[BrokerId, None] = {}
        self._tells_all = False

    def add_leader_and_isr(
        self, broker_ids: Iterable[BrokerId], partition: Partition, *, is_new: bool
    ) -> None:
        """Tell these replicas the partition's leadership, and everybody its metadata."""
        leaderships = self._leaderships
        for broker_id in broker_ids:
            told = leaderships.get(broker_id)
            if told is None:
                told = leaderships[broker_id] = {}
            if is_new:
                told[partition] = True
            else:
                told.setdefault(partition, False)
        self._metadata[partition] = None
        self._tells_all = True

    def add_known(self, broker_id: BrokerId, partitions: Sequence[Partition]) -> None:
        """Like `add_leader_and_isr` for replicas of one broker, none of them new, all at once."""
        if not partitions:
            return
        told = self._leaderships.get(broker_id)
        if told is None:
            self._leaderships[broker_id] = dict.fromkeys(partitions, False)
        else:
            for partition in partitions:
                told.setdefault(partition, False)
        self._metadata.update(dict.fromkeys(partitions))
        self._tells_all = True

    def add_update_metadata(
        self, broker_ids: Iterable[BrokerId], partitions: Iterable[Partition] = ()
    ) -> None:
        """Tell these brokers about the live brokers and these partitions."""
        self._metadata_brokers.update(dict.fromkeys(broker_ids))
        self._metadata.update(dict.fromkeys(partitions))

    def add_stop_replica(self, broker_id: BrokerId, partition: Partition, *, delete: bool) -> None:
        """Tell a broker to stop a replica.

        The leader epoch is the one known now, before any change that this step still makes: a
        stop that arrives late must lose against a leadership told later.
        """
        stops = self._stops.setdefault(broker_id, {})
        before = stops.get(partition)
        stops[partition] = (
            self._stop_epoch(partition) if before is None else before[0],
            delete or (before is not None and before[1]),
        )

    def add_stop_replicas(self, broker_id: BrokerId, partitions: Iterable[Partition]) -> None:
        """Like `add_stop_replica`, without deletion; a broker that is gone cannot be told."""
        if broker_id in self._state.brokers:
            for partition in partitions:
                self.add_stop_replica(broker_id, partition, delete=False)

    def _stop_epoch(self, partition: Partition) -> LeaderEpoch:
        if partition.topic in self._state.topics_to_delete:
            return LEADER_EPOCH_DURING_DELETE
        if partition.leadership is None:
            return LEADER_EPOCH_UNKNOWN
        return partition.leadership.leader_epoch

    # --- sending --------------------------------------------------------------------------------

    def send(self) -> Iterator[Effect]:
        """The effects that send it all, and the record of them."""
        sends = [*self._leader_and_isr(), *self._update_metadata(), *self._stop_replica()]
        if sends:
            yield Journal([_sent(send) for send in sends])
            yield from sends

    def _addressees(self, broker_ids: Iterable[BrokerId]) -> Iterator[tuple[BrokerId, BrokerEpoch]]:
        """Those of the brokers that can be told anything, in order of their ids."""
        for broker_id in sorted(broker_ids):
            registered = self._state.brokers.get(broker_id)
            if registered is not None:
                yield broker_id, registered.broker_epoch

    def _leader_and_isr(self) -> Iterator[Send]:
        state = self._state
        # Replicas of a partition are told the same: its entry is made once, and once more as new.
        made_new: dict[Partition, LeaderAndIsrPartition] = {}
        made_known: dict[Partition, LeaderAndIsrPartition] = {}
        for broker_id, broker_epoch in self._addressees(self._leaderships):
            entries = []
            leaders: dict[BrokerId, None] = {}
            topics: dict[str, None] = {}
            # One pass, while the entry is in the processor's cache: there can be very many.
            for partition, is_new in self._leaderships[broker_id].items():
                made = made_new if is_new else made_known
                entry = made.get(partition)
                if entry is None:
                    leadership = partition.leadership
                    assert leadership is not None, "only a leadership can be told"
                    entry = made[partition] = LeaderAndIsrPartition(
                        partition.topic, partition.index, leadership, partition.assignment, is_new
                    )
                entries.append(entry)
                leaders[entry.leadership.leader] = None
                topics[entry.topic] = None
            request = LeaderAndIsr(
                controller_id=state.controller_id,
                controller_epoch=state.controller_epoch,
                broker_epoch=broker_epoch,
                partitions=tuple(entries),
                live_leaders=tuple(sorted(b for b in leaders if b in state.brokers)),
                topic_ids=self._topic_ids(topics),
            )
            yield Send(broker_id, request)

    def _update_metadata(self) -> Iterator[Send]:
        state = self._state
        broker_ids = state.brokers if self._tells_all else self._metadata_brokers
        addressees = list(self._addressees(broker_ids))
        if not addressees:
            return
        partitions = tuple(self._partition_metadata())
        live_brokers = tuple(state.brokers[b].broker for b in sorted(state.brokers))
        topic_ids = self._topic_ids([entry.topic for entry in partitions])
        for broker_id, broker_epoch in addressees:
            request = UpdateMetadata(
                controller_id=state.controller_id,
                controller_epoch=state.controller_epoch,
                broker_epoch=broker_epoch,
                partitions=partitions,
                live_brokers=live_brokers,
                topic_ids=topic_ids,
            )
            yield Send(broker_id, request)

    def _partition_metadata(self) -> Iterator[PartitionMetadata]:
        state = self._state
        deleting = state.topics_to_delete
        offline: dict[tuple[BrokerId, ...], tuple[BrokerId, ...]] = {}
        for partition in self._metadata:
            leadership = partition.leadership
            if leadership is None:
                continue
            replicas = partition.assignment.replicas
            away = offline.get(replicas)
            if away is None or state.offline_dirs:
                away = offline[replicas] = tuple(
                    r for r in replicas if not state.is_replica_online(r, partition)
                )
            topic = partition.topic
            is_going = topic in deleting
            yield PartitionMetadata(
                topic,
                partition.index,
                leadership.controller_epoch,
                LEADER_DURING_DELETE if is_going else leadership.leader,
                LeaderEpoch(0) if is_going else leadership.leader_epoch,
                leadership.isr,
                ZkVersion(0) if is_going else leadership.zk_version,
                replicas,
                away,
            )

    def _stop_replica(self) -> Iterator[Send]:
        if not self._stops:
            return
        versions = request_versions(self._state.config.protocol)
        is_mixed = versions.stop_replica >= STOP_REPLICA_MIXED_SINCE
        for broker_id, broker_epoch in self._addressees(self._stops):
            entries = [
                StopReplicaPartition(partition.topic, partition.index, leader_epoch, delete)
                for partition, (leader_epoch, delete) in self._stops[broker_id].items()
            ]
            groups = (
                (entries,)
                if is_mixed
                else ([e for e in entries if e.delete], [e for e in entries if not e.delete])
            )
            for group in filter(None, groups):
                request = StopReplica(
                    controller_id=self._state.controller_id,
                    controller_epoch=self._state.controller_epoch,
                    broker_epoch=broker_epoch,
                    partitions=tuple(group),
                )
                yield Send(broker_id, request)

    def _topic_ids(self, topics: Iterable[str]) -> tuple[tuple[str, str], ...]:
        known = self._state.topics
        named = ((name, known[name].topic_id) for name in dict.fromkeys(topics) if name in known)
        return tuple((name, topic_id) for name, topic_id in named if topic_id is not None)


def _sent(send: Send) -> RequestSent:
    request: ControlRequest = send.request
    return RequestSent(
        broker_id=send.broker_id,
        broker_epoch=request.broker_epoch,
        api=type(request).__name__,
        partition_count=len(request.partitions),
    )
