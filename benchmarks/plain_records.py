"""Produce and Fetch the plain way, through kio: what our codecs are measured and held against.

Values become kio's messages and those become bytes by kio's own writers; and back by its readers.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, Final

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from msgspec import Struct

from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.record_requests import (
    AbortedTransaction,
    AppendResult,
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    PartitionRecords,
    PartitionToFetch,
    Produce,
    ProduceAnswer,
    RecordError,
    Records,
)
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Values, build
from regent.wire.topic_lists import from_index_topics, from_topics, to_index_topics, to_topics
from regent.wire.values import from_kio_error, to_kio_error, to_milliseconds

_NOT_THROTTLED: Final = timedelta(0)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def write_plain(value: Struct, api_version: int) -> bytes:
    """A request or an answer as kio writes it."""
    match value:
        case Produce():
            return _write(load_request_schema, ApiKey.PRODUCE, api_version, _produce(value))
        case ProduceAnswer():
            return _write(load_response_schema, ApiKey.PRODUCE, api_version, _produced(value))
        case FetchRecords():
            return _write(load_request_schema, ApiKey.FETCH, api_version, _fetch(value))
        case FetchRecordsAnswer():
            return _write(load_response_schema, ApiKey.FETCH, api_version, _fetched(value))
        case _:
            raise AssertionError(value)


def _write(load: Any, api_key: ApiKey, api_version: int, values: Values) -> bytes:
    schema, buffer = load(api_key, api_version), BytesIO()
    entity_writer(schema)(buffer, build(schema, values))
    return buffer.getvalue()


def read_plain_request(api_key: ApiKey, api_version: int, content: bytes) -> Struct:
    """A request as kio reads it, and its reader's values."""
    payload, size = entity_reader(load_request_schema(api_key, api_version))(content, 0)
    assert size == len(content), "it is one whole request"
    return _produce_from(payload) if api_key is ApiKey.PRODUCE else _fetch_from(payload)


def read_plain_answer(api_key: ApiKey, api_version: int, content: bytes) -> Struct:
    """An answer as kio reads it, and its reader's values."""
    payload, size = entity_reader(load_response_schema(api_key, api_version))(content, 0)
    assert size == len(content), "it is one whole answer"
    return _produced_from(payload) if api_key is ApiKey.PRODUCE else _fetched_from(payload)


# --- Produce ------------------------------------------------------------------------------------


def _produce(request: Produce) -> Values:
    return {
        "transactional_id": request.transactional_id,
        "acks": request.acks,
        "timeout": timedelta(milliseconds=request.timeout_ms),
        "topic_data": to_topics(
            (
                (each.name, {"index": each.name.partition, "records": _to_bytes(each.records)})
                for each in request.partitions
            ),
            partitions_field="partition_data",
        ),
    }


def _produce_from(payload: Any) -> Produce:
    return Produce(
        payload.acks,
        to_milliseconds(payload.timeout),
        tuple(
            PartitionRecords(name, entry.records)
            for name, entry in from_topics(
                payload.topic_data, "name", "partition_data", index_field="index"
            )
        ),
        payload.transactional_id,
    )


def _produced(answer: ProduceAnswer) -> Values:
    return {
        "responses": to_topics(
            ((result.name, _result(result)) for result in answer.results),
            partitions_field="partition_responses",
        ),
        "throttle_time": _NOT_THROTTLED,
    }


def _result(result: AppendResult) -> Values:
    is_stamped = result.log_append_time_ms >= 0
    stamp = _EPOCH + timedelta(milliseconds=result.log_append_time_ms) if is_stamped else None
    return {
        "index": result.name.partition,
        "error_code": to_kio_error(result.error),
        "base_offset": result.base_offset,
        "log_append_time": stamp,
        "log_start_offset": result.log_start_offset,
        "record_errors": [
            {"batch_index": error.batch_index, "batch_index_error_message": error.message}
            for error in result.record_errors
        ],
        "error_message": result.message,
    }


def _produced_from(payload: Any) -> ProduceAnswer:
    entries = from_topics(payload.responses, "name", "partition_responses", index_field="index")
    return ProduceAnswer(tuple(_result_from(name, entry) for name, entry in entries))


