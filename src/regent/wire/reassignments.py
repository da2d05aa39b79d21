"""AlterPartitionReassignments and ListPartitionReassignments; kio has the messages."""

from typing import Any

from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    PartitionResult,
    ReassignmentTarget,
)
from regent.model.assignment import Assignment
from regent.model.ids import TopicPartition
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, broker_ids, by_topic, from_kio_error, to_kio_error


def alteration_values(request: AlterReassignments) -> Values:
    """The content, but for the timeout."""
    return {
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": target.partition, "replicas": target.replicas}
                    for target in targets
                ],
            }
            for topic, targets in by_topic(request.targets).items()
        ],
    }


def alteration_from(payload: Any) -> AlterReassignments:
    """A target without replicas cancels."""
    return AlterReassignments(
        tuple(
            ReassignmentTarget(
                topic.name,
                partition.partition_index,
                None if partition.replicas is None else broker_ids(partition.replicas),
            )
            for topic in payload.topics
            for partition in topic.partitions
        )
    )


def alteration_answer_values(answer: AlterReassignmentsAnswer) -> Values:
    """One code for all, then one for each partition."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "error_message": answer.message,
        "responses": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": result.partition,
                        "error_code": to_kio_error(result.error),
                        "error_message": result.message,
                    }
                    for result in results
                ],
            }
            for topic, results in by_topic(answer.results).items()
        ],
    }


def alteration_answer_from(payload: Any) -> AlterReassignmentsAnswer:
    """What `alteration_answer_values` wrote."""
    return AlterReassignmentsAnswer(
        from_kio_error(payload.error_code),
        payload.error_message,
        tuple(
            PartitionResult(
                topic.name,
                result.partition_index,
                from_kio_error(result.error_code),
                result.error_message,
            )
            for topic in payload.responses
            for result in topic.partitions
        ),
    )


def listing_values(request: ListReassignments) -> Values:
    """The content, but for the timeout."""
    return {
        "topics": None
        if request.partitions is None
        else [
            {"name": topic, "partition_indexes": tuple(entry.partition for entry in entries)}
            for topic, entries in by_topic(request.partitions).items()
        ],
    }


def listing_from(payload: Any) -> ListReassignments:
    """Without partitions it is for all."""
    if payload.topics is None:
        return ListReassignments()
    return ListReassignments(
        tuple(
            TopicPartition(topic.name, partition)
            for topic in payload.topics
            for partition in topic.partition_indexes
        )
    )


def listing_answer_values(answer: ListReassignmentsAnswer) -> Values:
    """The partitions that are moving, by topic."""
    topics: dict[str, list[Values]] = {}
    for (topic, partition), assignment in answer.moving:
        entry = {
            "partition_index": partition,
            "replicas": assignment.replicas,
            "adding_replicas": assignment.adding,
            "removing_replicas": assignment.removing,
        }
        topics.setdefault(topic, []).append(entry)
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "error_message": answer.message,
        "topics": [{"name": name, "partitions": entries} for name, entries in topics.items()],
    }


def listing_answer_from(payload: Any) -> ListReassignmentsAnswer:
    """What `listing_answer_values` wrote."""
    return ListReassignmentsAnswer(
        from_kio_error(payload.error_code),
        payload.error_message,
        tuple(
            (
                TopicPartition(topic.name, entry.partition_index),
                Assignment(
                    broker_ids(entry.replicas),
                    broker_ids(entry.adding_replicas),
                    broker_ids(entry.removing_replicas),
                ),
            )
            for topic in payload.topics
            for entry in topic.partitions
        ),
    )
