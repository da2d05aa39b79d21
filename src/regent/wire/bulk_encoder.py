"""The two requests that can name every partition of a cluster, written fast.

At a failover the controller tells every broker about every partition. The bytes of a partition
are the same for whoever is told, so they are made once: a LeaderAndIsr is put together from the
bytes that its partitions already have, and an UpdateMetadata is one shared body behind a few bytes
of each broker's own. What comes out is, byte for byte, what the plain way through kio gives; that
way is in `leader_and_isr` and `update_metadata`, and the tests compare.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct

from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import (
    BrokerEntries,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    UpdateMetadata,
)
from regent.model.ids import LEADER_DURING_DELETE, BrokerId
from regent.wire.primitives import Int32Lists, Primitives
from regent.wire.update_metadata import broker_values
from regent.wire.values import to_id_bytes

_INT32: Final = struct.Struct(">i")
_KEPT_LAYOUTS_MAX: Final = 100_000
_topic_of: Final = attrgetter("topic")


class _Layout(NamedTuple):
    """How partitions with the same lists are written: what packs one, and the lists as bytes."""

    #: Takes partition, controller epoch, leader, leader epoch, `isr`, ZooKeeper version, `rest`.
    pack: Callable[..., bytes]
    isr: bytes
    rest: bytes


class _Layouts(dict[tuple[Any, ...], _Layout]):
    """Layouts by the ISR and what else decides them; one that is not there yet is made.

    Few combinations of lists are shared by many partitions, and to write one of these is a lookup
    and a single call.
    """

    def __init__(self, lists: Int32Lists, to_rest: Callable[..., bytes]) -> None:
        super().__init__()
        self._lists = lists
        self._to_rest = to_rest

    def __missing__(self, key: tuple[Any, ...]) -> _Layout:
        if len(self) >= _KEPT_LAYOUTS_MAX:
            self.clear()
        isr, rest = self._lists[key[0]], self._to_rest(*key[1:])
        layout = self[key] = _Layout(_packer(len(isr), len(rest)), isr, rest)
        return layout


@cache
def _packer(isr_bytes: int, rest_bytes: int) -> Callable[..., bytes]:
    return struct.Struct(f">4i{isr_bytes}si{rest_bytes}s").pack


class _WrittenBatch(Struct, frozen=True):
    """All entries that one batch tells anybody, and the topic and the bytes of each."""

    entries: tuple[LeaderAndIsrPartition, ...]
    topics: list[str]
    encoded: list[bytes]


class LeaderAndIsrEncoder:
    """Writes LeaderAndIsr in one version, and keeps each partition's bytes for the next broker."""

    def __init__(self, api_version: int) -> None:
        self._version = api_version
        self._to = Primitives(is_flexible=api_version >= 4)
        self._to_partition = self._partition_writer()
        self._batch = _WrittenBatch((), [], [])
        self._kept_topics: dict[tuple[str, str | None], bytes] = {}

    def encode(self, request: LeaderAndIsr, endpoints: Mapping[BrokerId, Endpoint]) -> list[bytes]:
        """The content of the request, in parts: those of partitions are shared between brokers."""
        try:
            return [
                self._prefix(request),
                *self._partitions(request),
                self._live_leaders(request.live_leaders, endpoints),
                self._to.end,
            ]
        except (struct.error, UnicodeEncodeError) as error:
            raise ProtocolError(f"LeaderAndIsr cannot carry this: {error}") from error

    def forget(self) -> None:
        """Drop the bytes of a batch that has been told to all; the next has entries of its own."""
        self._batch = _WrittenBatch((), [], [])
        self._kept_topics.clear()

    def _prefix(self, request: LeaderAndIsr) -> bytes:
        version = self._version
        prefix = _INT32.pack(request.controller_id)
        if version >= 7:
            prefix += b"\0"  # not a KRaft controller
        prefix += _INT32.pack(request.controller_epoch)
        if version >= 2:
            prefix += struct.pack(">q", request.broker_epoch)
        if version >= 5:
            prefix += b"\0"  # the type, for migrations to KRaft
        return prefix

    def _partitions(self, request: LeaderAndIsr) -> list[bytes]:
        entries = request.partitions
        if isinstance(entries, BrokerEntries):
            batch, places = self._written(entries.batch), entries.places
        else:
            batch, places = self._written(entries), range(len(entries))
        to_encoded, to_topic = batch.encoded.__getitem__, batch.topics.__getitem__
        if self._version < 2:
            return [_INT32.pack(len(places)), *map(to_encoded, places)]
        groups: dict[str, list[bytes]] = {}
        for topic, run in groupby(places, to_topic):
            groups.setdefault(topic, []).extend(map(to_encoded, run))
        topic_ids, to_count, end = dict(request.topic_ids), self._to.count, self._to.end
        parts = [to_count(len(groups))]
        for topic, partitions in groups.items():
            parts += (self._topic(topic, topic_ids.get(topic)), to_count(len(partitions)))
            parts += partitions
            parts.append(end)
        return parts

    def _topic(self, topic: str, topic_id: str | None) -> bytes:
        encoded = self._kept_topics.get((topic, topic_id))
        if encoded is None:
            encoded = self._to.string(topic)
            if self._version >= 5:
                encoded += to_id_bytes(topic_id)
            self._kept_topics[topic, topic_id] = encoded
        return encoded

    def _written(self, entries: tuple[LeaderAndIsrPartition, ...]) -> _WrittenBatch:
        """The batch with its bytes: those kept if it is the same, and not just an equal one."""
        if self._batch.entries is not entries:
            encoded = list(map(self._to_partition, entries))
            self._batch = _WrittenBatch(entries, list(map(_topic_of, entries)), encoded)
        return self._batch

    def _partition_writer(self) -> Callable[[LeaderAndIsrPartition], bytes]:
        """What writes one partition; with a hundred thousand of them every lookup counts."""
        layouts, to_string = _Layouts(self._to.int32_lists, self._to_rest), self._to.string

        def to_partition(entry: LeaderAndIsrPartition) -> bytes:
            leadership, assignment = entry.leadership, entry.assignment
            pack, isr, rest = layouts[
                leadership.isr,
                assignment.replicas,
                assignment.adding,
                assignment.removing,
                entry.is_new,
                leadership.recovering,
            ]
            return pack(
                entry.partition,
                leadership.controller_epoch,
                leadership.leader,
                leadership.leader_epoch,
                isr,
                leadership.zk_version,
                rest,
            )

        if self._version < 2:
            return lambda entry: to_string(entry.topic) + to_partition(entry)
        return to_partition

    def _to_rest(
        self,
        replicas: tuple[BrokerId, ...],
        adding: tuple[BrokerId, ...],
        removing: tuple[BrokerId, ...],
        is_new: bool,  # noqa: FBT001 - a part of the key
        recovering: bool,  # noqa: FBT001
    ) -> bytes:
        """What follows the ZooKeeper version."""
        lists, version = self._to.int32_lists, self._version
        rest = lists[replicas]
        if version >= 3:
            rest += lists[adding] + lists[removing]
        if version >= 1:
            rest += bytes([is_new])
        if version >= 6:
            rest += bytes([recovering])
        return rest + self._to.end

    def _live_leaders(
        self, leaders: tuple[BrokerId, ...], endpoints: Mapping[BrokerId, Endpoint]
    ) -> bytes:
        to = self._to
        known = [
            (broker_id, endpoints[broker_id]) for broker_id in leaders if broker_id in endpoints
        ]
        return to.count(len(known)) + b"".join(
            _INT32.pack(broker_id) + to.string(at.host) + _INT32.pack(at.port) + to.end
            for broker_id, at in known
        )


