"""The inbox: order, turns, timers, and the end of a session before everything."""

import threading
import time

import pytest

from regent.core.event_queue import Queued
from regent.core.events import (
    BrokersChanged,
    ElectLeadersRequested,
    Event,
    TimerRang,
    TopicsChanged,
)
from regent.model.admin_requests import ElectionType, ElectLeaders
from regent.model.error_codes import ErrorCode
from regent.runtime.inbox import Inbox, SessionEnded, Stop, Work

REQUEST = ElectLeadersRequested(0, 7, ElectLeaders(ElectionType.PREFERRED))


def taken(work: Work) -> Event:
    assert isinstance(work, Queued)
    return work.event


@pytest.mark.requirement("E8")
def test_events_come_out_in_the_order_they_went_in() -> None:
    """One at a time, with growing numbers."""
    inbox = Inbox()
    inbox.put(TopicsChanged(1))
    inbox.put(BrokersChanged(2))

    first, second = inbox.take(), inbox.take()

    assert (taken(first), taken(second)) == (TopicsChanged(1), BrokersChanged(2))
    assert isinstance(first, Queued)
    assert isinstance(second, Queued)
    assert second.number > first.number


def test_readings_and_events_take_turns() -> None:
    """However many want to read, decisions are made, and the other way round."""
    inbox = Inbox()
    for number in range(2):
        inbox.read(lambda: None)
        inbox.put(TopicsChanged(number))

    kinds = ["event" if isinstance(inbox.take(), Queued) else "reading" for _ in range(4)]

    assert kinds == ["reading", "event", "reading", "event"]


def test_the_end_of_the_session_goes_before_everything() -> None:
    """What waited for the old session is void."""
    inbox = Inbox()
    number = inbox.begin_session()
    inbox.read(lambda: None)
    inbox.put(TopicsChanged(1))
    inbox.end_session(number)

    assert inbox.take() == SessionEnded()


def test_the_end_of_an_earlier_session_is_no_news() -> None:
    """A late word of the old session must not end the new one."""
    inbox = Inbox()
    old = inbox.begin_session()
    inbox.begin_session()
    inbox.end_session(old)
    inbox.put(TopicsChanged(1))

    assert taken(inbox.take()) == TopicsChanged(1)


def test_a_voided_queue_tells_its_callers_and_is_empty() -> None:
    """They look for another controller instead of waiting for nothing."""
    inbox = Inbox()
    inbox.put(TopicsChanged(1))
    inbox.put(REQUEST)

    replies = list(inbox.void())

    assert [(r.request_id, r.answer.error) for r in replies] == [(7, ErrorCode.NOT_CONTROLLER)]  # type: ignore[union-attr]
    assert len(inbox.events) == 0


def test_a_closed_inbox_answers_for_the_controller() -> None:
    """A request that comes while the node stops is refused, and news is dropped."""
    inbox = Inbox()
    assert list(inbox.close()) == []

    refused = inbox.put(REQUEST)

    assert refused is not None
    assert refused.request_id == 7
    assert inbox.put(TopicsChanged(1)) is None


def test_a_timer_rings_by_itself_and_only_once() -> None:
    """Setting it anew replaces it; cancelled ones are silent."""
    inbox = Inbox()
    inbox.set_timer("cancelled", 1)
    inbox.cancel_timers()
    inbox.set_timer("balance", 60_000)
    inbox.set_timer("balance", 5)

    rang = taken(inbox.take())
    inbox.stop()

    assert isinstance(rang, TimerRang)
    assert rang.name == "balance"
    assert inbox.take() == Stop()


def test_a_waiting_thread_wakes_for_what_another_puts_in() -> None:
    """From whatever thread it comes."""
    inbox = Inbox()
    seen: list[Work] = []
    thread = threading.Thread(target=lambda: seen.append(inbox.take()))
    thread.start()
    time.sleep(0.01)

    inbox.put(TopicsChanged(1))
    thread.join(timeout=30)

    assert [taken(each) for each in seen] == [TopicsChanged(1)]


def test_a_pause_ends_when_the_node_is_to_stop() -> None:
    """A back-off of an hour must not keep anybody waiting."""
    inbox = Inbox()
    thread = threading.Thread(target=inbox.pause, args=(3600,))
    thread.start()

    inbox.stop()
    thread.join(timeout=30)

    assert not thread.is_alive()
