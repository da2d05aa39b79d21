"""CreateTopics, versions 0 to 7: answered when the topics have leaders."""

from functools import partial

from regent.core.events import TopicCreationRequested
from regent.model.admin_requests import CreateTopics, CreateTopicsAnswer
from regent.model.error_codes import ErrorCode
from regent.runtime.desk import Desk
from regent.runtime.quota_waits import caller_of, now_s, still_to_wait_ms
from regent.runtime.waiting import answer_when_seen, leaderless
from regent.wire.exchange import Call


async def answer(call: Call, desk: Desk) -> CreateTopicsAnswer:
    """One result for each topic."""
    request: CreateTopics = call.request
    asked_at_s = now_s()
    recorded: CreateTopicsAnswer = await desk.ask(
        partial(TopicCreationRequested, request=request, caller=caller_of(call))
    )
    if request.validate_only:
        return recorded
    counts = {
        result.topic: result.partition_count
        for result in recorded.results
        if result.error is ErrorCode.NONE
    }
    return CreateTopicsAnswer(
        await answer_when_seen(desk, recorded.results, leaderless(counts), call.timeout_ms),
        still_to_wait_ms(recorded.throttle_ms, asked_at_s),
    )
