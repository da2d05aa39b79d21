"""The requests that one step of a machine leads to: at most one of each kind for each broker.

A batch is made for a step, filled while the step's writes are confirmed, and sent at its end: all
LeaderAndIsr, then UpdateMetadata, then StopReplica. It cannot be left over from before, because it
lives no longer than its step (C3). Within a batch `is_new` and `delete` only ever get stronger.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from regent.core.broker_pages import BrokerPages
from regent.core.effects import Effect, Journal, Send
from regent.core.state import ControllerState, Partition
from regent.model.brokers import Broker
from regent.model.control_requests import (
    ControlRequest,
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
from regent.model.leadership import Leadership
from regent.model.protocol_version import request_versions

#: From this version on, StopReplica says for each partition whether to delete it.
STOP_REPLICA_MIXED_SINCE: Final = 3


#: Which replicas are told a partition's leadership: those that know it, and those new to it.
Told: TypeAlias = tuple[tuple[BrokerId, ...], tuple[BrokerId, ...]]

NOBODY: Final[Told] = ((), ())


class RequestBatch:
    """Collects what one step has to tell the brokers."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        #: By partition: who is told to lead or follow. Everybody named here is told the metadata.
        self._news: dict[Partition, Told] = {}
        #: By broker: partition to (leader epoch, `delete`).
        self._stops: dict[BrokerId, dict[Partition, tuple[LeaderEpoch, bool]]] = {}
        self._metadata_brokers: dict[BrokerId, None] = {}
        self._tells_all = False
        # Few combinations of replicas are shared by many partitions: each is joined once.
        self._joined: dict[tuple[Told, tuple[BrokerId, ...], bool], Told] = {}

    def add_leader_and_isr(
        self, broker_ids: tuple[BrokerId, ...], partition: Partition, *, is_new: bool
    ) -> None:
        """Tell these replicas the partition's leadership, and everybody its metadata."""
        news = self._news
        before = news.get(partition, NOBODY)
        if before is NOBODY:
            news[partition] = (NOBODY[0], broker_ids) if is_new else (broker_ids, NOBODY[1])
        else:
            news[partition] = self._join(before, broker_ids, is_new=is_new)
        self._tells_all = True

    def add_known(self, broker_id: BrokerId, partitions: Sequence[Partition]) -> None:
        """Like `add_leader_and_isr` for replicas of one broker, none of them new, all at once."""
        told = (broker_id,)
        if not self._news:
            self.add_first(dict.fromkeys(partitions, (told, NOBODY[1])))
        else:
            for partition in partitions:
                self.add_leader_and_isr(told, partition, is_new=False)

    def add_first(self, news: dict[Partition, Told]) -> None:
        """Like `add_leader_and_isr` for many partitions at once, in a batch that has none yet."""
        assert not self._news, "what is there would be lost"
        self._news = news
        self._tells_all = self._tells_all or bool(news)

    def _join(self, before: Told, broker_ids: tuple[BrokerId, ...], *, is_new: bool) -> Told:
        """Those told so far and these; who was new to a partition stays so."""
        key = (before, broker_ids, is_new)
        joined = self._joined.get(key)
        if joined is None:
            known, new = before
            if is_new:
                new = tuple(dict.fromkeys(new + broker_ids))
            else:
                known = tuple(dict.fromkeys(known + broker_ids))
            joined = self._joined[key] = (tuple(b for b in known if b not in new), new)
        return joined

    def add_update_metadata(
        self, broker_ids: Iterable[BrokerId], partitions: Iterable[Partition] = ()
    ) -> None:
        """Tell these brokers about the live brokers and these partitions."""
        self._metadata_brokers.update(dict.fromkeys(broker_ids))
        for partition in partitions:
            self._news.setdefault(partition, NOBODY)

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
        sends = [*self._leaderships_and_metadata(), *self._stop_replica()]
        if sends:
            yield Journal([_sent(send) for send in sends])
            yield from sends

    def _addressees(self, broker_ids: Iterable[BrokerId]) -> Iterator[tuple[BrokerId, BrokerEpoch]]:
        """Those of the brokers that can be told anything, in order of their ids."""
        for broker_id in sorted(broker_ids):
            registered = self._state.brokers.get(broker_id)
            if registered is not None:
                yield broker_id, registered.broker_epoch

    def _leaderships_and_metadata(self) -> Iterator[Send]:
        """All LeaderAndIsr, then all UpdateMetadata.

        One pass makes both, partition by partition: with hundreds of thousands of them it is the
        processor's cache that counts, and a second visit to each costs more than the work itself.
        """
        state, pages = self._state, BrokerPages(self._state)
        # A leader that hears the farewell finds its topic by id no more, and nobody can follow it;
        # so it must not be said while a reassignment has to end first.
        deleting, failed_dirs = state.abandoned_topics(), state.offline_dirs
        metadata: list[PartitionMetadata] = []
        # The same for most partitions with the same replicas, and few lists are shared by many.
        offline: dict[tuple[BrokerId, ...], tuple[BrokerId, ...]] = {}
        for partition, (known, new) in self._news.items():
            leadership, assignment = partition.leadership, partition.assignment
            if leadership is None:
                assert not known, "only a leadership can be told"
                assert not new, "only a leadership can be told"
                continue
            if known:
                pages.write(known, partition, leadership, is_new=False)
            if new:
                pages.write(new, partition, leadership, is_new=True)
            away = offline.get(assignment.replicas)
            if away is None or failed_dirs:
                away = offline[assignment.replicas] = self._offline_replicas(partition)
            to_metadata = _to_farewell if partition.topic in deleting else _to_metadata
            metadata.append(to_metadata(partition, leadership, away))
        yield from pages.to_sends(self._addressees(state.brokers))
        yield from self._update_metadata(tuple(metadata))

    def _offline_replicas(self, partition: Partition) -> tuple[BrokerId, ...]:
        is_online = self._state.is_replica_online
        return tuple(r for r in partition.assignment.replicas if not is_online(r, partition))

    def _update_metadata(self, partitions: tuple[PartitionMetadata, ...]) -> Iterator[Send]:
        state = self._state
        broker_ids = state.brokers if self._tells_all else self._metadata_brokers
        live_brokers = _live_brokers(state)
        topic_ids = state.topic_ids_of([entry.topic for entry in partitions])
        for broker_id, broker_epoch in self._addressees(broker_ids):
            request = UpdateMetadata(
                controller_id=state.controller_id,
                controller_epoch=state.controller_epoch,
                broker_epoch=broker_epoch,
                partitions=partitions,
                live_brokers=live_brokers,
                topic_ids=topic_ids,
            )
            yield Send(broker_id, request)

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


