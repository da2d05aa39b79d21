"""DeleteTopics, versions 0 to 6: answered when clients see the topics no more.

The replicas go after that, and a topic of the same name can be created when they are gone.
"""

from functools import partial

from regent.core.events import TopicDeletionRequested
from regent.model.admin_requests import DeleteTopicsAnswer
from regent.model.error_codes import ErrorCode
from regent.runtime.desk import Desk
from regent.runtime.quota_waits import caller_of, now_s, still_to_wait_ms
from regent.runtime.waiting import answer_when_seen, undeleted
from regent.wire.exchange import Call


async def answer(call: Call, desk: Desk) -> DeleteTopicsAnswer:
    """One result for each topic."""
    asked_at_s = now_s()
    recorded: DeleteTopicsAnswer = await desk.ask(
        partial(TopicDeletionRequested, request=call.request, caller=caller_of(call))
    )
    marked = [each.topic for each in recorded.results if each.error is ErrorCode.NONE]
    return DeleteTopicsAnswer(
        await answer_when_seen(desk, recorded.results, undeleted(marked), call.timeout_ms),
        still_to_wait_ms(recorded.throttle_ms, asked_at_s),
    )
