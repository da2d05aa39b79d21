"""Calls from process to process over the modelled network.

Exactly one outcome reaches the caller: the answer, or None when the target is not there, the
answer is lost, or time runs out. A request whose caller has given up may still arrive: late, or a
second time beside its repetition. That is what a reconnect does to a real one.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from regent.model.ids import BrokerId
from regent.sim.schedule import US_PER_MS

if TYPE_CHECKING:
    from regent.sim.process import Process
    from regent.sim.world import World

T = TypeVar("T")
Action = Callable[[], None]
Handler = Callable[["Process", Callable[[T], None]], None]


class Caller(Struct, frozen=True):
    """Who waits for an answer: on which host, and how something is run there."""

    host_id: int
    deliver: Callable[[Action], None]


class Wire:
    """Carries calls and their answers."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random

    def call(
        self,
        caller: Caller,
        target_id: BrokerId,
        handle: "Handler[T]",
        on_outcome: Callable[[T | None], None],
        *,
        timeout_ms: int,
    ) -> None:
        """Have `handle` run at the target; its reply, or None, comes back once."""
        world = self._world
        call = _Call(world, caller, target_id, handle, on_outcome)
        if world.chance_late():
            # The connection breaks while the request is in some buffer on the way.
            world.counts["connection_reset"] += 1
            world.schedule.after_us(self._random.randrange(1, 3_000) * US_PER_MS, call.send)
            world.schedule.after_ms(1, call.give_up)
        else:
            call.send()
            world.schedule.after_ms(timeout_ms, call.give_up)


class _Call(Generic[T]):
    """One request on its way, and its answer on the way back."""

    def __init__(
        self,
        world: "World",
        caller: Caller,
        target_id: BrokerId,
        handle: "Handler[T]",
        on_outcome: Callable[[T | None], None],
    ) -> None:
        self._world = world
        self._caller = caller
        self._target_id = target_id
        self._handle = handle
        self._on_outcome = on_outcome
        self._is_open = True

    def send(self) -> None:
        """Put the request on the wire."""
        self._world.network.send(self._caller.host_id, int(self._target_id), self._arrive)

    def give_up(self) -> None:
        """The caller waits no longer."""
        if self._is_open:
            self._caller.deliver(lambda: self._finish(None))

    def _arrive(self) -> None:
        target = self._world.processes.get(self._target_id)
        if target is None:
            # Nobody listens there: the connection is refused at once.
            self._send_back(None)
            return
        if not self._is_open:
            self._world.counts["request_delivered_late"] += 1
        target.deliver(lambda: target.serve(lambda: self._handle(target, self._reply)))

    def _reply(self, answer: T) -> None:
        if self._world.chance_lose_answer():
            self._world.counts["answer_lost_after_applied"] += 1
            self._send_back(None)
        else:
            self._send_back(answer)

    def _send_back(self, outcome: T | None) -> None:
        self._world.network.send(
            int(self._target_id),
            self._caller.host_id,
            lambda: self._caller.deliver(lambda: self._finish(outcome)),
        )

    def _finish(self, outcome: T | None) -> None:
        if self._is_open:
            self._is_open = False
            self._on_outcome(outcome)
