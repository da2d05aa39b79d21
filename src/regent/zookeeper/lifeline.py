"""What keeps a session's users and its connection together: state, clock, and what is under way.

Several threads meet here: those that ask, the one that reads from the connection, and one that
watches the clock, because a silent server says nothing. All that they share is behind one lock,
and nobody waits for a server while holding it.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

from regent.zookeeper.frames import FrameReply
from regent.zookeeper.kazoo_client import Ticket
from regent.zookeeper.session_state import SessionLife, SessionNews, SessionState
from regent.zookeeper.store import ZkError

logger = logging.getLogger(__name__)


class Lifeline:
    """One session's state. It exists before the session does, and is of use from then on."""

    def __init__(
        self, *, on_state: Callable[[SessionState], None], on_lost: Callable[[], None]
    ) -> None:
        self._on_state = on_state
        self._on_lost = on_lost
        #: Notified at every change of what is below.
        self._changed = threading.Condition()
        #: None until the first connection.
        self._life: SessionLife | None = None
        self._has_failed_to_begin = False
        #: Counts connections: what was meant for one must not be sent on the next.
        self._connection_number = 0
        self._under_way: dict[Ticket, None] = {}
        #: Changes that nobody has been told of yet. They are told in order, without the lock.
        self._untold: deque[SessionState] = deque()
        self._telling = threading.Lock()
        self._is_hushed = False

    @property
    def state(self) -> SessionState:
        """What may be believed of the session right now."""
        return SessionState.LOST if self._life is None else self._life.state

    @property
    def lives_until_s(self) -> float:
        """Until when, on the monotonic clock, the session lives for sure."""
        return 0.0 if self._life is None else self._life.deadline_s

    # --- for those who ask --------------------------------------------------------------------

    def await_beginning(self, timeout_s: float) -> bool:
        """Whether there has been a session in time."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._life is not None or self._has_failed_to_begin, timeout_s
            )
            return self._life is not None

    def await_connection(self) -> int:
        """The number of the connection that can be used now; any number if it is all over."""
        with self._changed:
            self._changed.wait_for(lambda: self.state is not SessionState.SUSPENDED)
            return self._connection_number

    def admit(
        self, ticket: Ticket, connection_number: int, submit: Callable[[Ticket], None]
    ) -> ZkError:
        """Let a frame go on its way, if the connection it is meant for is still the one."""
        with self._changed:
            self._look_at_clock()
            if self.state is SessionState.LOST:
                error = ZkError.SESSION_EXPIRED
            elif connection_number != self._connection_number:
                error = ZkError.CONNECTION_LOSS
            else:
                error = ZkError.OK
                self._under_way[ticket] = None
                submit(ticket)
        self._tell()
        return error

    def release(self, ticket: Ticket) -> bool:
        """Whether this was still under way; whoever comes first finishes it."""
        return self._under_way.pop(ticket, self) is None

    def hush(self) -> None:
        """Tell nobody any more: the session's owner is ending it."""
        self._is_hushed = True

    # --- for the connection -------------------------------------------------------------------

    def begin(self, *, timeout_s: float, asked_at_s: float) -> None:
        """The first connection."""
        with self._changed:
            self._life = SessionLife(timeout_s=timeout_s, proven_at_s=asked_at_s)
            self._changed.notify_all()
        threading.Thread(target=self._watch_clock, name="session-clock", daemon=True).start()

    def go_on(self, *, asked_at_s: float, first: Callable[[], None]) -> None:
        """Another connection of the same session; `first` sends before anybody else can."""
        with self._changed:
            if self._life is not None and self._life.hear(SessionNews.RECONNECTED):
                self._life.prove(asked_at_s)
                first()
                self._note_change()
        self._tell()

    def hear(self, news: SessionNews) -> None:
        """A connection, or the session, has ended."""
        with self._changed:
            if self._life is None:
                self._has_failed_to_begin |= news is SessionNews.ENDED
                self._changed.notify_all()
            elif self._life.hear(news):
                self._note_change()
        self._tell()

    def prove(self, sent_at_s: float) -> None:
        """Something that was sent then has been answered."""
        life = self._life
        if life is not None:
            life.prove(sent_at_s)

    # --- inside -------------------------------------------------------------------------------

    def _note_change(self) -> None:
        """With the lock: what follows from a new state before anybody can see it."""
        self._connection_number += 1
        self._untold.append(self.state)
        if self.state is SessionState.LOST:
            self._on_lost()
            for ticket in tuple(self._under_way):
                ticket.finish(FrameReply(ZkError.SESSION_EXPIRED))
        self._changed.notify_all()

    def _look_at_clock(self) -> None:
        """With the lock: give the session up if it may be over."""
        if self._life is not None and self._life.look_at_clock(monotonic()):
            logger.warning("ZooKeeper was silent for a whole session timeout: the session is lost")
            self._note_change()

    def _watch_clock(self) -> None:
        is_over = False
        while not is_over:
            with self._changed:
                assert self._life is not None, "it has begun"
                self._look_at_clock()
                is_over = self.state is SessionState.LOST
                if not is_over:
                    self._changed.wait(self._life.deadline_s - monotonic())
            self._tell()

    def _tell(self) -> None:
        if not self._untold:
            return
        with self._telling:
            while self._untold:
                state = self._untold.popleft()
                if not self._is_hushed:
                    self._on_state(state)
