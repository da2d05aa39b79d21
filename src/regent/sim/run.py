"""One simulated run: a safety phase in which anything may fail, then a liveness phase.

In the first nothing wrong may happen. In the second everything is healed and the cluster must come
to rest within a bound. The outcome says which of the two, if any, was broken.
"""

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from itertools import islice
from typing import Final

from msgspec import Struct

from regent.journal.record import Record
from regent.sim.observer import Observer, Violation
from regent.sim.plan import Plan, Step
from regent.sim.settled import unsettled
from regent.sim.steps import carry_out
from regent.sim.workload import ProducingClient
from regent.sim.world import CoreCrashed, World

#: After healing, how long the cluster may take to come to rest.
LIVENESS_MS: Final = 60_000
LOOK_EVERY_MS: Final = 500


class Verdict(IntEnum):
    """How a run ended; the numbers are exit codes."""

    HELD = 0
    CRASHED = 1
    UNSAFE = 2
    STUCK = 3


class RunOutcome(Struct):
    """What came out of a run."""

    plan: Plan
    verdict: Verdict
    message: str = ""
    checker: str = ""
    event_count: int = 0
    simulated_ms: int = 0
    counts: Counter[str] = Counter()
    records: list[Record] = []


def run(plan: Plan, observers: Sequence[Observer]) -> RunOutcome:
    """Take one world through both phases."""
    world = World(plan, observers)
    verdict, message, checker = Verdict.HELD, "", ""
    try:
        verdict, message = _run_phases(world)
    except CoreCrashed as crash:
        verdict, message, checker = Verdict.CRASHED, str(crash), "crash"
    except Violation as violation:
        verdict, message, checker = Verdict.UNSAFE, violation.message, violation.checker
    if verdict is Verdict.STUCK:
        checker = "Liveness"
    return RunOutcome(
        plan,
        verdict,
        message,
        checker,
        world.schedule.event_count,
        world.schedule.now_ms,
        world.counts,
        world.records,
    )


def _run_phases(world: World) -> tuple[Verdict, str]:
    client = begin(world)
    world.schedule.run_until(world.plan.character.safety_ms)
    _heal(world)
    client.is_running = False
    end_ms = world.schedule.now_ms + LIVENESS_MS
    missing: list[str] = ["nothing was looked at"]
    while missing and world.schedule.now_ms < end_ms:
        world.schedule.run_until(world.schedule.now_ms + LOOK_EVERY_MS)
        missing = list(islice(unsettled(world), 3))
    if missing:
        return Verdict.STUCK, f"after {LIVENESS_MS} ms of peace: " + "; ".join(missing)
    world.at_rest()
    return Verdict.HELD, ""


def begin(world: World) -> ProducingClient:
    """Start everybody, and have all that is planned happen in its time."""
    client = ProducingClient(world)
    for broker_id in world.broker_ids:
        world.start(broker_id)
    for step in world.plan.steps:
        _plan_step(world, step)
    world.schedule.after_ms(2_000, client.start)
    return client


def _plan_step(world: World, step: Step) -> None:
    world.schedule.after_ms(step.at_ms, lambda: carry_out(world, step))


def _heal(world: World) -> None:
    """From now on nothing goes wrong: everybody is up, awake and connected."""
    world.faults_are_on = False
    world.network.heal()
    for broker_id in world.broker_ids:
        world.repair_disk(broker_id)
    for process in list(world.processes.values()):
        process.writes_to_live = 0
        if process.is_paused:
            process.resume()
    for broker_id in world.broker_ids:
        world.start(broker_id)
