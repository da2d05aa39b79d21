"""Somebody who asks the simulated cluster's controller for things, and asks again when it moves.

As a real admin client does: find the controller, send the request, and on NOT_CONTROLLER, silence
or a dead connection look for the controller again, a bounded number of times.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from regent.core.events import Event
from regent.model.error_codes import ErrorCode
from regent.sim.process import Process
from regent.sim.workload import AT_THE_CLIENT
from regent.sim.world import World

TRIES_MAX: Final = 10
TRY_AGAIN_MS: Final = 700
TIMEOUT_MS: Final = 3_000

#: Makes the event that a request becomes at a controller: its time and the id of the call.
MakeEvent: TypeAlias = Callable[[int, int], Event]


def ask_controller(world: World, make_event: MakeEvent, *, tries: int = TRIES_MAX) -> None:
    """Have a request handled by whoever is controller; what it answers is counted."""
    active = world.active_controllers()

    def again() -> None:
        if tries > 1:
            world.schedule.after_ms(
                TRY_AGAIN_MS, lambda: ask_controller(world, make_event, tries=tries - 1)
            )

    if not active:
        again()
        return

    def handle(target: Process, reply: Callable[[Any], None]) -> None:
        request_id = world.next_request_id()
        target.callers[request_id] = reply
        target.put(make_event(target.now_ms, request_id))

    def outcome(answer: Any) -> None:
        if answer is None or getattr(answer, "error", None) is ErrorCode.NOT_CONTROLLER:
            again()
        else:
            world.counts["admin_call_answered"] += 1

    world.wire.call(AT_THE_CLIENT, active[-1].broker_id, handle, outcome, timeout_ms=TIMEOUT_MS)
