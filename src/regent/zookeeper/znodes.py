"""What Kafka's znodes say, from bytes and to bytes: the controller, topics, leadership, the rest.

Decoding raises CorruptZnode, which names the path and what is wrong with it; in a topic, a bad
entry of one partition spoils only that partition. Encoding is deterministic and has no spaces.
Registrations of brokers have a history of their own and live in `broker_znode`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from regent.core.asks import TopicRead
from regent.errors import CorruptZnode
from regent.model.assignment import Assignment
from regent.model.ids import (
    NO_LEADER,
    BrokerId,
    ControllerEpoch,
    TopicPartition,
)
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.decoding import (
    AnyVersionNumber,
    Int32,
    VersionOne,
    explain,
    read_json,
    repeated,
)

#: In `/controller`: this controller is not one of KRaft's.
NO_KRAFT_EPOCH = -1

# --- the controller -------------------------------------------------------------------------


class ControllerHolder(Struct, frozen=True):
    """Who `/controller` names, and the KRaft epoch if one of those has claimed it."""

    broker_id: BrokerId
    kraft_controller_epoch: int = NO_KRAFT_EPOCH


class _ControllerRecord(Struct):
    version: Annotated[int, Meta(ge=1, le=2)]
    brokerid: Int32
    kraft_controller_epoch: int = msgspec.field(default=NO_KRAFT_EPOCH, name="kraftControllerEpoch")


_CONTROLLER_DECODER = msgspec.json.Decoder(Int32 | _ControllerRecord)


def encode_controller(controller_id: BrokerId, now_ms: int) -> bytes:
    """What 3.4 and later write."""
    return (
        f'{{"version":2,"brokerid":{controller_id},"timestamp":"{now_ms}",'
        f'"kraftControllerEpoch":{NO_KRAFT_EPOCH}}}'
    ).encode()


def decode_controller(raw: bytes | None) -> ControllerHolder:
    """Versions 1 and 2, and the bare id of 0.8.0; only the ids in it matter."""
    record = read_json(_CONTROLLER_DECODER, paths.CONTROLLER, raw)
    if isinstance(record, int):
        return ControllerHolder(BrokerId(record))
    return ControllerHolder(BrokerId(record.brokerid), record.kraft_controller_epoch)


def encode_controller_epoch(controller_epoch: ControllerEpoch) -> bytes:
    """Decimal text, not JSON."""
    return b"%d" % controller_epoch


def decode_controller_epoch(raw: bytes | None) -> ControllerEpoch:
    """Digits only: an epoch that has to be guessed is no fence."""
    if raw is None or not raw.isdigit():
        raise CorruptZnode(paths.CONTROLLER_EPOCH, f"expected decimal digits, found {raw!r}")
    return ControllerEpoch(int(raw))


# --- leadership -----------------------------------------------------------------------------


class _StateRecord(Struct, gc=False):
    version: VersionOne
    leader: Annotated[int, Meta(ge=NO_LEADER, le=2**31 - 1)]
    leader_epoch: Int32
    controller_epoch: Int32
    isr: Annotated[tuple[Int32, ...], Meta(min_length=1)]
    leader_recovery_state: Literal[0, 1] = 0


_STATE_DECODER = msgspec.json.Decoder(_StateRecord)


def encode_leadership(leadership: Leadership) -> bytes:
    """The leadership without its version, which is the znode's own."""
    return b'{"version":1,"leader":%d,"leader_epoch":%d,"controller_epoch":%d,"isr":%b}' % (
        leadership.leader,
        leadership.leader_epoch,
        leadership.controller_epoch,
        _rest_of_state(leadership.isr, leadership.recovering),
    )


# As with reading: few different lists.
@lru_cache(maxsize=65_536)
def _rest_of_state(isr: tuple[BrokerId, ...], recovering: bool) -> bytes:  # noqa: FBT001
    """The list of the ISR, and what comes after it."""
    return msgspec.json.encode(isr) + (b',"leader_recovery_state":1' if recovering else b"")


