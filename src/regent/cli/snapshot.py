"""`regent snapshot`: the state of a live or a simulated cluster, in a file."""

from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from regent.cli.live_cluster import take_snapshot
from regent.cli.printing import stderr
from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    onlooking,
    to_zookeeper_options,
)
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


def snapshot(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write it; compressed if it ends in .gz.",
        ),
    ],
    zookeeper: ZooKeeperOption = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What a live cluster is called, if not by its id."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="A simulated cluster instead.")
    ] = None,
    at_ms: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="MS", help="With --seed: in the midst of its faults, not at rest."
        ),
    ] = None,
    racks: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Spread the brokers over these racks in turn."),
    ] = None,
    ca_file: CaOption = None,
    certificate_file: CertificateOption = None,
    key_file: KeyOption = None,
) -> None:
    """Write the state of a cluster to a file, for `regent what-if`, `regent plan` and the pipeline.

    A live one is read from its ZooKeeper and not touched; the seed of a simulated one is that of
    `regent simulate`. Exit codes: 0 written, 64 the command makes no sense.
    """
    if seed is not None and zookeeper is not None:
        raise BadInput("--seed is a simulated cluster and --zookeeper a live one: give one of them")
    if zookeeper is not None:
        options = to_zookeeper_options(
            zookeeper, ca_file=ca_file, certificate_file=certificate_file, key_file=key_file
        )
        with onlooking(options) as session:
            taken, left_out = take_snapshot(session, cluster)
    elif seed is None:
        raise BadInput("say which cluster: --zookeeper HOST:PORT, or --seed N for a simulated one")
    else:
        taken, left_out = _take_simulated(seed, at_ms)
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


def _take_simulated(seed: int, at_ms: int | None) -> tuple[Snapshot, tuple[str, ...]]:
    world = _at_rest(seed) if at_ms is None else _in_the_midst(seed, at_ms)
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
