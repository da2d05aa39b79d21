"""How callers hear what became of the topics they named, and how the journal hears of refusals."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from regent.core.asks import Procedure, WriteFailure
from regent.core.effects import Journal, Reply
from regent.core.mutation_quotas import MutationQuota
from regent.model.admin_requests import (
    CreatePartitionsAnswer,
    CreateTopicsAnswer,
    DeleteTopicsAnswer,
    TopicResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused

#: What could be wrong, each with what it would mean; None: it is not.
Complaints: TypeAlias = Iterator[tuple[ErrorCode, str | None]]


def refused(topic: str, complaints: Complaints) -> TopicResult | None:
    """The first complaint that holds; what comes behind it is not looked at."""
    for error, message in complaints:
        if message is not None:
            return TopicResult(topic, error, message)
    return None


def refused_repetitions(topics: Iterable[str]) -> dict[str, TopicResult]:
    """Topics that a request names more than once: nobody knows which of them is meant."""
    message = "the request names this topic more than once"
    return {
        topic: TopicResult(topic, ErrorCode.INVALID_REQUEST, message)
        for topic, count in Counter(topics).items()
        if count > 1
    }


def charge(topic: str, quota: MutationQuota, partition_count: int) -> TopicResult | None:
    """Charge the caller for partitions that are to be made or deleted, unless it has none left."""
    message = quota.charge(partition_count)
    if message is None:
        return None
    return TopicResult(topic, ErrorCode.THROTTLING_QUOTA_EXCEEDED, message)


def unwritten(topic: str, failure: WriteFailure) -> TopicResult:
    """Everything was in order, and then somebody else was faster, or ZooKeeper would not."""
    match failure:
        case WriteFailure.EXISTS:
            error, message = ErrorCode.TOPIC_ALREADY_EXISTS, "somebody created it just now"
        case WriteFailure.MISSING:
            error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "somebody removed it just now"
        case WriteFailure.CONFLICT:
            error, message = ErrorCode.UNKNOWN_SERVER_ERROR, "it changes all the time; try again"
        case WriteFailure.TOO_LARGE:
            error = ErrorCode.INVALID_PARTITIONS
            message = "ZooKeeper does not take an assignment of so many partitions in one znode"
    return TopicResult(topic, error, message)


def report(
    api: str,
    request_id: int,
    answer: CreateTopicsAnswer | DeleteTopicsAnswer | CreatePartitionsAnswer,
) -> Procedure[None]:
    """Record what was refused, and answer the caller."""
    refusals = [
        CallRefused(api, result.error, topic=result.topic, reason=result.message)
        for result in answer.results
        if result.error is not ErrorCode.NONE
    ]
    if refusals:
        yield Journal(refusals)
    yield Reply(request_id, answer)