def _result_from(name: TopicPartition, entry: Any) -> AppendResult:
    stamp = entry.log_append_time
    return AppendResult(
        name,
        from_kio_error(entry.error_code),
        entry.base_offset,
        -1 if stamp is None else to_milliseconds(stamp - _EPOCH),
        getattr(entry, "log_start_offset", -1),
        tuple(
            RecordError(error.batch_index, error.batch_index_error_message)
            for error in getattr(entry, "record_errors", ())
        ),
        getattr(entry, "error_message", None),
    )


# --- Fetch --------------------------------------------------------------------------------------


def _fetch(request: FetchRecords) -> Values:
    return {
        "replica_id": request.replica_id,
        "max_wait": timedelta(milliseconds=request.max_wait_ms),
        "min_bytes": request.min_bytes,
        "max_bytes": request.max_bytes,
        "isolation_level": request.isolation_level,
        "session_id": request.session_id,
        "session_epoch": request.session_epoch,
        "topics": to_topics(_positions(request.partitions), topic_field="topic"),
        "forgotten_topics_data": to_index_topics(request.forgotten, "topic", "partitions"),
        "rack_id": request.rack_id,
    }


def _positions(
    partitions: Iterable[PartitionToFetch],
) -> Iterable[tuple[TopicPartition, Values]]:
    for each in partitions:
        yield (
            each.name,
            {
                "partition": each.name.partition,
                "current_leader_epoch": each.current_leader_epoch,
                "fetch_offset": each.fetch_offset,
                "log_start_offset": each.log_start_offset,
                "partition_max_bytes": each.max_bytes,
            },
        )


def _fetch_from(payload: Any) -> FetchRecords:
    forgotten = getattr(payload, "forgotten_topics_data", ())
    return FetchRecords(
        tuple(
            PartitionToFetch(
                name,
                entry.fetch_offset,
                entry.partition_max_bytes,
                LeaderEpoch(getattr(entry, "current_leader_epoch", -1)),
                getattr(entry, "log_start_offset", -1),
            )
            for name, entry in from_topics(payload.topics, "topic", index_field="partition")
        ),
        to_milliseconds(payload.max_wait),
        payload.min_bytes,
        payload.max_bytes,
        BrokerId(payload.replica_id),
        payload.isolation_level,
        getattr(payload, "session_id", 0),
        getattr(payload, "session_epoch", -1),
        from_index_topics(forgotten, "topic", "partitions"),
        getattr(payload, "rack_id", ""),
    )


def _fetched(answer: FetchRecordsAnswer) -> Values:
    return {
        "throttle_time": _NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "session_id": answer.session_id,
        "responses": to_topics(
            ((each.name, _partition(each)) for each in answer.partitions), topic_field="topic"
        ),
    }


def _partition(fetched: FetchedRecords) -> Values:
    aborted = fetched.aborted_transactions
    return {
        "partition_index": fetched.name.partition,
        "error_code": to_kio_error(fetched.error),
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.last_stable_offset,
        "log_start_offset": fetched.log_start_offset,
        "aborted_transactions": None
        if aborted is None
        else [{"producer_id": t.producer_id, "first_offset": t.first_offset} for t in aborted],
        "preferred_read_replica": fetched.preferred_read_replica,
        "records": _to_bytes(fetched.records),
    }


def _fetched_from(payload: Any) -> FetchRecordsAnswer:
    code = getattr(payload, "error_code", None)
    return FetchRecordsAnswer(
        FetchRecordsAnswer().error if code is None else from_kio_error(code),
        getattr(payload, "session_id", 0),
        tuple(
            _partition_from(name, entry) for name, entry in from_topics(payload.responses, "topic")
        ),
    )


def _partition_from(name: TopicPartition, entry: Any) -> FetchedRecords:
    aborted = entry.aborted_transactions
    return FetchedRecords(
        name,
        from_kio_error(entry.error_code),
        entry.high_watermark,
        entry.last_stable_offset,
        getattr(entry, "log_start_offset", -1),
        None
        if aborted is None
        else tuple(AbortedTransaction(t.producer_id, t.first_offset) for t in aborted),
        BrokerId(getattr(entry, "preferred_read_replica", -1)),
        entry.records,
    )


def _to_bytes(records: Records | None) -> bytes | None:
    return None if records is None else bytes(records)
