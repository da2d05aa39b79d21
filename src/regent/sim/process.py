"""One life of a simulated node: the real core, the real broker logic, and a driver for both.

What is real: `Controller`, `EventQueue`, `Channel`, `BrokerCore`, the exchanges with ZooKeeper.
What is modelled: the wire between processes, and that a process can be paused (then everything
that reaches it waits) or die (then nothing does).
"""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from regent.broker.broker_core import BrokerCore
from regent.core.asks import (
    Ask,
    DrawNumbers,
    MintTopicIds,
    ReadLeaderships,
    WriteFailure,
    WriteLeaderships,
)
from regent.core.channel import Channel
from regent.core.config import ControllerConfig
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
from regent.core.event_queue import EventQueue
from regent.core.events import (
    ControlledShutdownRequested,
    SessionExpired,
    SessionStarted,
    TimerRang,
)
from regent.errors import ControllerMoved, RegentError
from regent.journal.record import FactBatch
from regent.model.admin_requests import ControlledShutdown, ControlledShutdownAnswer
from regent.model.facts import Fact
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerId
from regent.sim.broker_shell import BrokerShell
from regent.sim.channels import ControllerChannels
from regent.sim.observer import Violation
from regent.sim.wire import Caller
from regent.sim.zookeeper_link import ZooKeeperLink
from regent.zookeeper import paths
from regent.zookeeper.performer import perform
from regent.zookeeper.registration import announce_log_dir_failure, register_broker
from regent.zookeeper.store import Request
from regent.zookeeper.watches import event_for
from regent.zookeeper.writes import ensure_paths

if TYPE_CHECKING:
    from regent.sim.world import World

#: Before trying to register again when an earlier life's registration is still there.
REGISTER_AGAIN_MS = 200
#: How often a broker asks to be relieved before it stops anyway, and how long it waits each time.
SHUTDOWN_TRIES = 3
SHUTDOWN_AGAIN_MS = 500
SHUTDOWN_TIMEOUT_MS = 3_000


