"""CreateTopics, CreatePartitions and DeleteTopics, to and from the model.

kio has the messages, but for the oldest versions, which stand here.
"""

from datetime import timedelta
from typing import Any, Final

from regent.errors import ProtocolError
from regent.model.admin_requests import (
    CreatePartitions,
    CreatePartitionsAnswer,
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    DeleteTopicsAnswer,
    MorePartitions,
    NewTopic,
    TopicResult,
)
from regent.model.error_codes import ErrorCode
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import (
    NOT_THROTTLED,
    broker_ids,
    from_kio_error,
    from_uuid,
    to_kio_error,
    to_milliseconds,
    to_uuid,
)

#: Since when clients know a code of its own for topics that may not be deleted.
DELETION_DISABLED_SINCE: Final = 3

# fmt: off
CREATE_REQUEST: Final = WireMessage("CreateTopicsRequest", ApiKey.CREATE_TOPICS, (0, 1), 5, (
    WireField("topics",                  Items("CreatableTopic", (
        WireField("name",                "string"),
        WireField("num_partitions",      "int32"),
        WireField("replication_factor",  "int16"),
        WireField("assignments",         Items("CreatableReplicaAssignment", (
            WireField("partition_index", "int32"),
            WireField("broker_ids",      "[]int32"),
        ))),
        WireField("configs",             Items("CreatableTopicConfig", (
            WireField("name",            "string"),
            WireField("value",           "string", is_nullable=True),
        ))),
    ))),
    WireField("timeout",                 "timedelta_i32"),
    WireField("validate_only",           "bool", since=1),
))
CREATE_RESPONSE: Final = WireMessage("CreateTopicsResponse", ApiKey.CREATE_TOPICS, (0, 1), 5, (
    WireField("topics",                  Items("CreatableTopicResult", (
        WireField("name",                "string"),
        WireField("error_code",          "error_code"),
        WireField("error_message",       "string", since=1, is_nullable=True),
    ))),
))
DELETE_REQUEST: Final = WireMessage("DeleteTopicsRequest", ApiKey.DELETE_TOPICS, (0, 0), 4, (
    WireField("topic_names",             "[]string"),
    WireField("timeout",                 "timedelta_i32"),
))
DELETE_RESPONSE: Final = WireMessage("DeleteTopicsResponse", ApiKey.DELETE_TOPICS, (0, 0), 4, (
    WireField("responses",               Items("DeletableTopicResult", (
        WireField("name",                "string"),
        WireField("error_code",          "error_code"),
    ))),
))
# fmt: on


# --- CreateTopics -------------------------------------------------------------------------------


def creation_values(request: CreateTopics) -> Values:
    """The content for all versions, but for the timeout."""
    return {
        "topics": [
            {
                "name": topic.name,
                "num_partitions": topic.partition_count,
                "replication_factor": topic.replication_factor,
                "assignments": [
                    {"partition_index": partition, "broker_ids": replicas}
                    for partition, replicas in topic.assignments
                ],
                "configs": [{"name": name, "value": value} for name, value in topic.configs],
            }
            for topic in request.topics
        ],
        "validate_only": request.validate_only,
    }


def creation_from(payload: Any) -> CreateTopics:
    """Version 0 could not ask for a validation alone."""
    return CreateTopics(
        topics=tuple(
            NewTopic(
                name=topic.name,
                partition_count=topic.num_partitions,
                replication_factor=topic.replication_factor,
                assignments=tuple(
                    (entry.partition_index, broker_ids(entry.broker_ids))
                    for entry in topic.assignments
                ),
                configs=tuple((config.name, config.value) for config in topic.configs),
            )
            for topic in payload.topics
        ),
        validate_only=getattr(payload, "validate_only", False),
    )


def creation_answer_values(answer: CreateTopicsAnswer) -> Values:
    """No configs are told, but an empty list of them: clients trip over none at all."""
    return {
        "throttle_time": timedelta(milliseconds=answer.throttle_ms),
        "topics": [
            {
                "name": result.topic,
                "topic_id": to_uuid(result.topic_id),
                "error_code": to_kio_error(result.error),
                "error_message": result.message,
                "num_partitions": result.partition_count,
                "replication_factor": result.replication_factor,
                "configs": (),
            }
            for result in answer.results
        ],
    }


def creation_answer_from(payload: Any) -> CreateTopicsAnswer:
    """What `creation_answer_values` wrote."""
    results = tuple(map(_result_from, payload.topics))
    return CreateTopicsAnswer(results, _throttle_ms(payload))