def decode_leadership(path: str, raw: bytes | None, zk_version: int) -> Leadership:
    """The leadership that a state znode of this version holds."""
    record = read_json(_STATE_DECODER, path, raw)
    isr = _distinct(record.isr)
    if isr is None:
        raise CorruptZnode(path, f"expected an ISR without repetition, found {list(record.isr)}")
    # The decoder has checked the numbers; to name their types in calls would cost for each.
    return Leadership(
        record.leader,  # type: ignore[arg-type]
        record.leader_epoch,  # type: ignore[arg-type]
        isr,
        record.controller_epoch,  # type: ignore[arg-type]
        zk_version,  # type: ignore[arg-type]
        record.leader_recovery_state == 1,
    )


# A hundred thousand partitions have few different lists: each is looked at once, and shared.
@lru_cache(maxsize=65_536)
def _distinct(ids: tuple[int, ...]) -> tuple[BrokerId, ...] | None:
    """The ids, or None if one of them is there twice."""
    return None if repeated(ids) else ids  # type: ignore[return-value]


# --- topics ---------------------------------------------------------------------------------

_Replicas: TypeAlias = Annotated[tuple[Int32, ...], Meta(min_length=1)]
_Movers: TypeAlias = tuple[Int32, ...]


class _TopicRecord(Struct):
    # Kafka's decoder ignores the number, so that a newer one cannot hide a topic from it.
    version: AnyVersionNumber
    partitions: dict[Int32, _Replicas]
    adding_replicas: dict[Int32, _Movers] = {}
    removing_replicas: dict[Int32, _Movers] = {}
    topic_id: Annotated[str, Meta(min_length=1)] | None = None


class _LooseTopicRecord(Struct):
    """The same, but for the lists: these are looked at one by one."""

    version: AnyVersionNumber
    partitions: dict[Int32, Any]
    adding_replicas: dict[Int32, Any] = {}
    removing_replicas: dict[Int32, Any] = {}
    topic_id: Annotated[str, Meta(min_length=1)] | None = None


_TOPIC_DECODER = msgspec.json.Decoder(_TopicRecord)
_LOOSE_TOPIC_DECODER = msgspec.json.Decoder(_LooseTopicRecord)


def encode_topic(topic_id: str | None, partitions: Mapping[int, Assignment]) -> bytes:
    """Version 3; only partitions under reassignment are in the maps of those coming and going."""
    ordered = sorted(partitions.items())
    record: dict[str, Any] = {"version": 3}
    if topic_id is not None:
        record["topic_id"] = topic_id
    record["partitions"] = {index: assignment.replicas for index, assignment in ordered}
    record["adding_replicas"] = {index: a.adding for index, a in ordered if a.adding}
    record["removing_replicas"] = {index: a.removing for index, a in ordered if a.removing}
    return msgspec.json.encode(record)


def decode_topic(path: str, raw: bytes | None) -> TopicRead:
    """All versions; the partitions come in the order of their numbers."""
    try:
        record = read_json(_TOPIC_DECODER, path, raw)
        malformed: dict[int, str] = {}
    except CorruptZnode:
        record, malformed = _read_readable(read_json(_LOOSE_TOPIC_DECODER, path, raw))
    adding, removing = record.adding_replicas, record.removing_replicas
    for index in (*adding, *removing):
        if index not in record.partitions and index not in malformed:
            malformed[index] = "expected an entry in partitions, as it is reassigned; found none"
    partitions: dict[int, Assignment] = {}
    for index, replicas in sorted(record.partitions.items()):
        distinct = _distinct(replicas)
        if distinct is not None and index not in adding and index not in removing:
            partitions[index] = Assignment(distinct)
            continue
        entry = (replicas, adding.get(index, ()), removing.get(index, ()))
        reason = _misfit(*entry)
        if reason is None:
            # The ids are ints that the decoder has checked; copying the tuples would cost.
            partitions[index] = Assignment(*entry)  # type: ignore[arg-type]
        else:
            malformed[index] = reason
    return TopicRead(record.topic_id, partitions, dict(sorted(malformed.items())))


