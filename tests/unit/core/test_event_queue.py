"""The one queue of a controller (E8)."""

import pytest

from regent.core.effects import Reply
from regent.core.event_queue import EventQueue, Queued, refusal
from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    ControlledShutdownRequested,
    ElectLeadersRequested,
    ReassignmentListRequested,
    ReassignmentsRequested,
    TopicsChanged,
)
from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ControlledShutdown,
    ControlledShutdownAnswer,
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
)
from regent.model.alter_partition import AlterPartitionAnswer
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from tests.support.builders import alter_partition

NOT_CONTROLLER = AlterPartitionAnswer(ErrorCode.NOT_CONTROLLER)


@pytest.fixture
def queue() -> EventQueue:
    """Nothing waits yet."""
    return EventQueue()


@pytest.mark.requirement("E8")
def test_events_are_taken_in_the_order_they_came(queue: EventQueue) -> None:
    """Each has a number, so that what it causes can name it."""
    queue.put(BrokersChanged(10))
    queue.put(TopicsChanged(20))

    taken = [queue.take(30), queue.take(30), queue.take(30)]

    assert taken == [
        Queued(BrokersChanged(10), number=1, queued_at_ms=10),
        Queued(TopicsChanged(20), number=2, queued_at_ms=20),
        None,
    ]
    assert [each.cause for each in taken if each] == ["BrokersChanged#1", "TopicsChanged#2"]


@pytest.mark.behaviour("evt-005")
def test_each_entry_has_waited_for_itself(queue: EventQueue) -> None:
    """Two equal events, each 400 ms of work: the first waited 0, the second 400."""
    same = TopicsChanged(0)
    queue.put(same)
    queue.put(same)

    queue.take(now_ms=0)
    queue.take(now_ms=400)

    times = queue.times
    assert (times.count, times.min_ms, times.max_ms, times.total_ms) == (2, 0, 400, 400)


@pytest.mark.behaviour("evt-007")
def test_closing_answers_every_waiting_caller_once_and_lets_the_running_event_be(
    queue: EventQueue,
) -> None:
    """No caller may hang (KAFKA-10193); mere news has nobody to answer."""
    queue.put(BrokersChanged(0))
    for request_id in (7, 8):
        queue.put(AlterPartitionRequested(0, request_id, alter_partition(1)))
    running = queue.take(0)

    replies = list(queue.close())

    assert running is not None
    assert replies == [Reply(7, NOT_CONTROLLER), Reply(8, NOT_CONTROLLER)]
    assert (len(queue), queue.is_closed, list(queue.preempt())) == (0, True, [])


@pytest.mark.behaviour("evt-008")
def test_every_kind_of_waiting_caller_is_told_in_its_own_words(queue: EventQueue) -> None:
    """A broker that wants to go hears of a moved controller, the others look for another one."""
    queue.put(ElectLeadersRequested(0, 1, ElectLeaders(ElectionType.PREFERRED)))
    queue.put(ControlledShutdownRequested(0, 2, ControlledShutdown(BrokerId(1))))
    queue.put(ReassignmentsRequested(0, 3, AlterReassignments(())))
    queue.put(ReassignmentListRequested(0, 4, ListReassignments()))

    replies = list(queue.close())

    not_controller = ErrorCode.NOT_CONTROLLER
    assert replies == [
        Reply(1, ElectLeadersAnswer(not_controller)),
        Reply(2, ControlledShutdownAnswer(ErrorCode.STALE_CONTROLLER_EPOCH)),
        Reply(3, AlterReassignmentsAnswer(not_controller)),
        Reply(4, ListReassignmentsAnswer(not_controller)),
    ]


def test_preempting_empties_the_queue_and_leaves_it_open(queue: EventQueue) -> None:
    """The session ended; the next one's events come in behind."""
    queue.put(BrokersChanged(0))
    queue.put(AlterPartitionRequested(0, 7, alter_partition(1)))

    replies = list(queue.preempt())
    queue.put(TopicsChanged(1))

    assert replies == [Reply(7, NOT_CONTROLLER)]
    assert queue.take(1) == Queued(TopicsChanged(1), number=3, queued_at_ms=1)


def test_news_needs_no_refusal() -> None:
    """Only callers wait."""
    assert refusal(BrokersChanged(0)) is None


def test_only_events_are_queued(queue: EventQueue) -> None:
    """Anything else would come out in the middle of a reign."""
    with pytest.raises(AssertionError, match="only events"):
        queue.put("not an event")  # type: ignore[arg-type]