def _result_from(entry: Any) -> TopicResult:
    """One topic of any of the three answers; a topic without a name goes by its id."""
    topic_id = from_uuid(getattr(entry, "topic_id", None))
    return TopicResult(
        topic=entry.name if entry.name is not None else topic_id or "",
        error=from_kio_error(entry.error_code),
        message=getattr(entry, "error_message", None),
        topic_id=topic_id,
        partition_count=getattr(entry, "num_partitions", -1),
        replication_factor=getattr(entry, "replication_factor", -1),
    )


def _throttle_ms(payload: Any) -> int:
    """The oldest versions do not tell it."""
    return to_milliseconds(getattr(payload, "throttle_time", NOT_THROTTLED))


# --- CreatePartitions ---------------------------------------------------------------------------


def growth_values(request: CreatePartitions) -> Values:
    """The content for all versions, but for the timeout."""
    return {
        "topics": [
            {
                "name": topic.name,
                "count": topic.total_count,
                "assignments": None
                if topic.assignments is None
                else [{"broker_ids": replicas} for replicas in topic.assignments],
            }
            for topic in request.topics
        ],
        "validate_only": request.validate_only,
    }


def growth_from(payload: Any) -> CreatePartitions:
    """What `growth_values` wrote."""
    return CreatePartitions(
        topics=tuple(
            MorePartitions(
                name=topic.name,
                total_count=topic.count,
                assignments=None
                if topic.assignments is None
                else tuple(broker_ids(entry.broker_ids) for entry in topic.assignments),
            )
            for topic in payload.topics
        ),
        validate_only=payload.validate_only,
    )


def growth_answer_values(answer: CreatePartitionsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": timedelta(milliseconds=answer.throttle_ms),
        "results": [
            {
                "name": result.topic,
                "error_code": to_kio_error(result.error),
                "error_message": result.message,
            }
            for result in answer.results
        ],
    }


def growth_answer_from(payload: Any) -> CreatePartitionsAnswer:
    """What `growth_answer_values` wrote."""
    results = tuple(map(_result_from, payload.results))
    return CreatePartitionsAnswer(results, _throttle_ms(payload))


# --- DeleteTopics -------------------------------------------------------------------------------


def deletion_values(request: DeleteTopics, api_version: int) -> Values:
    """The content for all versions, but for the timeout; ids came with version 6."""
    if request.by_id and api_version < 6:
        raise ProtocolError(f"DeleteTopics {api_version} deletes by name only")
    return {
        "topic_names": request.topics,
        "topics": [
            {
                "name": None if request.by_id else topic,
                "topic_id": to_uuid(topic) if request.by_id else None,
            }
            for topic in request.topics
        ],
    }


def deletion_from(payload: Any) -> DeleteTopics:
    """All by name or all by id; no client mixes them, and a mixture is refused."""
    if hasattr(payload, "topic_names"):
        return DeleteTopics(tuple(payload.topic_names))
    names = tuple(topic.name for topic in payload.topics if topic.name is not None)
    ids = tuple(from_uuid(topic.topic_id) for topic in payload.topics)
    known_ids = tuple(topic_id for topic_id in ids if topic_id is not None)
    if len(names) == len(ids) and not known_ids:
        return DeleteTopics(names)
    if len(known_ids) == len(ids) and not names:
        return DeleteTopics(known_ids, by_id=True)
    raise ProtocolError("DeleteTopics: each topic needs a name, or each an id")


def deletion_answer_values(
    answer: DeleteTopicsAnswer, request: DeleteTopics, api_version: int
) -> Values:
    """A topic that was asked by its id, and is not known by a name, goes by the id."""
    unnamed = set(request.topics) if request.by_id else set[str]()
    return {
        "throttle_time": timedelta(milliseconds=answer.throttle_ms),
        "responses": [
            {
                "name": None if result.topic in unnamed else result.topic,
                "topic_id": to_uuid(result.topic if result.topic in unnamed else result.topic_id),
                "error_code": to_kio_error(_deletion_error(result.error, api_version)),
                "error_message": result.message,
            }
            for result in answer.results
        ],
    }


def _deletion_error(error: ErrorCode, api_version: int) -> ErrorCode:
    if error is ErrorCode.TOPIC_DELETION_DISABLED and api_version < DELETION_DISABLED_SINCE:
        return ErrorCode.INVALID_REQUEST
    return error


def deletion_answer_from(payload: Any) -> DeleteTopicsAnswer:
    """What `deletion_answer_values` wrote."""
    results = tuple(map(_result_from, payload.responses))
    return DeleteTopicsAnswer(results, _throttle_ms(payload))