class Process:
    """A running node. When it dies, all it knew is gone; its disk is not."""

    def __init__(self, world: "World", broker_id: BrokerId, life: int) -> None:
        self.world = world
        self.broker_id = broker_id
        self.host_id = int(broker_id)
        self.life = life
        self.as_caller = Caller(self.host_id, self.deliver)
        self.is_alive = True
        self.is_paused = False
        self._backlog: list[Callable[[], None]] = []
        self._waiting_for_service: list[Callable[[], None]] = []
        self.controller = Controller(broker_id, ControllerConfig())
        self.queue = EventQueue()
        self.shell = BrokerShell(self)
        self.channels = ControllerChannels(self)
        self.link = ZooKeeperLink(self, world.zookeeper, world.network, world.schedule)
        #: Those waiting for an answer of the controller, by request id.
        self.callers: dict[int, Callable[[Any], None]] = {}
        self._procedure: Generator[Any, Any, None] | None = None
        self._cause = ""
        self._sequence = 0
        #: Timers that may still ring, by name, with the number of their last setting.
        self._timers: dict[str, int] = {}
        self._timer_count = 0
        #: Die after so many more writes to ZooKeeper; 0: no such plan.
        self.writes_to_live = 0

    @property
    def broker(self) -> BrokerCore:
        """The broker logic of this life."""
        return self.shell.core

    @property
    def now_ms(self) -> int:
        """The time as this node's clock on the wall shows it."""
        return self.world.schedule.now_ms + self.world.skew_ms.get(self.broker_id, 0)

    @property
    def monotonic_ms(self) -> int:
        """The clock that nobody can set, which brokers measure durations with."""
        return self.world.schedule.now_ms

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be decided or told."""
        return self._procedure is None and not len(self.queue) and self.channels.is_empty

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Connect; everything else follows from the session."""
        self.link.start()

    def deliver(self, action: Callable[[], None]) -> None:
        """Run something in this process: now, when it is resumed, or never."""
        if not self.is_alive:
            return
        if self.is_paused:
            self._backlog.append(action)
        else:
            action()

    def after_ms(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Run something in this process later."""
        self.world.schedule.after_ms(delay_ms, lambda: self.deliver(action))

    def resume(self) -> None:
        """Go on after a pause: everything that came meanwhile is handled, in order."""
        self.is_paused = False
        backlog, self._backlog = self._backlog, []
        for action in backlog:
            self.deliver(action)

    def serve(self, action: Callable[[], None]) -> None:
        """Handle a request. Until a broker knows which life it is in, its socket is not read."""
        if self.broker.broker_epoch == BROKER_EPOCH_UNKNOWN:
            self._waiting_for_service.append(action)
        else:
            action()

    def shut_down(self, on_stopped: Callable[[], None], *, tries: int = SHUTDOWN_TRIES) -> None:
        """Ask the controller to move our leaderships away, a few times, then go anyway."""
        controller_id = self.broker.metadata.controller_id
        request = ControlledShutdown(self.broker_id, self.broker.broker_epoch)

        def stop() -> None:
            session_id = self.link.session_id
            self.world.kill(self.broker_id)
            if session_id is not None:
                self.world.zookeeper.close_session(session_id)
            on_stopped()

        def outcome(answer: ControlledShutdownAnswer | None) -> None:
            if answer is not None and answer == ControlledShutdownAnswer():
                self.world.counts["shutdown_controlled"] += 1
                stop()
            elif tries <= 1:
                stop()
            else:
                again = lambda: self.shut_down(on_stopped, tries=tries - 1)  # noqa: E731
                self.after_ms(SHUTDOWN_AGAIN_MS, again)

        def handle(target: Process, reply: Callable[[Any], None]) -> None:
            request_id = target.world.next_request_id()
            target.callers[request_id] = reply
            target.put(ControlledShutdownRequested(target.now_ms, request_id, request))

        if controller_id is None:
            outcome(None)
        else:
            self.world.wire.call(
                self.as_caller, controller_id, handle, outcome, timeout_ms=SHUTDOWN_TIMEOUT_MS
            )

    def announce_failed_disk(self) -> None:
        """Tell the controller that a log directory failed, in this session or the next."""
        self.link.run(
            announce_log_dir_failure(self.broker_id),
            lambda _name: None,
            lambda _failure: self.after_ms(REGISTER_AGAIN_MS, self.announce_failed_disk),
        )

    # --- session ------------------------------------------------------------------------------

    def on_session(self, session_id: int, previous_session_id: int | None) -> None:
        """Register the broker, then stand for election (E4)."""

        def registered(broker_epoch: Any) -> None:
            self.broker.registered(broker_epoch)
            self.put(SessionStarted(self.now_ms))
            waiting, self._waiting_for_service = self._waiting_for_service, []
            for action in waiting:
                action()

        def not_registered(_failure: RegentError) -> None:
            # An earlier life's registration has not expired yet: try until it has.
            self.after_ms(REGISTER_AGAIN_MS, register)

        def register() -> None:
            if self.link.session_id != session_id:
                return
            exchange = register_broker(
                self.world.registration_of(self.broker_id),
                session_id=session_id,
                previous_session_id=previous_session_id,
                now_ms=self.now_ms,
            )
            self.link.run(exchange, registered, not_registered)

        self.link.run(ensure_paths(), lambda _done: register(), not_registered)

    def on_session_expired(self) -> None:
        """What waited was for the old session; whoever waits for an answer is told."""
        self.world.counts["session_expired"] += 1
        for reply in self.queue.preempt():
            self._perform_effect(reply)
        self.put(SessionExpired(self.now_ms))

    def on_watch(self, path: str) -> None:
        """Look again at what changed."""
        event = event_for(path, self.now_ms)
        if event is not None:
            self.put(event)

    def break_point(self, requests: Sequence[Request]) -> int | None:
        """Whether, and where, this batch meets a broken connection."""
        return self.world.draw_break_point(requests)

    def on_applied(self, requests: Sequence[Request]) -> bool:
        """Die here if the plan says so."""
        return self.world.dies_after(self, requests)

    # --- the controller -----------------------------------------------------------------------

    def put(self, event: Any) -> None:
        """Queue an event, and handle it when nothing else is being handled."""
        self.queue.put(event)
        if self._procedure is None:
            self._next_event()

    def _next_event(self) -> None:
        while self._procedure is None and self.is_alive:
            queued = self.queue.take(self.now_ms)
            if queued is None:
                return
            self._cause = queued.cause
            self._procedure = self.controller.handle(queued.event)
            self._step(None)
            if isinstance(queued.event, SessionExpired):
                # Only now: a procedure that was under way must not go on in the next session.
                self.link.open_next_session()

    def _answered(self, answer: Any) -> None:
        self._step(answer)
        self._next_event()

    def _failed(self, failure: RegentError) -> None:
        if isinstance(failure, ControllerMoved):
            self.world.counts["zombie_write_fenced"] += 1
        self._step(None, failure)
        self._next_event()

    def _step(self, answer: Any, failure: RegentError | None = None) -> None:
        """Go on with the procedure until it needs an answer from ZooKeeper, or ends."""
        procedure = self._procedure
        assert procedure is not None, "something is being handled"
        try:
            item = procedure.send(answer) if failure is None else procedure.throw(failure)
            while True:
                if not isinstance(item, Ask):
                    self._perform_effect(item)
                    item = procedure.send(None)
                elif isinstance(item, MintTopicIds):
                    item = procedure.send(self.world.mint_topic_ids(item.count))
                elif isinstance(item, DrawNumbers):
                    item = procedure.send(self.world.draw_numbers(item.below, item.count))
                else:
                    self._ask(item)
                    return
        except StopIteration:
            self._procedure = None
            self.world.event_handled(self)
        except Violation:
            raise
        except Exception as error:  # noqa: BLE001 - the one place: what nobody foresaw ends the run
            self.world.crashed(self, self._cause, error)

    def _ask(self, request: Ask[Any]) -> None:
        def done(answer: Any) -> None:
            if isinstance(request, WriteLeaderships):
                self.world.counts["cas_conflict"] += sum(
                    1 for each in answer if each is WriteFailure.CONFLICT
                )
            stall_ms = self.world.draw_stall_ms(has_read=isinstance(request, ReadLeaderships))
            if stall_ms:
                self.after_ms(stall_ms, lambda: self._answered(answer))
            else:
                self._answered(answer)

        self.link.run(perform(request), done, self._failed)

    def _perform_effect(self, effect: Effect) -> None:  # noqa: C901 - one case for each effect
        match effect:
            case Journal(facts=facts):
                self._record(facts)
            case Send(broker_id=broker_id, request=request):
                self.channels.put(broker_id, request)
            case Reply(request_id=request_id, answer=answer):
                caller = self.callers.pop(request_id, None)
                if caller is not None:
                    caller(answer)
            case OpenChannel(broker=broker, broker_epoch=broker_epoch):
                self.channels.open(Channel(broker.broker_id, broker_epoch))
            case CloseChannel(broker_id=broker_id):
                self.channels.close(broker_id)
            case CloseAllChannels():
                self.channels.close_all()
            case SetTimer(name=name, after_ms=after_ms):
                self._set_timer(name, after_ms)
            case CancelTimers():
                self._timers.clear()
            case DropWatches():
                self.link.drop_watches(keep=paths.CONTROLLER)

    def _set_timer(self, name: str, after_ms: int) -> None:
        self._timer_count += 1
        number = self._timers[name] = self._timer_count

        def ring() -> None:
            if self._timers.get(name) == number:
                del self._timers[name]
                self.put(TimerRang(self.now_ms, name))

        self.after_ms(after_ms, ring)

    def _record(self, facts: Sequence[Fact]) -> None:
        state = self.controller.state
        batch = FactBatch(
            self._sequence + 1,
            self.now_ms,
            self.broker_id,
            state.controller_epoch,
            self._cause,
            facts,
        )
        self._sequence += len(batch)
        for record in batch.records():
            self.world.recorded(self, record)
