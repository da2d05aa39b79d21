"""The requests that one step of a machine leads to: at most one of each kind for each broker.

A batch is made for a step, filled while the step's writes are confirmed, and sent at its end: all
LeaderAndIsr, then UpdateMetadata, then StopReplica. It cannot be left over from before, because it
lives no longer than its step (C3). Within a batch `is_new` and `delete` only ever get stronger.
"""

from collections.abc import Iterable, Iterator

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
        for broker_id in broker_ids:
            told = self._leaderships.get(broker_id)
            if told is None:
                told = self._leaderships[broker_id] = {}
            if is_new:
                told[partition] = True
            else:
                told.setdefault(partition, False)
        self._metadata[partition] = None
        self._tells_all = True

    def add_update_metadata(
        self, broker_ids: Iterable[BrokerId], partitions: Iterable[Partition] = ()
    ) -> None:
        """Tell these brokers about the live brokers and these partitions."""
        for broker_id in broker_ids:
            self._metadata_brokers[broker_id] = None
        for partition in partitions:
            self._metadata[partition] = None

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
        made: dict[tuple[Partition, bool], LeaderAndIsrPartition] = {}
        for broker_id, broker_epoch in self._addressees(self._leaderships):
            partitions = []
            leaders: dict[BrokerId, None] = {}
            for key in self._leaderships[broker_id].items():
                entry = made.get(key)
                if entry is None:
                    partition, is_new = key
                    assert partition.leadership is not None, "only a leadership can be told"
                    entry = made[key] = LeaderAndIsrPartition(
                        partition.topic,
                        partition.index,
                        partition.leadership,
                        partition.assignment,
                        is_new,
                    )
                leaders[entry.leadership.leader] = None
                partitions.append(entry)
            request = LeaderAndIsr(
                controller_id=state.controller_id,
                controller_epoch=state.controller_epoch,
                broker_epoch=broker_epoch,
                partitions=tuple(partitions),
                live_leaders=tuple(sorted(b for b in leaders if b in state.brokers)),
                topic_ids=self._topic_ids(entry.topic for entry in partitions),
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
        topic_ids = self._topic_ids(entry.topic for entry in partitions)
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
            is_going = partition.topic in state.topics_to_delete
            yield PartitionMetadata(
                partition.topic,
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
