"""The answer to Metadata, written by hand: topic by topic, so that a large one needs no long turn.

A client that wants to know all topics of a large cluster gets megabytes, and kio's writer would
hold up everybody else for a second and more. All versions that are spoken here are plain ones.
"""

import struct
from collections.abc import Sequence
from typing import Final

from regent.model.cluster_requests import MetadataAnswer, PartitionDescription, TopicDescription
from regent.wire.primitives import Primitives

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_NO_THROTTLE: Final = _INT32.pack(0)
#: Error, partition, leader; and since version 7 the leader epoch.
_PARTITION: Final = struct.Struct(">hii")
_PARTITION_WITH_EPOCH: Final = struct.Struct(">hiii")


class MetadataEncoder:
    """Writes answers of one version in parts, which follow one another on the wire."""

    def __init__(self, api_version: int) -> None:
        self._version = api_version
        self._write = Primitives(is_flexible=False)

    def head(self, answer: MetadataAnswer, topic_count: int) -> bytes:
        """All that stands before the topics."""
        version, write = self._version, self._write
        parts = [_NO_THROTTLE] if version >= 3 else []
        parts.append(write.count(len(answer.nodes)))
        for node in answer.nodes:
            parts += _INT32.pack(node.node_id), write.string(node.host), _INT32.pack(node.port)
            if version >= 1:
                parts.append(write.nullable_string(node.rack))
        if version >= 2:
            parts.append(write.nullable_string(answer.cluster_id))
        if version >= 1:
            parts.append(_INT32.pack(answer.controller_id))
        parts.append(write.count(topic_count))
        return b"".join(parts)

    def topic(self, topic: TopicDescription) -> bytes:
        """One topic."""
        version, write = self._version, self._write
        parts = [_INT16.pack(topic.error), write.string(topic.topic)]
        if version >= 1:
            parts.append(b"\1" if topic.is_internal else b"\0")
        parts.append(self._partitions(topic.partitions))
        if version >= 8:
            parts.append(_INT32.pack(topic.operations))
        return b"".join(parts)

    def tail(self, answer: MetadataAnswer) -> bytes:
        """All that stands behind the topics."""
        return _INT32.pack(answer.cluster_operations) if self._version >= 8 else b""

    def _partitions(self, partitions: Sequence[PartitionDescription]) -> bytes:
        has_epochs, has_offline = self._version >= 7, self._version >= 5
        int32_list = self._write.int32_list
        parts = [self._write.count(len(partitions))]
        for each in partitions:
            if has_epochs:
                numbers = _PARTITION_WITH_EPOCH.pack(
                    each.error, each.partition, each.leader, each.leader_epoch
                )
            else:
                numbers = _PARTITION.pack(each.error, each.partition, each.leader)
            parts += numbers, int32_list(each.replicas), int32_list(each.isr)
            if has_offline:
                parts.append(int32_list(each.offline_replicas))
        return b"".join(parts)