def _read_readable(loose: _LooseTopicRecord) -> tuple[_TopicRecord, dict[int, str]]:
    """The partitions whose lists are lists of ids, and what is wrong with the others."""
    lists = {
        "partitions": loose.partitions,
        "adding_replicas": loose.adding_replicas,
        "removing_replicas": loose.removing_replicas,
    }
    malformed: dict[int, str] = {}
    for name, entries in lists.items():
        for index, entry in entries.items():
            try:
                msgspec.convert(entry, _Replicas if name == "partitions" else _Movers)
            except msgspec.ValidationError as error:
                malformed[index] = f"in {name}: {explain(str(error), entry)}"
    readable = {
        name: {index: entry for index, entry in entries.items() if index not in malformed}
        for name, entries in lists.items()
    }
    record = {"version": loose.version, "topic_id": loose.topic_id, **readable}
    return msgspec.convert(record, _TopicRecord), malformed


def _misfit(
    replicas: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...]
) -> str | None:
    """Why these lists cannot belong to one partition, if so."""
    if repeated(replicas):
        return f"expected replicas without repetition, found {list(replicas)}"
    for name, ids in (("adding", adding), ("removing", removing)):
        if ids and repeated(ids):
            return f"expected {name} without repetition, found {list(ids)}"
        if ids and not set(replicas).issuperset(ids):
            return f"expected {name} to be among {list(replicas)}, found {list(ids)}"
    return None


# --- configs, notifications, features -------------------------------------------------------


class _ConfigRecord(Struct):
    version: VersionOne
    config: dict[str, str]


class _PartitionRecord(Struct):
    topic: Annotated[str, Meta(min_length=1)]
    partition: Int32


class _IsrChangeRecord(Struct):
    version: VersionOne
    partitions: tuple[_PartitionRecord, ...]


class _FeatureRecord(Struct):
    version: AnyVersionNumber
    status: Literal[0, 1]


_CONFIG_DECODER = msgspec.json.Decoder(_ConfigRecord)
_ISR_CHANGE_DECODER = msgspec.json.Decoder(_IsrChangeRecord)
_FEATURE_DECODER = msgspec.json.Decoder(_FeatureRecord)


def encode_config(config: Mapping[str, str]) -> bytes:
    """The config of a topic or of a broker."""
    return msgspec.json.encode(_ConfigRecord(1, dict(sorted(config.items()))))


def decode_config(path: str, raw: bytes | None) -> dict[str, str]:
    """The config of a topic or of a broker; no data means that nothing is set."""
    return {} if raw is None else read_json(_CONFIG_DECODER, path, raw).config


def encode_isr_change(partitions: Iterable[TopicPartition]) -> bytes:
    """The announcement of partitions whose leaders have changed the ISR."""
    records = tuple(_PartitionRecord(topic, index) for topic, index in partitions)
    return msgspec.json.encode(_IsrChangeRecord(1, records))


def decode_isr_change(path: str, raw: bytes | None) -> tuple[TopicPartition, ...]:
    """The partitions whose leaders have changed the ISR."""
    record = read_json(_ISR_CHANGE_DECODER, path, raw)
    return tuple(TopicPartition(each.topic, each.partition) for each in record.partitions)


def encode_feature(*, enabled: bool) -> bytes:
    """`/feature` as a controller in ZooKeeper writes it: a status and no features."""
    return b'{"version":2,"status":%d,"features":{}}' % enabled


def decode_feature(raw: bytes | None) -> bool:
    """Whether features are enabled; which there are is the brokers' business."""
    return read_json(_FEATURE_DECODER, paths.FEATURE, raw).status == 1
