"""The life of a session, as a table and a clock that somebody else reads."""

import pytest

from regent.zookeeper.session_state import (
    TRANSITIONS,
    SessionLife,
    SessionNews,
    SessionState,
)

CONNECTED, SUSPENDED, LOST = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.LOST


def life_in(state: SessionState) -> SessionLife:
    life = SessionLife(timeout_s=6.0, proven_at_s=100.0)
    life.state = state
    return life


def test_nothing_leads_out_of_the_end() -> None:
    """A session that may be over must not be believed in again, whatever a server says later."""
    for news in SessionNews:
        life = life_in(LOST)

        assert not life.hear(news)
        assert life.state is LOST


def test_every_end_is_reached_from_every_living_state() -> None:
    """Connected or not: an end is an end, and silence is as good as one."""
    ends = {key for key, after in TRANSITIONS.items() if after is LOST}

    assert ends == {
        (state, news)
        for state in (CONNECTED, SUSPENDED)
        for news in (SessionNews.ENDED, SessionNews.SILENCE)
    }


def test_a_connection_comes_and_goes() -> None:
    """Only a change is reported as one."""
    life = life_in(CONNECTED)

    heard = [
        (life.hear(news), life.state)
        for news in (
            SessionNews.RECONNECTED,
            SessionNews.DISCONNECTED,
            SessionNews.DISCONNECTED,
            SessionNews.RECONNECTED,
        )
    ]

    assert heard == [(False, CONNECTED), (True, SUSPENDED), (False, SUSPENDED), (True, CONNECTED)]


@pytest.mark.parametrize("state", [CONNECTED, SUSPENDED])
def test_silence_counts_from_the_sending_of_what_was_answered(state: SessionState) -> None:
    """The server has heard us at that moment at the earliest, and not when its answer arrived."""
    life = life_in(state)
    life.prove(103.0)

    assert not life.look_at_clock(108.9)
    assert life.state is state
    assert life.look_at_clock(109.0)
    assert life.state is LOST
    assert not life.look_at_clock(110.0), "it is lost once"


def test_an_old_answer_takes_nothing_back() -> None:
    """Answers may be handled late; what is proven stays proven."""
    life = life_in(CONNECTED)
    life.prove(103.0)

    life.prove(101.0)

    assert life.deadline_s == 109.0
