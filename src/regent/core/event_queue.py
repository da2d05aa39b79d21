"""The one queue of a controller: every input waits here, and they are handled in order (E8).

The queue knows how long each entry waited (time comes in from outside), and answers those whose
callers would otherwise wait for ever when the controller goes away (KAFKA-10193).
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from regent.core.effects import Reply
from regent.core.events import (
    AlterPartitionRequested,
    ControlledShutdownRequested,
    ElectLeadersRequested,
    Event,
    EventBase,
    PartitionCreationRequested,
    ReassignmentListRequested,
    ReassignmentsRequested,
    TopicCreationRequested,
    TopicDeletionRequested,
)
from regent.model.admin_requests import (
    AdminAnswer,
    AlterReassignmentsAnswer,
    ControlledShutdownAnswer,
    CreatePartitionsAnswer,
    CreateTopicsAnswer,
    DeleteTopicsAnswer,
    ElectLeadersAnswer,
    ListReassignmentsAnswer,
    TopicResult,
)
from regent.model.alter_partition import AlterPartitionAnswer
from regent.model.error_codes import ErrorCode


class Queued(Struct, frozen=True):
    """An event in the queue. When it came is a fact about the entry, not about the event."""

    event: Event
    number: int
    queued_at_ms: int

    @property
    def cause(self) -> str:
        """What journal records name as their cause."""
        return f"{type(self.event).__name__}#{self.number}"


class QueueTimes:
    """How long events waited: enough of a histogram for the gauges."""

    def __init__(self) -> None:
        self.count = 0
        self.min_ms = 0
        self.max_ms = 0
        self.total_ms = 0

    def add(self, waited_ms: int) -> None:
        """One event was taken after waiting this long."""
        self.min_ms = waited_ms if self.count == 0 else min(self.min_ms, waited_ms)
        self.max_ms = max(self.max_ms, waited_ms)
        self.total_ms += waited_ms
        self.count += 1


class EventQueue:
    """First in, first out; only the end of a session empties it."""

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()
        self._numbered = 0
        self.times = QueueTimes()
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Event) -> None:
        """Queue an event; its own time says when. Whoever calls a closed queue has `refusal`."""
        assert isinstance(event, EventBase), "only events are queued"
        assert not self.is_closed, "a closed queue takes nothing more"
        self._waiting.append(self.number(event))

    def number(self, event: Event) -> Queued:
        """An event with its number, for a driver that has it handled before all that waits."""
        self._numbered += 1
        return Queued(event, self._numbered, event.now_ms)

    def take(self, now_ms: int) -> Queued | None:
        """The next event, or None when nothing waits."""
        if not self._waiting:
            return None
        queued = self._waiting.popleft()
        self.times.add(now_ms - queued.queued_at_ms)
        return queued

    def preempt(self) -> Iterator[Reply]:
        """Drop all that waits; every waiting caller is told to look for another controller."""
        waiting, self._waiting = self._waiting, deque()
        for queued in waiting:
            answer = refusal(queued.event)
            if answer is not None:
                yield answer

    def close(self) -> Iterator[Reply]:
        """Preempt everything and take nothing more; the event being handled may finish."""
        self.is_closed = True
        yield from self.preempt()


#: What each kind of caller hears when its request will not be looked at.
REFUSALS: Final[Mapping[type[EventBase], AlterPartitionAnswer | AdminAnswer]] = {
    AlterPartitionRequested: AlterPartitionAnswer(ErrorCode.NOT_CONTROLLER),
    ElectLeadersRequested: ElectLeadersAnswer(ErrorCode.NOT_CONTROLLER),
    ReassignmentsRequested: AlterReassignmentsAnswer(ErrorCode.NOT_CONTROLLER),
    ReassignmentListRequested: ListReassignmentsAnswer(ErrorCode.NOT_CONTROLLER),
    # Kafka maps its ControllerMovedException to this code here, and not to NOT_CONTROLLER.
    ControlledShutdownRequested: ControlledShutdownAnswer(ErrorCode.STALE_CONTROLLER_EPOCH),
}


def refusal(event: Event) -> Reply | None:
    """What a caller hears when its request will not be looked at; None for mere news."""
    match event:
        case TopicCreationRequested(request_id=request_id, request=request):
            names = [topic.name for topic in request.topics]
            return Reply(request_id, CreateTopicsAnswer(_not_controller(names)))
        case TopicDeletionRequested(request_id=request_id, request=request):
            return Reply(request_id, DeleteTopicsAnswer(_not_controller(request.topics)))
        case PartitionCreationRequested(request_id=request_id, request=request):
            names = [topic.name for topic in request.topics]
            return Reply(request_id, CreatePartitionsAnswer(_not_controller(names)))
        case _:
            answer = REFUSALS.get(type(event))
            caller: int | None = getattr(event, "request_id", None)
            return None if answer is None or caller is None else Reply(caller, answer)


def _not_controller(topics: Iterable[str]) -> tuple[TopicResult, ...]:
    return tuple(TopicResult(topic, ErrorCode.NOT_CONTROLLER) for topic in topics)
