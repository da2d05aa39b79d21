"""Produce by hand, both ends, versions 3 to 8: records are views, and nothing is made but values.

It is one of the two requests that a broker lives on. The plain way through kio takes several times
as long; the tests hold every version against it.
"""

import struct
from typing import Final

from regent.errors import ProtocolError
from regent.model.ids import TopicPartition
from regent.model.record_requests import (
    UNTOLD_OFFSET,
    AppendResult,
    PartitionRecords,
    Produce,
    ProduceAnswer,
    RecordError,
)
from regent.wire.limits import DEFAULT_LIMITS, WireLimits
from regent.wire.plain_fields import (
    Part,
    group_by_topic,
    read_count,
    read_nullable_string,
    read_records,
    read_string,
    to_error,
)
from regent.wire.primitives import Primitives
from regent.wire.strict_reader import Content, read_whole

_TO: Final = Primitives(is_flexible=False)
_INT32: Final = struct.Struct(">i")
_ACKS_AND_TIMEOUT: Final = struct.Struct(">hi")
_INDEX_AND_SIZE: Final = struct.Struct(">ii")
#: Index, error, base offset, append time; then, since version 5, where the log starts.
_RESULT: Final = struct.Struct(">ihqq")
_RESULT_WITH_START: Final = struct.Struct(">ihqqq")
_START_SINCE: Final = 5
_RECORD_ERRORS_SINCE: Final = 8
#: The least that an item of a list takes: empty strings, empty lists.
_TOPIC_BYTES: Final = 6
_RECORD_ERROR_BYTES: Final = 6
_NOT_THROTTLED: Final = bytes(4)
_NOTHING_TO_ADD: Final = bytes(4) + b"\xff\xff"


# --- the request --------------------------------------------------------------------------------


def read_request(
    content: Content, offset: int, _api_version: int, limits: WireLimits = DEFAULT_LIMITS
) -> Produce:
    """The request that fills `content` from `offset` on; its records are views of `content`."""
    request: Produce = read_whole(
        "ProduceRequest", lambda content, at: _read_request(content, at, limits), content, offset
    )
    return request


def _read_request(content: Content, offset: int, limits: WireLimits) -> tuple[Produce, int]:
    transactional_id, offset = read_nullable_string(content, offset, limits)
    acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(content, offset)
    topic_count, offset = read_count(content, offset + 6, limits, _TOPIC_BYTES)
    partitions = []
    for _ in range(topic_count):
        topic, offset = read_string(content, offset, limits)
        count, offset = read_count(content, offset, limits, _INDEX_AND_SIZE.size)
        for _ in range(count):
            index, size = _INDEX_AND_SIZE.unpack_from(content, offset)
            records, offset = read_records(content, offset + 8, size)
            partitions.append(PartitionRecords(TopicPartition(topic, index), records))
    return Produce(acks, timeout_ms, tuple(partitions), transactional_id), offset


def write_request(request: Produce, _api_version: int) -> list[Part]:
    """The content of the request; the records go out as they are."""
    out = bytearray()
    parts: list[Part] = [out]
    try:
        out += _TO.nullable_string(request.transactional_id)
        out += _ACKS_AND_TIMEOUT.pack(request.acks, request.timeout_ms)
        topics = group_by_topic(request.partitions)
        out += _INT32.pack(len(topics))
        for topic, entries in topics.items():
            out += _TO.string(topic)
            out += _INT32.pack(len(entries))
            for entry in entries:
                records = entry.records
                size = -1 if records is None else len(records)
                out += _INDEX_AND_SIZE.pack(entry.name[1], size)
                if records:
                    out = bytearray()
                    parts += (records, out)
    except (struct.error, UnicodeEncodeError) as error:
        raise ProtocolError(f"ProduceRequest cannot carry this: {error}") from error
    return parts


# --- the answer ---------------------------------------------------------------------------------


def write_answer(answer: ProduceAnswer, api_version: int) -> list[Part]:
    """The content of the answer."""
    out = bytearray()
    try:
        topics = group_by_topic(answer.results)
        out += _INT32.pack(len(topics))
        for topic, results in topics.items():
            out += _TO.string(topic)
            out += _INT32.pack(len(results))
            for result in results:
                out += _to_result(result, api_version)
    except (struct.error, UnicodeEncodeError) as error:
        raise ProtocolError(f"ProduceResponse cannot carry this: {error}") from error
    return [out, _NOT_THROTTLED]


def _to_result(result: AppendResult, api_version: int) -> bytes:
    told = (result.name[1], result.error, result.base_offset, result.log_append_time_ms)
    if api_version < _START_SINCE:
        return _RESULT.pack(*told)
    encoded = _RESULT_WITH_START.pack(*told, result.log_start_offset)
    if api_version < _RECORD_ERRORS_SINCE:
        return encoded
    if not result.record_errors and result.message is None:
        return encoded + _NOTHING_TO_ADD
    return b"".join(
        (
            encoded,
            _INT32.pack(len(result.record_errors)),
            *(
                _INT32.pack(error.batch_index) + _TO.nullable_string(error.message)
                for error in result.record_errors
            ),
            _TO.nullable_string(result.message),
        )
    )


def read_answer(
    content: Content, offset: int, api_version: int, limits: WireLimits = DEFAULT_LIMITS
) -> ProduceAnswer:
    """The answer that fills `content` from `offset` on."""
    answer: ProduceAnswer = read_whole(
        "ProduceResponse",
        lambda content, at: _read_answer(content, at, api_version, limits),
        content,
        offset,
    )
    return answer


def _read_answer(
    content: Content, offset: int, api_version: int, limits: WireLimits
) -> tuple[ProduceAnswer, int]:
    layout = _RESULT_WITH_START if api_version >= _START_SINCE else _RESULT
    topic_count, offset = read_count(content, offset, limits, _TOPIC_BYTES)
    results = []
    for _ in range(topic_count):
        topic, offset = read_string(content, offset, limits)
        count, offset = read_count(content, offset, limits, layout.size)
        for _ in range(count):
            told = layout.unpack_from(content, offset)
            offset += layout.size
            errors: tuple[RecordError, ...] = ()
            message = None
            if api_version >= _RECORD_ERRORS_SINCE:
                errors, message, offset = _read_complaints(content, offset, limits)
            results.append(_result_from(topic, told, errors, message))
    _INT32.unpack_from(content, offset)  # how long the caller should have waited
    return ProduceAnswer(tuple(results)), offset + 4


def _read_complaints(
    content: Content, offset: int, limits: WireLimits
) -> tuple[tuple[RecordError, ...], str | None, int]:
    count, offset = read_count(content, offset, limits, _RECORD_ERROR_BYTES)
    errors = []
    for _ in range(count):
        (batch_index,) = _INT32.unpack_from(content, offset)
        text, offset = read_nullable_string(content, offset + 4, limits)
        errors.append(RecordError(batch_index, text))
    message, offset = read_nullable_string(content, offset, limits)
    return tuple(errors), message, offset


def _result_from(
    topic: str,
    told: tuple[int, ...],
    record_errors: tuple[RecordError, ...],
    message: str | None,
) -> AppendResult:
    """`told` is as long as the version has it."""
    index, error, base_offset, append_time_ms, *start = told
    return AppendResult(
        TopicPartition(topic, index),
        to_error(error),
        base_offset,
        append_time_ms,
        start[0] if start else UNTOLD_OFFSET,
        record_errors,
        message,
    )
