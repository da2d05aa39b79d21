"""The life of one session as its client sees it: connected, suspended, lost. Pure.

A server keeps a session for its timeout after it has last heard of the client. The client knows
that it was heard only from an answer, and the server heard it no earlier than it spoke: so what
counts is when the last answered request was *sent*. When that was a whole timeout ago the session
may be over, and the client must act as if it was, whether or not a server ever says so.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final


class SessionState(Enum):
    """What a client may believe of its session."""

    #: There is a connection, and the session is proven to live.
    CONNECTED = auto()
    #: There is no connection. The session may live, and its ephemerals with it.
    SUSPENDED = auto()
    #: It is over, or may be. There is no way back; the next session is another one.
    LOST = auto()


class SessionNews(Enum):
    """What a client hears, or does not hear."""

    RECONNECTED = auto()
    DISCONNECTED = auto()
    #: The server said that the session expired, or it was closed.
    ENDED = auto()
    #: No answer for a whole timeout.
    SILENCE = auto()


# A pair that is not in the table changes nothing.
# fmt: off
TRANSITIONS: Final[Mapping[tuple[SessionState, SessionNews], SessionState]] = {
    (SessionState.CONNECTED, SessionNews.DISCONNECTED): SessionState.SUSPENDED,
    (SessionState.CONNECTED, SessionNews.ENDED):        SessionState.LOST,
    (SessionState.CONNECTED, SessionNews.SILENCE):      SessionState.LOST,
    (SessionState.SUSPENDED, SessionNews.RECONNECTED):  SessionState.CONNECTED,
    (SessionState.SUSPENDED, SessionNews.ENDED):        SessionState.LOST,
    (SessionState.SUSPENDED, SessionNews.SILENCE):      SessionState.LOST,
}
# fmt: on


class SessionLife:
    """One session from its first connection to its end."""

    def __init__(self, *, timeout_s: float, proven_at_s: float) -> None:
        self.state = SessionState.CONNECTED
        self._timeout_s = timeout_s
        self._proven_at_s = proven_at_s

    @property
    def deadline_s(self) -> float:
        """Until when the session lives for sure."""
        return self._proven_at_s + self._timeout_s

    def prove(self, sent_at_s: float) -> None:
        """Something that was sent then has been answered."""
        self._proven_at_s = max(self._proven_at_s, sent_at_s)

    def hear(self, news: SessionNews) -> bool:
        """Whether that changed the state."""
        after = TRANSITIONS.get((self.state, news))
        if after is None:
            return False
        self.state = after
        return True

    def look_at_clock(self, now_s: float) -> bool:
        """Whether the session was lost by silence just now."""
        return now_s >= self.deadline_s and self.hear(SessionNews.SILENCE)
