"""A client's session with the ZooKeeper in memory, and ways to break its connection."""

from collections.abc import Sequence

from msgspec import Struct

from regent.zookeeper.memory import MemoryZooKeeper, Watch
from regent.zookeeper.store import Answered, Failed, Request, WatchEvent, ZkError


class _Break(Struct, frozen=True):
    """The connection goes at this request of a call, which the server saw or did not see."""

    at: int
    applied: bool


class MemorySession:
    """One client's session, spoken to one call at a time."""

    def __init__(self, server: MemoryZooKeeper) -> None:
        self._server = server
        self._session_id = server.open_session()
        self._break: _Break | None = None
        self._lost_watches: tuple[Watch, ...] = ()

    @property
    def session_id(self) -> int:
        """Who owns the ephemerals made here."""
        return self._session_id

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Send all of these in order and wait for all the answers."""
        answers: list[Answered] = []
        planned, self._break = self._break, None
        for position, request in enumerate(requests):
            if planned is not None and position >= planned.at:
                if position == planned.at:
                    self._lose(request if planned.applied else None)
                answers.append(Failed(ZkError.CONNECTION_LOSS))
            else:
                answers.append(self._server.handle(self._session_id, request))
        return answers

    def watch_events(self) -> Sequence[WatchEvent]:
        """The watch events that have arrived since the last look, in order."""
        return self._server.take_events(self._session_id)

    def close(self) -> None:
        """End the session; its ephemerals go at once."""
        self._server.close_session(self._session_id)

    # --- faults -----------------------------------------------------------------------------

    def lose_connection(self, after: int, *, applied: bool) -> None:
        """Break the next call at its request number `after`, which still arrives or does not.

        That request and all later ones of the call are answered with connection loss; the call
        after it finds the session reconnected.
        """
        self._break = _Break(after, applied)

    def lost_watches(self) -> tuple[Watch, ...]:
        """What was watched through connections that broke, since the last time this was asked."""
        lost, self._lost_watches = self._lost_watches, ()
        return lost

    def _lose(self, arrived: Request | None) -> None:
        if arrived is not None:
            self._server.handle(self._session_id, arrived)
        lost = self._server.drop_watches(self._session_id)
        self._lost_watches = tuple(dict.fromkeys(self._lost_watches + lost))
