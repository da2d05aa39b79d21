"""`regent snapshot`: the state of a simulated cluster, in a file for `regent what-if`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from regent.cli.printing import stderr
from regent.core.asks import Ask
from regent.dryrun.capture import capture
from regent.dryrun.snapshot import Snapshot, write_snapshot
from regent.errors import BadInput
from regent.sim.observer import Observer
from regent.sim.plan import draw_plan
from regent.sim.run import begin, run
from regent.sim.world import World
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.performer import perform


def snapshot(
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Which simulated cluster.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write it; compressed if it ends in .gz.",
        ),
    ],
    at_ms: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="MS", help="In the midst of its faults; else when it has come to rest."
        ),
    ] = None,
    racks: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Spread the brokers over these racks in turn."),
    ] = None,
) -> None:
    """Write the state of a simulated cluster to a file.

    The seed is that of `regent simulate`. Exit codes: 0 written, 64 the command makes no sense.
    """
    world = _at_rest(seed) if at_ms is None else _in_the_midst(seed, at_ms)
    taken, left_out = _take(world)
    if racks is not None:
        taken = _spread(taken, racks)
    write_snapshot(taken, output)
    console = stderr()
    for each in left_out:
        console.print(f"left out: {each}", style="yellow")
    console.print(
        f"{output}: {len(taken.brokers)} brokers, {len(taken.topics)} topics,"
        f" {taken.partition_count()} partitions"
    )


class _Onlooker(Observer):
    """Keeps the world in which everything has settled."""

    def __init__(self) -> None:
        self.world: World | None = None

    def at_rest(self, world: World) -> None:
        """The end of a run that held."""
        self.world = world


def _at_rest(seed: int) -> World:
    onlooker = _Onlooker()
    outcome = run(draw_plan(seed), [onlooker])
    if onlooker.world is None:
        raise BadInput(
            f"the cluster of seed {seed} never comes to rest: {outcome.message}; choose another"
            " seed, or a moment with --at-ms"
        )
    return onlooker.world


def _in_the_midst(seed: int, at_ms: int) -> World:
    plan = draw_plan(seed)
    last_ms = plan.character.safety_ms
    if at_ms > last_ms:
        raise BadInput(
            f"seed {seed} has faults for {last_ms} ms; choose --at-ms up to that, or leave it out"
        )
    world = World(plan, [])
    begin(world)
    world.schedule.run_until(at_ms)
    return world


def _take(world: World) -> tuple[Snapshot, tuple[str, ...]]:
    session = MemorySession(world.zookeeper.server)

    def answer(ask: Ask[Any]) -> Any:
        return run_exchange(session, perform(ask))

    return capture(answer, at_ms=world.schedule.now_ms, cluster=f"seed-{world.plan.seed}")


def _spread(taken: Snapshot, racks: str) -> Snapshot:
    names = [name.strip() for name in racks.split(",")]
    if not all(names):
        raise BadInput(f"--racks {racks!r} has a rack without a name; write it like a,b,c")
    brokers = tuple(
        replace(broker, rack=names[i % len(names)]) for i, broker in enumerate(taken.brokers)
    )
    return replace(taken, brokers=brokers)
