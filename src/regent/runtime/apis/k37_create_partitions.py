"""CreatePartitions, versions 0 to 3: answered when the new partitions have leaders."""

from functools import partial

from regent.core.events import PartitionCreationRequested
from regent.model.admin_requests import CreatePartitions, CreatePartitionsAnswer
from regent.model.error_codes import ErrorCode
from regent.runtime.desk import Desk
from regent.runtime.quota_waits import caller_of, now_s, still_to_wait_ms
from regent.runtime.waiting import answer_when_seen, leaderless
from regent.wire.exchange import Call


async def answer(call: Call, desk: Desk) -> CreatePartitionsAnswer:
    """One result for each topic."""
    request: CreatePartitions = call.request
    asked_at_s = now_s()
    recorded: CreatePartitionsAnswer = await desk.ask(
        partial(PartitionCreationRequested, request=request, caller=caller_of(call))
    )
    if request.validate_only:
        return recorded
    totals = {topic.name: topic.total_count for topic in request.topics}
    counts = {
        result.topic: totals[result.topic]
        for result in recorded.results
        if result.error is ErrorCode.NONE
    }
    return CreatePartitionsAnswer(
        await answer_when_seen(desk, recorded.results, leaderless(counts), call.timeout_ms),
        still_to_wait_ms(recorded.throttle_ms, asked_at_s),
    )
