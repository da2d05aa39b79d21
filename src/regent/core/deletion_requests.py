"""DeleteTopics: mark topics for deletion. Deleting them starts when the marks are seen."""

from regent.core.asks import MarkTopicsForDeletion, Procedure, ask, fence_of
from regent.core.events import TopicDeletionRequested
from regent.core.state import ControllerState
from regent.core.topic_results import report
from regent.model.admin_requests import DeleteTopicsAnswer, TopicResult
from regent.model.error_codes import ErrorCode


def on_topic_deletion_requested(
    state: ControllerState, event: TopicDeletionRequested
) -> Procedure[None]:
    """One result for each topic, in the order asked; one that is queued already is no error."""
    request = event.request
    find = _by_id if request.by_id else _by_name
    results = [find(state, asked) for asked in dict.fromkeys(request.topics)]
    found = [result.topic for result in results if result.error is ErrorCode.NONE]
    unmarked = tuple(topic for topic in found if not state.is_being_deleted(topic))
    if unmarked:
        yield from ask(MarkTopicsForDeletion(fence_of(state), unmarked))
    yield from report("DeleteTopics", event.request_id, DeleteTopicsAnswer(tuple(results)))


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
