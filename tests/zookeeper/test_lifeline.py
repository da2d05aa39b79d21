"""Where threads meet: what may be sent, who finishes what, and who is told in which order."""

from collections.abc import Iterator
from time import monotonic

import pytest

from regent.zookeeper.frames import FrameReply
from regent.zookeeper.kazoo_client import Ticket
from regent.zookeeper.lifeline import Lifeline
from regent.zookeeper.session_state import SessionNews, SessionState
from regent.zookeeper.store import ZkError


class NotedTicket(Ticket):
    """Remembers how it ended."""

    def __init__(self, lifeline: Lifeline) -> None:
        super().__init__(b"")
        self._lifeline = lifeline
        self.ends: list[ZkError] = []

    def finish(self, reply: FrameReply) -> None:
        """Only the first time counts."""
        if self._lifeline.release(self):
            self.ends.append(reply.error)


@pytest.fixture
def told() -> list[SessionState]:
    return []


@pytest.fixture
def lifeline(told: list[SessionState]) -> Iterator[Lifeline]:
    """Of a session that has just begun."""
    made = Lifeline(on_state=told.append, on_lost=lambda: None)
    made.begin(timeout_s=3600.0, asked_at_s=monotonic())
    yield made
    made.hear(SessionNews.ENDED)


def reconnect(lifeline: Lifeline) -> None:
    lifeline.hear(SessionNews.DISCONNECTED)
    lifeline.go_on(asked_at_s=monotonic(), first=lambda: None)


def test_what_was_meant_for_one_connection_is_not_sent_on_the_next(lifeline: Lifeline) -> None:
    """Earlier frames of the same call are lost with the old one, known to the caller or not."""
    sent: list[Ticket] = []
    number = lifeline.await_connection()
    reconnect(lifeline)

    error = lifeline.admit(NotedTicket(lifeline), number, sent.append)

    assert (error, sent) == (ZkError.CONNECTION_LOSS, [])
    again = lifeline.await_connection()
    assert lifeline.admit(NotedTicket(lifeline), again, sent.append) is ZkError.OK
    assert len(sent) == 1


def test_what_is_under_way_ends_with_the_session_and_only_once(lifeline: Lifeline) -> None:
    """Whoever waits must not wait for ever, and an answer that comes late is nobody's."""
    ticket = NotedTicket(lifeline)
    lifeline.admit(ticket, lifeline.await_connection(), lambda _ticket: None)

    lifeline.hear(SessionNews.ENDED)
    ticket.finish(FrameReply(ZkError.OK))

    assert ticket.ends == [ZkError.SESSION_EXPIRED]
    late = lifeline.admit(NotedTicket(lifeline), lifeline.await_connection(), lambda _t: None)
    assert late is ZkError.SESSION_EXPIRED


def test_a_session_that_may_be_over_sends_nothing(told: list[SessionState]) -> None:
    """A process that was stopped for long must not write before its clock has been looked at."""
    sent: list[Ticket] = []
    lifeline = Lifeline(on_state=told.append, on_lost=lambda: None)
    lifeline.begin(timeout_s=1.0, asked_at_s=monotonic() - 2.0)

    error = lifeline.admit(NotedTicket(lifeline), 0, sent.append)

    assert (error, sent) == (ZkError.SESSION_EXPIRED, [])
    assert lifeline.state is SessionState.LOST


def test_every_change_is_told_once_and_in_order(
    lifeline: Lifeline, told: list[SessionState]
) -> None:
    """An owner that heard of a connection after the end would believe in it."""
    reconnect(lifeline)
    lifeline.hear(SessionNews.DISCONNECTED)
    lifeline.hear(SessionNews.ENDED)
    lifeline.go_on(asked_at_s=monotonic(), first=lambda: None)
    lifeline.hear(SessionNews.ENDED)

    assert told == [
        SessionState.SUSPENDED,
        SessionState.CONNECTED,
        SessionState.SUSPENDED,
        SessionState.LOST,
    ]
