"""The two requests that can name every partition of a cluster, written fast.

At a failover the controller tells every broker about every partition. The bytes of a partition
are the same for whoever is told, so they are made once: a LeaderAndIsr is put together from the
bytes that its partitions already have, and an UpdateMetadata is one shared body behind a few bytes
of each broker's own. What comes out is, byte for byte, what the plain way through kio gives; that
way is in `leader_and_isr` and `update_metadata`, and the tests compare.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec import Struct

from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    UpdateMetadata,
)
from regent.model.ids import LEADER_DURING_DELETE, BrokerId
from regent.wire.primitives import Primitives
from regent.wire.update_metadata import broker_values
from regent.wire.values import to_id_bytes

_FOUR_INT32: Final = struct.Struct(">4i")
_INT32: Final = struct.Struct(">i")
_KEPT_ENTRIES_MAX: Final = 1_000_000
_topic_of: Final = attrgetter("topic")


class LeaderAndIsrEncoder:
    """Writes LeaderAndIsr in one version, and keeps each partition's bytes for the next broker."""

    def __init__(self, api_version: int) -> None:
        self._version = api_version
        self._to = Primitives(is_flexible=api_version >= 4)
        self._to_partition = self._partition_writer()
        #: By identity of the entry.
        self._kept: dict[int, bytes] = {}
        #: The entries themselves, so that nothing else gets their identity meanwhile.
        self._alive: list[tuple[LeaderAndIsrPartition, ...]] = []
        self._kept_topics: dict[tuple[str, str | None], bytes] = {}

    def encode(self, request: LeaderAndIsr, endpoints: Mapping[BrokerId, Endpoint]) -> list[bytes]:
        """The content of the request, in parts: those of partitions are shared between brokers."""
        if len(self._kept) > _KEPT_ENTRIES_MAX:
            self.forget()
        self._alive.append(request.partitions)
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
        self._kept.clear()
        self._alive.clear()
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
        topics = self._encoded(request.partitions, is_grouped=self._version >= 2)
        if self._version < 2:
            return [_INT32.pack(len(request.partitions)), *topics.get("", ())]
        topic_ids, to_count, end = dict(request.topic_ids), self._to.count, self._to.end
        parts = [to_count(len(topics))]
        for topic, partitions in topics.items():
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

    def _encoded(
        self, entries: tuple[LeaderAndIsrPartition, ...], *, is_grouped: bool
    ) -> dict[str, list[bytes]]:
        """The bytes of the entries, by topic or all under one empty name."""
        kept, to_partition = self._kept, self._to_partition
        groups: dict[str, list[bytes]] = {}
        topic: str | None = None
        group: list[bytes] = []
        for entry in entries:
            # Most neighbours share the very string; for the others the dict decides.
            if entry.topic is not topic:
                topic = entry.topic
                group = groups.setdefault(topic if is_grouped else "", [])
            encoded = kept.get(id(entry))
            if encoded is None:
                encoded = kept[id(entry)] = to_partition(entry)
            group.append(encoded)
        return groups

    def _partition_writer(self) -> Callable[[LeaderAndIsrPartition], bytes]:
        """What writes one partition; with a hundred thousand of them every lookup counts."""
        to_list, to_string = self._to.int32_list, self._to.string
        pack_four, pack_one = _FOUR_INT32.pack, _INT32.pack
        version = self._version
        has_topic, has_moves, has_new, has_recovery = (
            version < 2,
            version >= 3,
            version >= 1,
            version >= 6,
        )
        # What follows the lists has few values: the flags, and the end of the struct.
        endings = {
            (is_new, recovering): (bytes([is_new]) if has_new else b"")
            + (bytes([recovering]) if has_recovery else b"")
            + self._to.end
            for is_new in (False, True)
            for recovering in (False, True)
        }

        def to_partition(entry: LeaderAndIsrPartition) -> bytes:
            leadership, assignment = entry.leadership, entry.assignment
            return b"%b%b%b%b%b%b%b%b" % (
                to_string(entry.topic) if has_topic else b"",
                pack_four(
                    entry.partition,
                    leadership.controller_epoch,
                    leadership.leader,
                    leadership.leader_epoch,
                ),
                to_list(leadership.isr),
                pack_one(leadership.zk_version),
                to_list(assignment.replicas),
                to_list(assignment.adding) if has_moves else b"",
                to_list(assignment.removing) if has_moves else b"",
                endings[entry.is_new, leadership.recovering],
            )

        return to_partition

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
        to_list, to_string, end = self._to.int32_list, self._to.string, self._to.end
        pack_four, pack_one = _FOUR_INT32.pack, _INT32.pack
        has_topic, has_offline = self._version < 5, self._version >= 4

        def to_partition(entry: PartitionMetadata) -> bytes:
            return b"%b%b%b%b%b%b%b" % (
                to_string(entry.topic) if has_topic else b"",
                pack_four(
                    entry.partition, entry.controller_epoch, entry.leader, entry.leader_epoch
                ),
                to_list(entry.isr),
                pack_one(entry.zk_version),
                to_list(entry.replicas),
                to_list(entry.offline_replicas) if has_offline else b"",
                end,
            )

        return to_partition

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