class _ToldTopic(Struct, frozen=True):
    """What was last said of a topic, and its bytes."""

    topic_id: str | None
    entries: list[PartitionMetadata]
    encoded: bytes


class _SharedBody(Struct, frozen=True):
    """What all brokers are told in one batch."""

    partitions: tuple[PartitionMetadata, ...]
    live_brokers: tuple[Broker, ...]
    topic_ids: tuple[tuple[str, str], ...]
    encoded: bytes

    def is_for(self, request: UpdateMetadata) -> bool:
        """Whether it is of the same batch: not equal, but the same."""
        return (
            self.partitions is request.partitions
            and self.live_brokers is request.live_brokers
            and self.topic_ids is request.topic_ids
        )


class UpdateMetadataEncoder:
    """Writes UpdateMetadata in one version: one body for all brokers, put together by topics.

    The bytes of a topic are kept until something else is said of it, so that a broker that comes
    back is told of a hundred thousand partitions without any of them being written anew.
    """

    def __init__(self, api_version: int) -> None:
        self._version = api_version
        self._to = Primitives(is_flexible=api_version >= 6)
        self._to_partition = self._partition_writer()
        self._told: dict[str, _ToldTopic] = {}
        self._body: _SharedBody | None = None

    def encode(self, request: UpdateMetadata) -> list[bytes]:
        """The content of the request, in two parts, of which the second is shared."""
        try:
            return [self._prefix(request), self._shared(request)]
        except (struct.error, UnicodeEncodeError) as error:
            raise ProtocolError(f"UpdateMetadata cannot carry this: {error}") from error

    def _prefix(self, request: UpdateMetadata) -> bytes:
        prefix = _INT32.pack(request.controller_id)
        if self._version >= 8:
            prefix += b"\0"  # not a KRaft controller
        prefix += _INT32.pack(request.controller_epoch)
        if self._version >= 5:
            prefix += struct.pack(">q", request.broker_epoch)
        return prefix

    def _shared(self, request: UpdateMetadata) -> bytes:
        body = self._body
        if body is None or not body.is_for(request):
            encoded = b"".join((*self._partitions(request), *self._live_brokers(request)))
            body = self._body = _SharedBody(
                request.partitions, request.live_brokers, request.topic_ids, encoded
            )
        return body.encoded

    def _partitions(self, request: UpdateMetadata) -> Iterable[bytes]:
        if self._version < 5:
            yield _INT32.pack(len(request.partitions))
            yield from map(self._to_partition, request.partitions)
            return
        topics: dict[str, list[PartitionMetadata]] = {}
        for topic, entries in groupby(request.partitions, _topic_of):
            topics.setdefault(topic, []).extend(entries)
        topic_ids = dict(request.topic_ids)
        yield self._to.count(len(topics))
        for topic, grouped in topics.items():
            yield self._topic(topic, topic_ids.get(topic), grouped)

    def _topic(
        self,
        topic: str,
        topic_id: str | None,
        entries: list[PartitionMetadata],
    ) -> bytes:
        told = self._told.get(topic)
        if told is not None and told.topic_id == topic_id and told.entries == entries:
            return told.encoded
        to = self._to
        encoded = b"".join(
            (
                to.string(topic),
                to_id_bytes(topic_id) if self._version >= 7 else b"",
                to.count(len(entries)),
                *map(self._to_partition, entries),
                to.end,
            )
        )
        if entries[0].leader == LEADER_DURING_DELETE:  # it is never spoken of again
            self._told.pop(topic, None)
        else:
            self._told[topic] = _ToldTopic(topic_id, entries, encoded)
        return encoded

    def _partition_writer(self) -> Callable[[PartitionMetadata], bytes]:
        """What writes one partition; with a hundred thousand of them every lookup counts."""
        layouts, to_string = _Layouts(self._to.int32_lists, self._to_rest), self._to.string

        def to_partition(entry: PartitionMetadata) -> bytes:
            pack, isr, rest = layouts[entry.isr, entry.replicas, entry.offline_replicas]
            return pack(
                entry.partition,
                entry.controller_epoch,
                entry.leader,
                entry.leader_epoch,
                isr,
                entry.zk_version,
                rest,
            )

        if self._version < 5:
            return lambda entry: to_string(entry.topic) + to_partition(entry)
        return to_partition

    def _to_rest(self, replicas: tuple[BrokerId, ...], offline: tuple[BrokerId, ...]) -> bytes:
        """What follows the ZooKeeper version."""
        lists = self._to.int32_lists
        return lists[replicas] + (lists[offline] if self._version >= 4 else b"") + self._to.end

    def _live_brokers(self, request: UpdateMetadata) -> Iterable[bytes]:
        yield self._to.count(len(request.live_brokers))
        yield from map(self._broker, request.live_brokers)
        yield self._to.end

    def _broker(self, broker: Broker) -> bytes:
        to, version, values = self._to, self._version, broker_values(broker)
        encoded = _INT32.pack(broker.broker_id)
        if version == 0:
            return encoded + to.string(values["v0_host"]) + _INT32.pack(values["v0_port"])
        encoded += to.count(len(values["endpoints"]))
        for endpoint in values["endpoints"]:
            encoded += _INT32.pack(endpoint["port"]) + to.string(endpoint["host"])
            if version >= 3:
                encoded += to.string(endpoint["listener"])
            encoded += struct.pack(">h", endpoint["security_protocol"]) + to.end
        if version >= 2:
            encoded += to.nullable_string(values["rack"])
        return encoded + to.end
