"""Kafka's own records of `__consumer_offsets`, as values and as bytes.

Written are the versions that Kafka 3.9 writes: keys 1 (offset) and 2 (group), values 3, and value 1
for an offset that carries its own time of expiry. Read are all of the classic protocol. Keys of
other versions belong to features that are not here (transactions have none, KIP-848 has many);
`read_key` says None to them, and they are passed over.
"""

from typing import Final, TypeAlias

from msgspec import Struct

from regent.broker.groups.record_bytes import RecordBytesReader, blob, int16, int32, int64, string
from regent.errors import ProtocolError
from regent.model.group_requests import NO_COMMITTED_EPOCH
from regent.model.ids import TopicPartition

_OFFSET_KEYS: Final = (0, 1)
_GROUP_KEY: Final = 2
_NEWEST_VALUE: Final = 3
#: In old versions: no time of expiry of its own, no time of the last change of state.
_NO_TIME: Final = -1


class OffsetKey(Struct, frozen=True):
    """Names the offset of one group in one partition."""

    group_id: str
    name: TopicPartition


class GroupKey(Struct, frozen=True):
    """Names a group."""

    group_id: str


RecordKey: TypeAlias = OffsetKey | GroupKey


class OffsetValue(Struct, frozen=True):
    """What was committed."""

    offset: int
    leader_epoch: int = NO_COMMITTED_EPOCH
    metadata: str = ""
    commit_ms: int = 0
    #: Only of clients that said how long to keep it: the time when that is over.
    expire_ms: int | None = None


class StoredMember(Struct, frozen=True, kw_only=True):
    """A member of a stable generation."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes = b""
    assignment: bytes = b""


class GroupValue(Struct, frozen=True, kw_only=True):
    """A group at rest: stable, or without members."""

    protocol_type: str = ""
    generation_id: int = 0
    protocol_name: str | None = None
    leader_id: str | None = None
    #: When the state was entered; old versions do not say.
    state_since_ms: int | None = None
    members: tuple[StoredMember, ...] = ()


def write_key(key: RecordKey) -> bytes:
    """In the version that goes with its kind."""
    match key:
        case OffsetKey(group_id=group_id, name=(topic, partition)):
            return int16(1) + string(group_id) + string(topic) + int32(partition)
        case GroupKey(group_id=group_id):
            return int16(_GROUP_KEY) + string(group_id)


def read_key(content: bytes) -> RecordKey | None:
    """What a record is about; None if it is about something that is not here."""
    reader = RecordBytesReader(content)
    version = reader.int16()
    if version in _OFFSET_KEYS:
        return OffsetKey(reader.string(), TopicPartition(reader.string(), reader.int32()))
    return GroupKey(reader.string()) if version == _GROUP_KEY else None


def write_offset(value: OffsetValue) -> bytes:
    """Version 1 has no room for the epoch and is the only one with a time of expiry."""
    metadata, commit = string(value.metadata), int64(value.commit_ms)
    if value.expire_ms is not None:
        return int16(1) + int64(value.offset) + metadata + commit + int64(value.expire_ms)
    return int16(3) + int64(value.offset) + int32(value.leader_epoch) + metadata + commit


def read_offset(content: bytes) -> OffsetValue:
    """Any of versions 0 to 3."""
    reader = RecordBytesReader(content)
    version = _version(reader)
    offset = reader.int64()
    leader_epoch = reader.int32() if version == 3 else NO_COMMITTED_EPOCH
    metadata, commit_ms = reader.string(), reader.int64()
    expire_ms = reader.int64() if version == 1 else _NO_TIME
    return OffsetValue(
        offset, leader_epoch, metadata, commit_ms, None if expire_ms == _NO_TIME else expire_ms
    )


def write_group(value: GroupValue) -> bytes:
    """Version 3."""
    parts = [
        int16(3),
        string(value.protocol_type),
        int32(value.generation_id),
        string(value.protocol_name),
        string(value.leader_id),
        int64(_NO_TIME if value.state_since_ms is None else value.state_since_ms),
        int32(len(value.members)),
    ]
    for member in value.members:
        parts += (
            string(member.member_id),
            string(member.group_instance_id),
            string(member.client_id),
            string(member.client_host),
            int32(member.rebalance_timeout_ms),
            int32(member.session_timeout_ms),
            blob(member.subscription),
            blob(member.assignment),
        )
    return b"".join(parts)


def read_group(content: bytes) -> GroupValue:
    """Any of versions 0 to 3."""
    reader = RecordBytesReader(content)
    version = _version(reader)
    protocol_type, generation_id = reader.string(), reader.int32()
    protocol_name, leader_id = reader.nullable_string(), reader.nullable_string()
    since_ms = reader.int64() if version >= 2 else _NO_TIME
    return GroupValue(
        protocol_type=protocol_type,
        generation_id=generation_id,
        protocol_name=protocol_name,
        leader_id=leader_id,
        state_since_ms=None if since_ms == _NO_TIME else since_ms,
        members=tuple(_read_member(reader, version) for _ in range(reader.count())),
    )


def _read_member(reader: RecordBytesReader, version: int) -> StoredMember:
    member_id = reader.string()
    group_instance_id = reader.nullable_string() if version >= 3 else None
    client_id, client_host = reader.string(), reader.string()
    timeout_ms = reader.int32()
    # Version 0 has one timeout for both.
    session_timeout_ms = reader.int32() if version >= 1 else timeout_ms
    return StoredMember(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout_ms=timeout_ms,
        session_timeout_ms=session_timeout_ms,
        subscription=reader.blob(),
        assignment=reader.blob(),
    )


def _version(reader: RecordBytesReader) -> int:
    version = reader.int16()
    if not 0 <= version <= _NEWEST_VALUE:
        raise ProtocolError(f"version {version} of a group record's value is not known")
    return version
