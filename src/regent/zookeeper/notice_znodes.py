"""What the znodes say that are left for a controller to find, from bytes and to bytes.

An election that an admin wants, a log directory that failed, a config that changed. Like the other
codecs these raise CorruptZnode, which names the path and what is wrong with it.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from regent.errors import CorruptZnode
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from regent.zookeeper.decoding import Int32, VersionOne, read_json

_Name = Annotated[str, Meta(min_length=1)]
#: The only thing that Kafka's brokers announce about a log directory: that it failed.
_LOG_DIR_FAILURE: Literal[1] = 1


class _NamedPartition(Struct):
    topic: _Name
    partition: Int32


class _ElectionRecord(Struct):
    version: VersionOne
    partitions: tuple[_NamedPartition, ...]


class _LogDirEventRecord(Struct):
    version: VersionOne
    broker: Int32
    event: Literal[1]


class _ConfigChangeRecord(Struct):
    """Version 2 has the path of the entity, version 1 its type and its name."""

    version: Annotated[int, Meta(ge=1, le=2)]
    entity_path: _Name | None = None
    entity_type: _Name | None = None
    entity_name: _Name | None = None


_ELECTION_DECODER = msgspec.json.Decoder(_ElectionRecord)
_LOG_DIR_EVENT_DECODER = msgspec.json.Decoder(_LogDirEventRecord)
_CONFIG_CHANGE_DECODER = msgspec.json.Decoder(_ConfigChangeRecord)


def encode_election(partitions: Iterable[TopicPartition]) -> bytes:
    """The partitions that shall be led by their preferred replicas, as admin tools write them."""
    records = tuple(_NamedPartition(topic, index) for topic, index in partitions)
    return msgspec.json.encode(_ElectionRecord(1, records))


def decode_election(raw: bytes | None) -> tuple[TopicPartition, ...]:
    """The partitions that shall be led by their preferred replicas."""
    record = read_json(_ELECTION_DECODER, paths.ELECTION, raw)
    return tuple(TopicPartition(each.topic, each.partition) for each in record.partitions)


def encode_log_dir_event(broker_id: BrokerId) -> bytes:
    """A broker's word that it lost a log directory; which one, its answers will tell."""
    return msgspec.json.encode(_LogDirEventRecord(1, broker_id, _LOG_DIR_FAILURE))


def decode_log_dir_event(path: str, raw: bytes | None) -> BrokerId:
    """The broker that lost a log directory."""
    return BrokerId(read_json(_LOG_DIR_EVENT_DECODER, path, raw).broker)


def encode_config_change(entity: str) -> bytes:
    """The announcement of a changed config, in version 2."""
    return b'{"version":2,"entity_path":%b}' % msgspec.json.encode(entity)


def decode_config_change(path: str, raw: bytes | None) -> str:
    """The entity whose config changed, as `type/name`, whichever version says so."""
    record = read_json(_CONFIG_CHANGE_DECODER, path, raw)
    if record.version == 1:
        wanted, entity = "entity_type and entity_name", _joined(record)
    else:
        wanted, entity = "entity_path", record.entity_path
    if entity is None:
        raise CorruptZnode(path, f"expected {wanted} in version {record.version}, found none")
    return entity


def _joined(record: _ConfigChangeRecord) -> str | None:
    if record.entity_type is None or record.entity_name is None:
        return None
    return f"{record.entity_type}/{record.entity_name}"
