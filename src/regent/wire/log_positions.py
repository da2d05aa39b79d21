"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords, to and from the model.

kio has the messages.
"""

from typing import Any

from regent.model.ids import BrokerId, LeaderEpoch
from regent.model.log_requests import (
    DEBUGGING_REPLICA_ID,
    DeleteRecords,
    DeleteRecordsAnswer,
    FoundOffset,
    LeaderEpochEnd,
    LeaderEpochQuestion,
    ListOffsets,
    ListOffsetsAnswer,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
    OffsetQuestion,
    RecordsDeleted,
    RecordsToDelete,
)
from regent.wire.message_tables import Values
from regent.wire.topic_lists import from_topics, to_topics
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error

# --- ListOffsets --------------------------------------------------------------------------------


def listing_values(request: ListOffsets) -> Values:
    """The content for all versions."""
    return {
        "replica_id": request.replica_id,
        "isolation_level": request.isolation_level,
        "topics": to_topics(
            (
                question.name,
                {
                    "partition_index": question.name.partition,
                    "current_leader_epoch": question.current_leader_epoch,
                    "timestamp": question.timestamp,
                },
            )
            for question in request.questions
        ),
    }


def listing_from(payload: Any) -> ListOffsets:
    """Version 1 knew no isolation, and epochs came with 4."""
    return ListOffsets(
        questions=tuple(
            OffsetQuestion(
                name, entry.timestamp, LeaderEpoch(getattr(entry, "current_leader_epoch", -1))
            )
            for name, entry in from_topics(payload.topics)
        ),
        replica_id=BrokerId(payload.replica_id),
        isolation_level=getattr(payload, "isolation_level", 0),
    )


def listing_answer_values(answer: ListOffsetsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "topics": to_topics(
            (
                found.name,
                {
                    "partition_index": found.name.partition,
                    "error_code": to_kio_error(found.error),
                    "timestamp": found.timestamp,
                    "offset": found.offset,
                    "leader_epoch": found.leader_epoch,
                },
            )
            for found in answer.offsets
        ),
    }


def listing_answer_from(payload: Any) -> ListOffsetsAnswer:
    """What `listing_answer_values` wrote."""
    return ListOffsetsAnswer(
        tuple(
            FoundOffset(
                name,
                from_kio_error(entry.error_code),
                entry.timestamp,
                entry.offset,
                LeaderEpoch(getattr(entry, "leader_epoch", -1)),
            )
            for name, entry in from_topics(payload.topics)
        )
    )


# --- OffsetForLeaderEpoch -----------------------------------------------------------------------


def epoch_values(request: OffsetForLeaderEpoch) -> Values:
    """The content for all versions."""
    return {
        "replica_id": request.replica_id,
        "topics": to_topics(
            (
                (
                    question.name,
                    {
                        "partition": question.name.partition,
                        "current_leader_epoch": question.current_leader_epoch,
                        "leader_epoch": question.asked_epoch,
                    },
                )
                for question in request.questions
            ),
            topic_field="topic",
        ),
    }


def epoch_from(payload: Any) -> OffsetForLeaderEpoch:
    """Version 2 did not say who asks."""
    return OffsetForLeaderEpoch(
        questions=tuple(
            LeaderEpochQuestion(
                name, LeaderEpoch(entry.current_leader_epoch), LeaderEpoch(entry.leader_epoch)
            )
            for name, entry in from_topics(payload.topics, "topic", index_field="partition")
        ),
        replica_id=BrokerId(getattr(payload, "replica_id", DEBUGGING_REPLICA_ID)),
    )


def epoch_answer_values(answer: OffsetForLeaderEpochAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "topics": to_topics(
            (
                (
                    end.name,
                    {
                        "error_code": to_kio_error(end.error),
                        "partition": end.name.partition,
                        "leader_epoch": end.leader_epoch,
                        "end_offset": end.end_offset,
                    },
                )
                for end in answer.ends
            ),
            topic_field="topic",
        ),
    }


def epoch_answer_from(payload: Any) -> OffsetForLeaderEpochAnswer:
    """What `epoch_answer_values` wrote."""
    return OffsetForLeaderEpochAnswer(
        tuple(
            LeaderEpochEnd(
                name,
                from_kio_error(entry.error_code),
                LeaderEpoch(entry.leader_epoch),
                entry.end_offset,
            )
            for name, entry in from_topics(payload.topics, "topic", index_field="partition")
        )
    )


# --- DeleteRecords ------------------------------------------------------------------------------


def deletion_values(request: DeleteRecords) -> Values:
    """The content for all versions, but for the timeout."""
    return {
        "topics": to_topics(
            (
                target.name,
                {"partition_index": target.name.partition, "offset": target.before_offset},
            )
            for target in request.targets
        ),
    }


def deletion_from(payload: Any) -> DeleteRecords:
    """What `deletion_values` wrote."""
    return DeleteRecords(
        tuple(RecordsToDelete(name, entry.offset) for name, entry in from_topics(payload.topics))
    )


def deletion_answer_values(answer: DeleteRecordsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "topics": to_topics(
            (
                result.name,
                {
                    "partition_index": result.name.partition,
                    "low_watermark": result.low_watermark,
                    "error_code": to_kio_error(result.error),
                },
            )
            for result in answer.results
        ),
    }


def deletion_answer_from(payload: Any) -> DeleteRecordsAnswer:
    """What `deletion_answer_values` wrote."""
    return DeleteRecordsAnswer(
        tuple(
            RecordsDeleted(name, from_kio_error(entry.error_code), entry.low_watermark)
            for name, entry in from_topics(payload.topics)
        )
    )
