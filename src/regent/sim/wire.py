"""Calls from process to process over the modelled network.

Exactly one outcome reaches the caller: the answer, or None when the target is not there, the
answer is lost, or time runs out. A request whose caller has given up may still arrive: late, or a
second time beside its repetition. That is what a reconnect does to a real one.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, TypeVar

from regent.model.ids import BrokerId
from regent.sim.schedule import US_PER_MS

if TYPE_CHECKING:
    from regent.sim.process import Process
    from regent.sim.world import World

T = TypeVar("T")
Handler = Callable[["Process", Callable[[T], None]], None]


class Wire:
    """Carries calls and their answers."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random

    def call(
        self,
        caller: "Process",
        target_id: BrokerId,
        handle: "Handler[T]",
        on_outcome: Callable[[T | None], None],
        *,
        timeout_ms: int,
    ) -> None:
        """Have `handle` run at the target; its reply, or None, comes back once."""
        self._call(caller.host_id, caller.deliver, target_id, handle, on_outcome, timeout_ms)

    def call_from_outside(
        self,
        host_id: int,
        target_id: BrokerId,
        handle: "Handler[T]",
        on_outcome: Callable[[T | None], None],
        *,
        timeout_ms: int,
    ) -> None:
        """The same for a client, which is always up."""
        self._call(host_id, _now, target_id, handle, on_outcome, timeout_ms)

    def _call(
        self,
        source: int,
        deliver: Callable[[Callable[[], None]], None],
        target_id: BrokerId,
        handle: "Handler[T]",
        on_outcome: Callable[[T | None], None],
        timeout_ms: int,
    ) -> None:
        world = self._world
        is_open = True

        def finish(outcome: T | None) -> None:
            nonlocal is_open
            if is_open:
                is_open = False
                on_outcome(outcome)

        def reply(answer: T) -> None:
            if world.chance_lose_answer():
                world.counts["answer_lost_after_applied"] += 1
                world.network.send(int(target_id), source, lambda: deliver(lambda: finish(None)))
                return
            world.network.send(int(target_id), source, lambda: deliver(lambda: finish(answer)))

        def arrive() -> None:
            target = world.processes.get(target_id)
            if target is None:
                # Nobody listens there: the connection is refused at once.
                world.network.send(int(target_id), source, lambda: deliver(lambda: finish(None)))
                return
            if not is_open:
                world.counts["request_delivered_late"] += 1
            target.deliver(lambda: target.serve(lambda: handle(target, reply)))

        if world.chance_late():
            # The connection breaks while the request is in some buffer on the way.
            world.counts["connection_reset"] += 1
            late_us = self._random.randrange(1, 3_000) * US_PER_MS
            world.schedule.after_us(
                late_us, lambda: world.network.send(source, int(target_id), arrive)
            )
            world.schedule.after_ms(1, lambda: deliver(lambda: finish(None)))
            return
        world.network.send(source, int(target_id), arrive)

        def expire() -> None:
            if is_open:
                deliver(lambda: finish(None))

        world.schedule.after_ms(timeout_ms, expire)


def _now(action: Callable[[], None]) -> None:
    action()
