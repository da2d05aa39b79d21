"""One call on a session: its frames in flight, its answers in order.

A few frames are under way at once; the next goes when the oldest has come back, and what came back
is decoded meanwhile. As soon as one is lost, nothing more of the call is sent: later requests must
not be carried out without the earlier ones.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Final

from msgspec import Struct

from regent.zookeeper.frames import CONNECTION_ERRORS, Frame, FrameReply, Piece
from regent.zookeeper.kazoo_client import Ticket
from regent.zookeeper.lifeline import Lifeline
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import Answered, Failed, ZkError
from regent.zookeeper.watch_table import WatchTable

#: Frames of one call under way at once: enough to keep a server busy, few enough that a broken
#: connection leaves little in doubt.
IN_FLIGHT: Final = 16

_LOST: Final = Failed(ZkError.CONNECTION_LOSS)
_EXPIRED: Final = Failed(ZkError.SESSION_EXPIRED)


class FrameTicket(Ticket):
    """A frame of a call on its way. What its answer sets watches on is noted as it arrives."""

    def __init__(
        self, frame: Frame, lifeline: Lifeline, watches: WatchTable, arrivals: SimpleQueue[None]
    ) -> None:
        super().__init__(frame.payload)
        self.frame: Final = frame
        self.reply: FrameReply | None = None
        self._lifeline = lifeline
        self._watches = watches
        self._arrivals = arrivals

    def serialize(self) -> bytes:
        """The moment of sending."""
        if self.frame.bulk_watches:
            self._watches.announce(self.frame.bulk_watches)
        return super().serialize()

    def finish(self, reply: FrameReply) -> None:
        """The first time counts: the answer, or the end of waiting for it."""
        if self._lifeline.release(self):
            if reply.error is not ZkError.SESSION_EXPIRED:
                self._note_watches(reply.error)
            if reply.error not in CONNECTION_ERRORS:
                self._lifeline.prove(self.sent_at_s)
            self.settle(reply)

    def settle(self, reply: FrameReply) -> None:
        """Hand the answer to whoever waits."""
        self.reply = reply
        self._arrivals.put(None)

    def _note_watches(self, error: ZkError) -> None:
        frame = self.frame
        if frame.bulk_watches:
            after = self._watches.settle if error is ZkError.OK else self._watches.forget
            after(frame.bulk_watches)
        if error is ZkError.OK and frame.watch is not None:
            self._watches.add(frame.watch)
        elif error is ZkError.NO_NODE and frame.watch_if_missing is not None:
            self._watches.add(frame.watch_if_missing)


class _Underway(Struct, frozen=True, eq=False):
    """A piece some of whose frames may not have come back."""

    piece: Piece
    decoded: list[Any] = []


class SessionCall:
    """One use of a session by one thread."""

    def __init__(
        self, lifeline: Lifeline, watches: WatchTable, submit: Callable[[Ticket], None]
    ) -> None:
        self._lifeline = lifeline
        self._watches = watches
        self._submit = submit
        self._connection_number = lifeline.await_connection()
        self._in_flight: deque[tuple[_Underway, FrameTicket]] = deque()
        self._arrivals: SimpleQueue[None] = SimpleQueue()
        self._is_lost = False

    def run(self, pieces: Iterator[Piece]) -> Sequence[Answered]:
        """Send everything, and wait for every answer."""
        begun: list[_Underway] = []
        for piece in pieces:
            underway = _Underway(piece)
            begun.append(underway)
            for frame in piece.frames():
                if len(self._in_flight) >= IN_FLIGHT:
                    self._take_oldest()
                self._send(underway, frame)
        while self._in_flight:
            self._take_oldest()
        answers = [answer for each in begun for answer in each.piece.answers(each.decoded)]
        return self._after_loss(answers) if self._is_lost else answers

    def _send(self, underway: _Underway, frame: Frame) -> None:
        ticket = FrameTicket(frame, self._lifeline, self._watches, self._arrivals)
        self._in_flight.append((underway, ticket))
        error = ZkError.CONNECTION_LOSS
        if not self._is_lost:
            error = self._lifeline.admit(ticket, self._connection_number, self._submit)
        if error is not ZkError.OK:
            ticket.settle(FrameReply(error))

    def _take_oldest(self) -> None:
        underway, ticket = self._in_flight.popleft()
        while ticket.reply is None:
            self._arrivals.get()
        self._is_lost |= ticket.reply.error is ZkError.CONNECTION_LOSS
        underway.decoded.append(ticket.frame.decode(ticket.reply))

    def _after_loss(self, answers: Sequence[Answered]) -> Sequence[Answered]:
        """Nobody can do anything about a loss before there is a connection again, or an end."""
        self._lifeline.await_connection()
        if self._lifeline.state is not SessionState.LOST:
            return answers
        return [_EXPIRED if answer == _LOST else answer for answer in answers]
