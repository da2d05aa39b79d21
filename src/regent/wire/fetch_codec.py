"""Fetch by hand, both ends, versions 4 to 11: asked by consumers and by replicas.

It is one of the two requests that a broker lives on. Records go in and out as views; what stands
between them is written into as few pieces as there can be. The plain way through kio takes several
times as long; the tests hold every version against it.
"""

import struct
from typing import Final

from regent.errors import ProtocolError
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.record_requests import (
    CONSUMER_REPLICA_ID,
    FINAL_SESSION_EPOCH,
    NO_SESSION_ID,
    UNTOLD_OFFSET,
    AbortedTransaction,
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    PartitionToFetch,
)
from regent.wire.limits import DEFAULT_LIMITS, WireLimits
from regent.wire.plain_fields import (
    Part,
    group_by_topic,
    read_count,
    read_records,
    read_string,
    to_error,
)
from regent.wire.primitives import Primitives
from regent.wire.strict_reader import Content, read_whole

_TO: Final = Primitives(is_flexible=False)
_INT32: Final = struct.Struct(">i")
#: Replica, wait, least and most bytes, isolation.
_WISHES: Final = struct.Struct(">iiiib")
#: The session's id and epoch.
_SESSION: Final = struct.Struct(">ii")
#: Index, offset, bytes.
_POSITION: Final = struct.Struct(">iqi")
#: Index, offset, where the follower's log starts, bytes.
_POSITION_WITH_START: Final = struct.Struct(">iqqi")
#: Index, the leader's epoch, offset, where the follower's log starts, bytes.
_POSITION_WITH_EPOCH: Final = struct.Struct(">iiqqi")
#: Error and session of the whole answer.
_OUTCOME: Final = struct.Struct(">hi")
#: Index, error, high watermark, last stable offset; then, since version 5, where the log starts.
_FETCHED: Final = struct.Struct(">ihqq")
_FETCHED_WITH_START: Final = struct.Struct(">ihqqq")
_ABORTED: Final = struct.Struct(">qq")

_START_SINCE: Final = 5
_SESSIONS_SINCE: Final = 7
_EPOCH_SINCE: Final = 9
_RACKS_SINCE: Final = 11
#: The least that an item of a list takes: empty strings, empty lists.
_TOPIC_BYTES: Final = 6
#: Two lengths at least follow: of aborted transactions and of records.
_LENGTHS_BYTES: Final = 8
_NULL: Final = -1
_NULL_LIST: Final = _INT32.pack(_NULL)
_NOT_THROTTLED: Final = bytes(4)


# --- the request --------------------------------------------------------------------------------


def read_request(
    content: Content, offset: int, api_version: int, limits: WireLimits = DEFAULT_LIMITS
) -> FetchRecords:
    """The request that fills `content` from `offset` on."""
    request: FetchRecords = read_whole(
        "FetchRequest",
        lambda content, at: _read_request(content, at, api_version, limits),
        content,
        offset,
    )
    return request


