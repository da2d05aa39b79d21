"""`/admin/reassign_partitions` from bytes and to bytes, and the asks about it.

The document is bound strictly, as Kafka does: whatever it says that it should not say spoils all of
it. Half of a plan is not what somebody wanted.
"""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from regent.core.asks import (
    Malformed,
    ReadReassignmentZnode,
    WriteFailure,
    WriteReassignmentZnode,
    WriteResult,
)
from regent.errors import CorruptZnode
from regent.model.ids import BrokerId, TopicPartition, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.decoding import Int32, VersionOne, read_json
from regent.zookeeper.exchange import Exchange, data_or_none, read
from regent.zookeeper.fencing import Op, Sight, write_fenced
from regent.zookeeper.store import Delete, Exists, GetData, SetData

Targets: TypeAlias = dict[TopicPartition, tuple[BrokerId, ...]]


class _TargetRecord(Struct, forbid_unknown_fields=True):
    topic: Annotated[str, Meta(min_length=1)]
    partition: Int32
    replicas: tuple[Int32, ...]


class _PlanRecord(Struct, forbid_unknown_fields=True):
    version: VersionOne
    partitions: tuple[_TargetRecord, ...]


_PLAN_DECODER = msgspec.json.Decoder(_PlanRecord)


def encode_reassignments(targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> bytes:
    """The plan as tools write it; the order of the replicas is part of it."""
    records = tuple(_TargetRecord(*name, replicas) for name, replicas in targets.items())
    return msgspec.json.encode(_PlanRecord(1, records))


def decode_reassignments(raw: bytes | None) -> Targets:
    """Where each partition shall go. One that is named twice goes where it is named last."""
    record = read_json(_PLAN_DECODER, paths.REASSIGNMENT, raw)
    return {
        TopicPartition(each.topic, each.partition): tuple(map(BrokerId, each.replicas))
        for each in record.partitions
    }


def read_reassignment_znode(_ask: ReadReassignmentZnode) -> Exchange[Targets | Malformed | None]:
    """Exists first: its watch is set whether or not there is a plan."""
    path = paths.REASSIGNMENT
    replies = yield from read((Exists(path, watch=True), GetData(path)))
    found = data_or_none(replies[1])
    if found is None:
        return None
    try:
        return decode_reassignments(found.data)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)


def write_reassignment_znode(ask: WriteReassignmentZnode) -> Exchange[None]:
    """A plan that somebody has removed meanwhile stays removed."""
    op: Op = Delete(paths.REASSIGNMENT)
    if ask.targets:
        op = SetData(paths.REASSIGNMENT, encode_reassignments(ask.targets))
    yield from write_fenced(ask.fence, (op,), _judge)


def _judge(op: Op, sight: Sight) -> WriteResult | None:
    if sight.found is None:
        return WriteFailure.MISSING
    is_ours = isinstance(op, SetData) and sight.doubtful and sight.found.data == op.data
    return ZkVersion(sight.found.stat.version) if is_ours else None
