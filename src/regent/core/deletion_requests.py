"""DeleteTopics: mark topics for deletion. Deleting them starts when the marks are seen."""

from msgspec.structs import replace

from regent.core.asks import MarkTopicsForDeletion, Procedure, ask, fence_of
from regent.core.events import TopicDeletionRequested
from regent.core.mutation_quotas import UNLIMITED, MutationQuota
from regent.core.quota_changes import grant_quota
from regent.core.state import ControllerState
from regent.core.topic_results import charge, report
from regent.model.admin_requests import DeleteTopicsAnswer, TopicResult
from regent.model.error_codes import ErrorCode


def on_topic_deletion_requested(
    state: ControllerState, event: TopicDeletionRequested
) -> Procedure[None]:
    """One result for each topic, in the order asked; one that is queued already is no error."""
    request = event.request
    find = _by_id if request.by_id else _by_name
    results = [find(state, asked) for asked in dict.fromkeys(request.topics)]
    quota: MutationQuota = UNLIMITED
    if any(_is_unmarked(state, each) for each in results):
        quota = yield from grant_quota(state, event.caller, event.now_ms)
    results = [_charged(state, each, quota) for each in results]
    unmarked = tuple(each.topic for each in results if _is_unmarked(state, each))
    if unmarked:
        yield from ask(MarkTopicsForDeletion(fence_of(state), unmarked))
    answer = DeleteTopicsAnswer(tuple(results), quota.throttle_ms)
    yield from report("DeleteTopics", event.request_id, answer)


def _is_unmarked(state: ControllerState, result: TopicResult) -> bool:
    """Whether there is anything to do for it."""
    return result.error is ErrorCode.NONE and not state.is_being_deleted(result.topic)


def _charged(state: ControllerState, result: TopicResult, quota: MutationQuota) -> TopicResult:
    """The result after the caller was charged for it; what is queued already costs nothing."""
    if not _is_unmarked(state, result):
        return result
    refusal = charge(result.topic, quota, len(state.topics[result.topic].partitions))
    return result if refusal is None else replace(refusal, topic_id=result.topic_id)


def _by_name(state: ControllerState, name: str) -> TopicResult:
    if not state.config.deletes_topics:
        return _disabled(name)
    topic = state.topics.get(name)
    if topic is None:
        message = f"there is no topic {name!r}"
        return TopicResult(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    return TopicResult(name, topic_id=topic.topic_id)


def _by_id(state: ControllerState, topic_id: str) -> TopicResult:
    """A result whose topic is unknown goes by the id that was asked."""
    if not state.config.deletes_topics:
        return _disabled(topic_id)
    name = state.topic_names.get(topic_id)
    if name is None:
        message = f"no topic has the id {topic_id}"
        return TopicResult(topic_id, ErrorCode.UNKNOWN_TOPIC_ID, message, topic_id)
    return TopicResult(name, topic_id=topic_id)


def _disabled(asked: str) -> TopicResult:
    message = "this controller does not delete topics: delete.topic.enable is false"
    return TopicResult(asked, ErrorCode.TOPIC_DELETION_DISABLED, message)