def _live_brokers(state: ControllerState) -> tuple[Broker, ...]:
    """All that can be asked something: the live brokers, and a controller that is none of them.

    Such a controller is listed under every name that the brokers have for a listener, because each
    of them looks for it under the one that it uses for others. Where all brokers have racks it has
    one, too: brokers that place replicas by themselves refuse to with a rack missing.
    """
    brokers = {broker_id: registered.broker for broker_id, registered in state.brokers.items()}
    own = state.config.own_endpoint
    if own is not None and state.controller_id not in brokers:
        listeners = dict.fromkeys(e.listener for b in brokers.values() for e in b.endpoints)
        endpoints = tuple(replace(own, listener=name) for name in listeners)
        racks = [broker.rack for broker in brokers.values()]
        rack = racks[0] if racks and None not in racks else None
        brokers[state.controller_id] = Broker(state.controller_id, endpoints or (own,), rack)
    return tuple(brokers[broker_id] for broker_id in sorted(brokers))


def _to_metadata(
    partition: Partition, leadership: Leadership, away: tuple[BrokerId, ...]
) -> PartitionMetadata:
    return PartitionMetadata(
        partition.topic,
        partition.index,
        leadership.controller_epoch,
        leadership.leader,
        leadership.leader_epoch,
        leadership.isr,
        leadership.zk_version,
        partition.assignment.replicas,
        away,
    )


def _to_farewell(
    partition: Partition, leadership: Leadership, away: tuple[BrokerId, ...]
) -> PartitionMetadata:
    """The topic is being deleted: brokers drop the partition from what they tell clients."""
    return PartitionMetadata(
        partition.topic,
        partition.index,
        leadership.controller_epoch,
        LEADER_DURING_DELETE,
        LeaderEpoch(0),
        leadership.isr,
        ZkVersion(0),
        partition.assignment.replicas,
        away,
    )


def _sent(send: Send) -> RequestSent:
    request: ControlRequest = send.request
    return RequestSent(
        broker_id=send.broker_id,
        broker_epoch=request.broker_epoch,
        api=type(request).__name__,
        partition_count=len(request.partitions),
    )