def _read_request(
    content: Content, offset: int, api_version: int, limits: WireLimits
) -> tuple[FetchRecords, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation = _WISHES.unpack_from(content, offset)
    offset += _WISHES.size
    session_id, session_epoch = NO_SESSION_ID, FINAL_SESSION_EPOCH
    if api_version >= _SESSIONS_SINCE:
        session_id, session_epoch = _SESSION.unpack_from(content, offset)
        offset += _SESSION.size
    partitions: list[PartitionToFetch] = []
    topic_count, offset = read_count(content, offset, limits, _TOPIC_BYTES)
    for _ in range(topic_count):
        offset = _read_positions(content, offset, api_version, limits, partitions)
    forgotten: list[TopicPartition] = []
    if api_version >= _SESSIONS_SINCE:
        topic_count, offset = read_count(content, offset, limits, _TOPIC_BYTES)
        for _ in range(topic_count):
            offset = _read_forgotten(content, offset, limits, forgotten)
    rack_id = ""
    if api_version >= _RACKS_SINCE:
        rack_id, offset = read_string(content, offset, limits)
    request = FetchRecords(
        tuple(partitions),
        max_wait_ms,
        min_bytes,
        max_bytes,
        replica_id,
        isolation,
        session_id,
        session_epoch,
        tuple(forgotten),
        rack_id,
    )
    return request, offset


def _read_positions(
    content: Content,
    offset: int,
    api_version: int,
    limits: WireLimits,
    into: list[PartitionToFetch],
) -> int:
    """One topic's partitions; where they end."""
    topic, offset = read_string(content, offset, limits)
    layout = _position_layout(api_version)
    count, offset = read_count(content, offset, limits, layout.size)
    end = offset + count * layout.size
    rows = layout.iter_unpack(memoryview(content)[offset:end])
    if layout is _POSITION_WITH_EPOCH:
        into += [
            PartitionToFetch(TopicPartition(topic, index), at, size, LeaderEpoch(epoch), start)
            for index, epoch, at, start, size in rows
        ]
    elif layout is _POSITION_WITH_START:
        into += [
            PartitionToFetch(TopicPartition(topic, index), at, size, log_start_offset=start)
            for index, at, start, size in rows
        ]
    else:
        into += [
            PartitionToFetch(TopicPartition(topic, index), at, size) for index, at, size in rows
        ]
    return end


def _position_layout(api_version: int) -> struct.Struct:
    if api_version >= _EPOCH_SINCE:
        return _POSITION_WITH_EPOCH
    return _POSITION_WITH_START if api_version >= _START_SINCE else _POSITION


def _read_forgotten(
    content: Content, offset: int, limits: WireLimits, into: list[TopicPartition]
) -> int:
    """One topic's partitions; where they end."""
    topic, offset = read_string(content, offset, limits)
    count, offset = read_count(content, offset, limits, _INT32.size)
    into += [
        TopicPartition(topic, index) for index in struct.unpack_from(f">{count}i", content, offset)
    ]
    return offset + count * _INT32.size


def write_request(request: FetchRecords, api_version: int) -> list[Part]:
    """The content of the request."""
    out = bytearray()
    try:
        out += _WISHES.pack(
            request.replica_id,
            request.max_wait_ms,
            request.min_bytes,
            request.max_bytes,
            request.isolation_level,
        )
        if api_version >= _SESSIONS_SINCE:
            out += _SESSION.pack(request.session_id, request.session_epoch)
        topics = group_by_topic(request.partitions)
        out += _INT32.pack(len(topics))
        for topic, positions in topics.items():
            out += _TO.string(topic)
            out += _INT32.pack(len(positions))
            for position in positions:
                out += _to_position(position, api_version)
        if api_version >= _SESSIONS_SINCE:
            _write_forgotten(request.forgotten, out)
        if api_version >= _RACKS_SINCE:
            out += _TO.string(request.rack_id)
    except (struct.error, UnicodeEncodeError) as error:
        raise ProtocolError(f"FetchRequest cannot carry this: {error}") from error
    return [out]


def _to_position(position: PartitionToFetch, api_version: int) -> bytes:
    index, at, size = position.name[1], position.fetch_offset, position.max_bytes
    if api_version < _START_SINCE:
        return _POSITION.pack(index, at, size)
    start = position.log_start_offset
    if api_version < _EPOCH_SINCE:
        return _POSITION_WITH_START.pack(index, at, start, size)
    return _POSITION_WITH_EPOCH.pack(index, position.current_leader_epoch, at, start, size)


def _write_forgotten(forgotten: tuple[TopicPartition, ...], out: bytearray) -> None:
    groups: dict[str, list[int]] = {}
    for topic, index in forgotten:
        groups.setdefault(topic, []).append(index)
    out += _INT32.pack(len(groups))
    for topic, indexes in groups.items():
        out += _TO.string(topic)
        out += struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)


# --- the answer ---------------------------------------------------------------------------------


