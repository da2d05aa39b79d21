"""OffsetCommit, OffsetFetch and OffsetDelete to and from the model; kio has the messages."""

from datetime import timedelta
from typing import Any, Final

from kio.schema.errors import ErrorCode as KioErrorCode

from regent.errors import ProtocolError
from regent.model.group_requests import (
    NO_COMMITTED_EPOCH,
    FetchedOffset,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
)
from regent.model.ids import TopicPartition
from regent.wire.message_tables import Values
from regent.wire.topic_lists import from_index_topics, from_topics, to_index_topics, to_topics
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error, to_milliseconds

#: Since when the offsets of all partitions can be asked for.
ALL_PARTITIONS_SINCE: Final = 2
_DEFAULT_RETENTION: Final = timedelta(milliseconds=-1)


# --- OffsetCommit -------------------------------------------------------------------------------


def commit_values(request: OffsetCommit) -> Values:
    """The content for all versions."""
    return {
        "group_id": request.group_id,
        "generation_id_or_member_epoch": request.generation_id,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "retention_time": _DEFAULT_RETENTION
        if request.retention_ms is None
        else timedelta(milliseconds=request.retention_ms),
        "topics": to_topics(
            (
                TopicPartition(each.topic, each.partition),
                {
                    "partition_index": each.partition,
                    "committed_offset": each.offset,
                    "committed_leader_epoch": each.leader_epoch,
                    "committed_metadata": each.metadata,
                },
            )
            for each in request.offsets
        ),
    }


def commit_from(payload: Any) -> OffsetCommit:
    """Since version 5 a commit does not say how long it is to be kept."""
    retention = getattr(payload, "retention_time", _DEFAULT_RETENTION)
    return OffsetCommit(
        group_id=payload.group_id,
        offsets=tuple(
            OffsetToCommit(
                name.topic,
                name.partition,
                entry.committed_offset,
                getattr(entry, "committed_leader_epoch", NO_COMMITTED_EPOCH),
                entry.committed_metadata,
            )
            for name, entry in from_topics(payload.topics)
        ),
        generation_id=payload.generation_id_or_member_epoch,
        member_id=payload.member_id,
        group_instance_id=getattr(payload, "group_instance_id", None),
        retention_ms=None if retention == _DEFAULT_RETENTION else to_milliseconds(retention),
    )


def commit_answer_values(answer: OffsetCommitAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "topics": to_topics(
            (name, {"partition_index": name.partition, "error_code": to_kio_error(error)})
            for name, error in answer.results
        ),
    }


def commit_answer_from(payload: Any) -> OffsetCommitAnswer:
    """What `commit_answer_values` wrote."""
    return OffsetCommitAnswer(
        tuple(
            (name, from_kio_error(entry.error_code)) for name, entry in from_topics(payload.topics)
        )
    )


# --- OffsetFetch --------------------------------------------------------------------------------


def fetch_values(request: OffsetFetch, api_version: int) -> Values:
    """The content for all versions."""
    names = request.partitions
    if names is None and api_version < ALL_PARTITIONS_SINCE:
        raise ProtocolError(f"OffsetFetch {api_version} is for partitions that it names")
    return {
        "group_id": request.group_id,
        "topics": None if names is None else to_index_topics(names, "name", "partition_indexes"),
    }


def fetch_from(payload: Any) -> OffsetFetch:
    """Without partitions it is for all."""
    if payload.topics is None:
        return OffsetFetch(payload.group_id)
    return OffsetFetch(
        payload.group_id, from_index_topics(payload.topics, "name", "partition_indexes")
    )


def fetch_answer_values(answer: OffsetFetchAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "topics": to_topics(
            (
                TopicPartition(each.topic, each.partition),
                {
                    "partition_index": each.partition,
                    "committed_offset": each.offset,
                    "committed_leader_epoch": each.leader_epoch,
                    "metadata": each.metadata,
                    "error_code": to_kio_error(each.error),
                },
            )
            for each in answer.offsets
        ),
        "error_code": to_kio_error(answer.error),
    }


def fetch_answer_from(payload: Any) -> OffsetFetchAnswer:
    """Version 1 had errors of partitions only, and epochs came with 5."""
    return OffsetFetchAnswer(
        from_kio_error(getattr(payload, "error_code", KioErrorCode.none)),
        tuple(
            FetchedOffset(
                name.topic,
                name.partition,
                entry.committed_offset,
                getattr(entry, "committed_leader_epoch", NO_COMMITTED_EPOCH),
                entry.metadata,
                from_kio_error(entry.error_code),
            )
            for name, entry in from_topics(payload.topics)
        ),
    )


# --- OffsetDelete -------------------------------------------------------------------------------


def deletion_values(request: OffsetDelete) -> Values:
    """The content."""
    return {
        "group_id": request.group_id,
        "topics": to_topics(
            (name, {"partition_index": name.partition}) for name in request.partitions
        ),
    }


def deletion_from(payload: Any) -> OffsetDelete:
    """What `deletion_values` wrote."""
    return OffsetDelete(payload.group_id, tuple(name for name, _ in from_topics(payload.topics)))


def deletion_answer_values(answer: OffsetDeleteAnswer) -> Values:
    """The content."""
    return {
        "error_code": to_kio_error(answer.error),
        "throttle_time": NOT_THROTTLED,
        "topics": to_topics(
            (name, {"partition_index": name.partition, "error_code": to_kio_error(error)})
            for name, error in answer.results
        ),
    }


def deletion_answer_from(payload: Any) -> OffsetDeleteAnswer:
    """What `deletion_answer_values` wrote."""
    return OffsetDeleteAnswer(
        from_kio_error(payload.error_code),
        tuple(
            (name, from_kio_error(entry.error_code)) for name, entry in from_topics(payload.topics)
        ),
    )
