"""The controller thread: runs the core's procedures, one event at a time, on real ZooKeeper.

It decides nothing. It opens a session, puts the events in, carries out asks and effects in their
order, and when a session has ended it lets the core resign before it opens the next one: a
procedure that was under way must not go on in a session that is not its own.
"""

import gc
import logging
import threading
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from random import SystemRandom
from typing import Any, Final, Protocol

from regent.core.asks import Ask, DrawNumbers, MintTopicIds, Procedure
from regent.core.controller import Controller
from regent.core.effects import (
    CancelTimers,
    CloseAllChannels,
    CloseChannel,
    DropWatches,
    Effect,
    Journal,
    OpenChannel,
    Reply,
    Send,
    SetTimer,
)
from regent.core.event_queue import Queued, refusal
from regent.core.events import (
    ControllerChanged,
    Event,
    ResignRequested,
    SessionExpired,
    SessionStarted,
)
from regent.errors import BadInput, ControllerMoved, RegentError, SessionLost
from regent.journal.record import FactBatch
from regent.model.brokers import Broker
from regent.model.control_requests import ControlRequest
from regent.model.facts import Fact
from regent.model.ids import BrokerEpoch, BrokerId
from regent.runtime.event_times import EventTimes
from regent.runtime.inbox import Inbox, SessionEnded, Stop, now_ms
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.performer import perform
from regent.zookeeper.store import (
    Answered,
    Exists,
    GetChildren,
    GetData,
    Request,
    Session,
    WatchEvent,
)
from regent.zookeeper.watches import event_for

#: Waits before trying again after a failure, in seconds; the last one is repeated.
BACKOFF_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)

logger = logging.getLogger(__name__)


class Channels(Protocol):
    """What the driver needs of the channels to the brokers; it never waits for them."""

    def open(self, broker: Broker, broker_epoch: BrokerEpoch) -> None:
        """A broker, or a new life of it, can be told things."""

    def close(self, broker_id: BrokerId) -> None:
        """Drop what is still queued for a broker."""

    def close_all(self) -> None:
        """The reign is over."""

    def send(self, broker_id: BrokerId, request: ControlRequest) -> None:
        """Queue a request behind all others for this broker."""


class FactSink(Protocol):
    """Where facts go on their way to the journal, without delay."""

    def append(self, batch: FactBatch) -> None:
        """Take what is to be recorded, in order."""

    def held(self) -> AbstractContextManager[None]:
        """A time in which nothing need be done about it that takes the processor."""


#: Opens a session: who hears of its watches, and who hears that it has ended.
OpenSession = Callable[[Callable[[WatchEvent], None], Callable[[], None]], Session]


