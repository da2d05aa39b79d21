"""What waits for the controller thread. Any thread may put something in; one takes it out.

Events keep their order; readings of the state take turns with them. The end of the session goes
before everything: what waited for the old session is void, and whoever waits for an answer is
told so.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from regent.core.effects import Reply
from regent.core.event_queue import EventQueue, Queued, refusal
from regent.core.events import Event, TimerRang
from regent.runtime.timers import Timers

Reading: TypeAlias = Callable[[], None]


class SessionEnded(Struct, frozen=True):
    """The session is over, and with it all that was queued."""


class Stop(Struct, frozen=True):
    """The node shall give up what it has and end."""


Work: TypeAlias = Queued | Reading | SessionEnded | Stop


def now_ms() -> int:
    """The time on the wall."""
    return time.time_ns() // 1_000_000


class Inbox:
    """The one queue of a node's controller (E8), with its timers."""

    def __init__(self) -> None:
        self.events = EventQueue()
        self._readings: deque[Reading] = deque()
        self._timers = Timers()
        #: Whether the last thing taken was a reading: then it is an event's turn, so that however
        #: many want to read, decisions are made.
        self._has_read = False
        self._session_number = 0
        self._has_ended = False
        self._shall_stop = False
        self._news = threading.Condition()

    # --- from any thread --------------------------------------------------------------------------

    def put(self, event: Event) -> Reply | None:
        """Queue an event. When the node is stopping, what its caller hears instead."""
        with self._news:
            if self.events.is_closed:
                return refusal(event)
            self.events.put(event)
            self._news.notify()
            return None

    def read(self, reading: Reading) -> None:
        """Have something read between two events."""
        with self._news:
            self._readings.append(reading)
            self._news.notify()

    def end_session(self, session_number: int) -> None:
        """Say that a session is over; one that was over before is no news."""
        with self._news:
            self._has_ended |= session_number == self._session_number
            self._news.notify()

    def stop(self) -> None:
        """Say that the node shall end."""
        with self._news:
            self._shall_stop = True
            self._news.notify()

    @property
    def is_stopping(self) -> bool:
        """Whether somebody has said so."""
        return self._shall_stop

    # --- from the controller thread ---------------------------------------------------------------

    def take(self) -> Work:
        """The next thing to do; waits until there is one."""
        with self._news:
            while True:
                work = self._next()
                if work is not None:
                    return work
                rings_at_s = self._timers.next_at_s()
                self._news.wait(
                    None if rings_at_s is None else max(0.0, rings_at_s - time.monotonic())
                )

    def _next(self) -> Work | None:
        if self._has_ended:
            self._has_ended = False
            return SessionEnded()
        if self._readings and not (self._has_read and len(self.events)):
            self._has_read = True
            return self._readings.popleft()
        self._has_read = False
        if self._shall_stop:
            return Stop()
        for name in self._timers.take_due(time.monotonic()):
            self.events.put(TimerRang(now_ms(), name))
        return self.events.take(now_ms())

    def void(self) -> Iterator[Reply]:
        """Empty the queue of events; what waiting callers hear."""
        with self._news:
            replies = list(self.events.preempt())
        yield from replies

    def close(self) -> Iterator[Reply]:
        """Take no more events; what waiting callers hear. Readings are still made."""
        with self._news:
            replies = list(self.events.close())
        yield from replies

    def begin_session(self) -> int:
        """A new session begins; the number by which its end will be known."""
        with self._news:
            self._session_number += 1
            self._has_ended = False
            return self._session_number

    def pause(self, seconds: float) -> None:
        """Handle no event for a while, unless the node is to end. Readings are made."""
        ends_at_s = time.monotonic() + seconds
        while True:
            with self._news:
                self._news.wait_for(
                    lambda: self._shall_stop or self._readings, ends_at_s - time.monotonic()
                )
                if self._shall_stop or not self._readings:
                    return
                reading = self._readings.popleft()
            reading()

    def set_timer(self, name: str, after_ms: int) -> None:
        """Have a `TimerRang` of this name after a while."""
        self._timers.set(name, time.monotonic() + after_ms / 1000)

    def cancel_timers(self) -> None:
        """No timer rings any more."""
        self._timers.cancel_all()
