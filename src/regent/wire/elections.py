"""ElectLeaders to and from the model; kio has the messages."""

from typing import Any

from regent.errors import ProtocolError
from regent.model.admin_requests import (
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
    PartitionResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, by_topic, from_kio_error, to_kio_error


def request_values(request: ElectLeaders, api_version: int) -> Values:
    """The content for all versions, but for the timeout; version 0 knew one election only."""
    if api_version < 1 and request.election is not ElectionType.PREFERRED:
        raise ProtocolError("ElectLeaders 0 elects preferred leaders only")
    return {
        "election_type": int(request.election),
        "topic_partitions": None
        if request.partitions is None
        else [
            {"topic": topic, "partitions": tuple(entry.partition for entry in entries)}
            for topic, entries in by_topic(request.partitions).items()
        ],
    }


def request_from(payload: Any) -> ElectLeaders:
    """Without partitions it is for all."""
    number = getattr(payload, "election_type", ElectionType.PREFERRED)
    if number not in set(ElectionType):
        raise ProtocolError(f"ElectLeaders: there is no election of type {number}")
    return ElectLeaders(
        election=ElectionType(number),
        partitions=None
        if payload.topic_partitions is None
        else tuple(
            TopicPartition(topic.topic, partition)
            for topic in payload.topic_partitions
            for partition in topic.partitions
        ),
    )


def answer_values(answer: ElectLeadersAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "replica_election_results": [
            {
                "topic": topic,
                "partition_result": [
                    {
                        "partition_id": result.partition,
                        "error_code": to_kio_error(result.error),
                        "error_message": result.message,
                    }
                    for result in results
                ],
            }
            for topic, results in by_topic(answer.results).items()
        ],
    }


def answer_from(payload: Any) -> ElectLeadersAnswer:
    """Version 0 had no code for all."""
    error = payload.error_code if hasattr(payload, "error_code") else None
    return ElectLeadersAnswer(
        ErrorCode.NONE if error is None else from_kio_error(error),
        tuple(
            PartitionResult(
                topic.topic,
                result.partition_id,
                from_kio_error(result.error_code),
                result.error_message,
            )
            for topic in payload.replica_election_results
            for result in topic.partition_result
        ),
    )