def write_answer(answer: FetchRecordsAnswer, api_version: int) -> list[Part]:
    """The content of the answer in parts; those between the records are ours."""
    out = bytearray(_NOT_THROTTLED)
    parts: list[Part] = [out]
    try:
        if api_version >= _SESSIONS_SINCE:
            out += _OUTCOME.pack(answer.error, answer.session_id)
        topics = group_by_topic(answer.partitions)
        out += _INT32.pack(len(topics))
        for topic, fetched in topics.items():
            out += _TO.string(topic)
            out += _INT32.pack(len(fetched))
            for each in fetched:
                out += _before_records(each, api_version)
                if each.records:
                    out = bytearray()
                    parts += (each.records, out)
    except (struct.error, UnicodeEncodeError) as error:
        raise ProtocolError(f"FetchResponse cannot carry this: {error}") from error
    return parts


def _before_records(fetched: FetchedRecords, api_version: int) -> bytes:
    """All of one partition but the records, with how long they are."""
    told = (fetched.name[1], fetched.error, fetched.high_watermark, fetched.last_stable_offset)
    if api_version >= _START_SINCE:
        encoded = _FETCHED_WITH_START.pack(*told, fetched.log_start_offset)
    else:
        encoded = _FETCHED.pack(*told)
    aborted = fetched.aborted_transactions
    if aborted is None:
        encoded += _NULL_LIST
    else:
        encoded += _INT32.pack(len(aborted))
        for each in aborted:
            encoded += _ABORTED.pack(each.producer_id, each.first_offset)
    if api_version >= _RACKS_SINCE:
        encoded += _INT32.pack(fetched.preferred_read_replica)
    records = fetched.records
    return encoded + _INT32.pack(_NULL if records is None else len(records))


def read_answer(
    content: Content, offset: int, api_version: int, limits: WireLimits = DEFAULT_LIMITS
) -> FetchRecordsAnswer:
    """The answer that fills `content` from `offset` on; its records are views of `content`."""
    answer: FetchRecordsAnswer = read_whole(
        "FetchResponse",
        lambda content, at: _read_answer(content, at, api_version, limits),
        content,
        offset,
    )
    return answer


def _read_answer(
    content: Content, offset: int, api_version: int, limits: WireLimits
) -> tuple[FetchRecordsAnswer, int]:
    offset += _INT32.size  # how long the caller should have waited
    error, session_id = 0, NO_SESSION_ID
    if api_version >= _SESSIONS_SINCE:
        error, session_id = _OUTCOME.unpack_from(content, offset)
        offset += _OUTCOME.size
    partitions: list[FetchedRecords] = []
    topic_count, offset = read_count(content, offset, limits, _TOPIC_BYTES)
    for _ in range(topic_count):
        offset = _read_fetched(content, offset, api_version, limits, partitions)
    return FetchRecordsAnswer(to_error(error), session_id, tuple(partitions)), offset


def _read_fetched(
    content: Content, offset: int, api_version: int, limits: WireLimits, into: list[FetchedRecords]
) -> int:
    """One topic's partitions; where they end."""
    topic, offset = read_string(content, offset, limits)
    layout = _FETCHED_WITH_START if api_version >= _START_SINCE else _FETCHED
    count, offset = read_count(content, offset, limits, layout.size + _LENGTHS_BYTES)
    for _ in range(count):
        told = layout.unpack_from(content, offset)
        aborted, offset = _read_aborted(content, offset + layout.size, limits)
        replica = CONSUMER_REPLICA_ID
        if api_version >= _RACKS_SINCE:
            replica = BrokerId(_INT32.unpack_from(content, offset)[0])
            offset += _INT32.size
        (size,) = _INT32.unpack_from(content, offset)
        records, offset = read_records(content, offset + _INT32.size, size)
        into.append(
            FetchedRecords(
                TopicPartition(topic, told[0]),
                to_error(told[1]),
                told[2],
                told[3],
                told[4] if layout is _FETCHED_WITH_START else UNTOLD_OFFSET,
                aborted,
                replica,
                records,
            )
        )
    return offset


def _read_aborted(
    content: Content, offset: int, limits: WireLimits
) -> tuple[tuple[AbortedTransaction, ...] | None, int]:
    if _INT32.unpack_from(content, offset)[0] == _NULL:
        return None, offset + _INT32.size
    count, offset = read_count(content, offset, limits, _ABORTED.size)
    end = offset + count * _ABORTED.size
    rows = _ABORTED.iter_unpack(memoryview(content)[offset:end])
    return tuple(AbortedTransaction(*row) for row in rows), end