class ControllerDriver:
    """One node's controller, from its first session to its last."""

    def __init__(  # noqa: PLR0913 - it stands between all of these
        self,
        controller: Controller,
        inbox: Inbox,
        *,
        open_session: OpenSession,
        register: Callable[[int], Exchange[Any]],
        channels: Channels,
        journal: FactSink,
        reply: Callable[[Reply], None],
    ) -> None:
        self.controller = controller
        self.times = EventTimes()
        self._inbox = inbox
        self._open_session = open_session
        self._register = register
        self._channels = channels
        self._journal = journal
        self._reply = reply
        self._session: Session | None = None
        self._end_session: Callable[[], None] = lambda: None
        self._cause = ""
        self._sequence = 0
        self._chance = SystemRandom()
        #: Unforeseen failures in a row, for the back-off.
        self._failures = 0
        #: Paths that somebody here wants to hear of.
        self._watched: dict[str, None] = {}
        self._watched_lock = threading.Lock()

    @property
    def session(self) -> Session | None:
        """The session of now, for exchanges beside the controller's own."""
        return self._session

    # --- sessions ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Until told to stop: hold a session, serve it to its end, open the next."""
        tries = 0
        has_served = False
        while not self._inbox.is_stopping:
            try:
                session = self._connect()
            except RegentError as error:
                # What a person got wrong is said at the start. What worked before may work again.
                if isinstance(error, BadInput) and not has_served:
                    raise
                if not self._inbox.is_stopping:
                    delay_s = BACKOFF_S[min(tries, len(BACKOFF_S) - 1)]
                    tries += 1
                    logger.warning("%s; trying again in %g s", error, delay_s)
                    self._inbox.pause(delay_s)
                continue
            tries = 0
            has_served = True
            self._serve(session)
        for reply in self._inbox.close():
            self._reply(reply)

    def _connect(self) -> Session:
        self._end_session = partial(self._inbox.end_session, self._inbox.begin_session())
        session = self._open_session(self._on_watch, self._end_session)
        try:
            run(session, self._register(session.session_id))
        except RegentError:
            session.close()
            raise
        return session

    def _serve(self, session: Session) -> None:
        """Handle what comes until the session ends, or the node does."""
        self._session = session
        try:
            self._handle(self._numbered(SessionStarted(now_ms())))
            while True:
                work = self._inbox.take()
                if isinstance(work, SessionEnded):
                    break
                if isinstance(work, Stop):
                    self._handle(self._numbered(ResignRequested(now_ms())))
                    break
                if isinstance(work, Queued):
                    self._handle(work)
                else:
                    work()
        finally:
            self._expire()
            session.close()

    def _expire(self) -> None:
        """Give up all that belonged to the session, before there can be another."""
        for reply in self._inbox.void():
            self._reply(reply)
        self._handle(self._numbered(SessionExpired(now_ms())))
        self._session = None
        self._drop_watches(keep=())

    def _numbered(self, event: Event) -> Queued:
        """An event of the driver's own, which goes before all that waits."""
        return self._inbox.events.number(event)

    # --- events -----------------------------------------------------------------------------------

    def _handle(self, queued: Queued) -> None:
        """Run one event from beginning to end."""
        self._cause = queued.cause
        try:
            with self.times.handling(queued.event), self._journal.held(), _no_collection():
                self._drive(self.controller.handle(queued.event))
        except RegentError as error:
            # ZooKeeper refuses what nobody can do without: the sentence says all there is.
            logger.error("%s failed, giving the role up: %s", self._cause, error)  # noqa: TRY400
            self._give_up(queued.event, str(error))
        except Exception as error:
            logger.exception("%s was not foreseen; giving the role up", self._cause)
            self._give_up(queued.event, f"{type(error).__name__}: {error}")
        else:
            # That somebody else is in office does not mean that we would do better next time.
            if self.controller.state.is_active:
                self._failures = 0

    def _give_up(self, event: Event, failure: str) -> None:
        """Let another controller start clean, and do not come back at once with the same."""
        try:
            self._drive(self.controller.give_up(failure))
        except Exception:
            logger.exception("could not resign in order; ending the session instead")
            self._end_session()
        self._refuse(event)
        self._inbox.pause(BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)])
        self._failures += 1
        # Nobody else may be there to change anything: look again whether the role is free.
        self._inbox.put(ControllerChanged(now_ms()))

    def _refuse(self, event: Event) -> None:
        """Whoever waits for this event, or behind it, looks for another controller."""
        refused = refusal(event)
        if refused is not None:
            self._reply(refused)
        for reply in self._inbox.void():
            self._reply(reply)

    def _drive(self, procedure: Procedure[None]) -> None:
        """Carry out what a procedure wants until it ends."""
        answer: Any = None
        failure: RegentError | None = None
        try:
            while True:
                item = procedure.send(answer) if failure is None else procedure.throw(failure)
                answer, failure = None, None
                if isinstance(item, Ask):
                    try:
                        answer = self._answer(item)
                    except (SessionLost, ControllerMoved) as error:
                        failure = error
                else:
                    self._perform(item)
        except StopIteration:
            return

    def _answer(self, ask: Ask[Any]) -> Any:
        if isinstance(ask, MintTopicIds):
            return tuple(mint_uuid() for _ in range(ask.count))
        if isinstance(ask, DrawNumbers):
            return tuple(self._chance.randrange(ask.below) for _ in range(ask.count))
        try:
            return run(self, perform(ask))
        except SessionLost:
            # It may only have been too bad to be used; now it must end.
            self._end_session()
            raise

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Send requests in the session of now, and remember what they watch."""
        session = self._session
        assert session is not None, "events are handled in a session"
        with self._watched_lock:
            for request in requests:
                if isinstance(request, GetData | Exists | GetChildren) and request.watch:
                    self._watched[request.path] = None
        return session.call(requests)

    def _on_watch(self, fired: WatchEvent) -> None:
        with self._watched_lock:
            is_wanted = fired.path in self._watched
        event = event_for(fired.path, now_ms()) if is_wanted else None
        if event is not None:
            self._inbox.put(event)

    def _drop_watches(self, *, keep: Iterable[str]) -> None:
        with self._watched_lock:
            self._watched = {path: None for path in keep if path in self._watched}

    # --- effects ----------------------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Journal(facts=facts):
                self._record(facts)
            case Send(broker_id=broker_id, request=request):
                self._channels.send(broker_id, request)
            case Reply():
                self._reply(effect)
            case OpenChannel(broker=broker, broker_epoch=broker_epoch):
                self._channels.open(broker, broker_epoch)
            case CloseChannel(broker_id=broker_id):
                self._channels.close(broker_id)
            case CloseAllChannels():
                self._channels.close_all()
            case SetTimer(name=name, after_ms=after_ms):
                self._inbox.set_timer(name, after_ms)
            case CancelTimers():
                self._inbox.cancel_timers()
            case DropWatches():
                self._drop_watches(keep=(paths.CONTROLLER,))

    def _record(self, facts: Sequence[Fact]) -> None:
        state = self.controller.state
        self._journal.append(
            FactBatch(
                self._sequence + 1,
                now_ms(),
                state.controller_id,
                state.controller_epoch,
                self._cause,
                facts,
            )
        )
        self._sequence += len(facts)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Look for garbage between two decisions, and not in the midst of one.

    Values of a hundred thousand partitions come into being in one event, and hardly any is
    garbage: looking for it again and again costs a sixth of a failover. It would be harmless
    to leave it off for long; nearly all that is dropped has no cycles.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def mint_uuid() -> str:
    """A fresh id of a topic or a cluster, in the form that Kafka writes them."""
    while True:
        minted = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        # Kafka's command-line tools take a leading dash for an option.
        if not minted.startswith("-"):
            return minted
