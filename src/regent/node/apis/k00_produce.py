"""Produce, versions 3 to 8: append records, and answer when they are as safe as was wished."""

import asyncio
from typing import Final

from regent.broker.broker_effects import AnswerAppend
from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.record_requests import (
    Acks,
    AppendResult,
    PartitionRecords,
    Produce,
    ProduceAnswer,
)
from regent.node.services import Services
from regent.runtime.cluster_views import INTERNAL_TOPICS
from regent.wire.exchange import Call

#: What a caller may wish for.
_KNOWN_ACKS: Final = frozenset(Acks)


async def answer(call: Call, services: Services) -> ProduceAnswer | None:
    """One result for each partition; none at all, as wished, with acks=0."""
    request: Produce = call.request
    if request.acks not in _KNOWN_ACKS:
        error = ErrorCode.INVALID_REQUIRED_ACKS
        return ProduceAnswer(tuple(AppendResult(each.name, error) for each in request.partitions))
    acks_all = request.acks == Acks.ALL
    outcomes = [_append(each, services, acks_all=acks_all) for each in request.partitions]
    waiting = [each for each in outcomes if isinstance(each, asyncio.Future) and not each.done()]
    if waiting:
        try:
            await asyncio.wait(waiting, timeout=request.timeout_ms / 1000)
        finally:
            for each in waiting:
                each.cancel()
    results = tuple(
        _result(each.name, outcome, services)
        for each, outcome in zip(request.partitions, outcomes, strict=True)
    )
    if request.acks != Acks.NONE:
        return ProduceAnswer(results)
    failed = [result for result in results if result.error is not ErrorCode.NONE]
    if failed:
        # As in Kafka: hanging up is the only way to say so, and makes the client look again.
        raise ProtocolError(f"records with acks=0 are refused: {failed[0]}")
    return None


def _append(
    each: PartitionRecords, services: Services, *, acks_all: bool
) -> "AppendResult | asyncio.Future[AnswerAppend]":
    if each.name.topic in INTERNAL_TOPICS:
        return AppendResult(each.name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    return services.host.append(each.name, each.records or b"", acks_all=acks_all)


def _result(
    name: TopicPartition,
    outcome: "AppendResult | asyncio.Future[AnswerAppend]",
    services: Services,
) -> AppendResult:
    if isinstance(outcome, AppendResult):
        return outcome
    if outcome.cancelled():
        return AppendResult(name, ErrorCode.REQUEST_TIMED_OUT)
    told = outcome.result()
    if told.error is not ErrorCode.NONE:
        return AppendResult(name, told.error)
    hosted = services.host.core.hosted.get(name)
    start = -1 if hosted is None else hosted.log.start_offset
    return AppendResult(name, base_offset=told.offset, log_start_offset=start)
