"""`regent controller`: a controller for any brokers, over real ZooKeeper and real sockets.

What runs it is imported when it runs: `regent --help` need not wait for Kafka's whole protocol.
"""

import logging
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from regent.cli.node_options import ListenOption, MemberOptions, needed, to_node_options
from regent.cli.printing import stderr
from regent.cli.shared_options import taking
from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    onlooking,
    to_zookeeper_options,
)
from regent.runtime.properties import NodeSettings, read_properties
from regent.zookeeper.exchange import Correspondent, run
from regent.zookeeper.hand_over import Holder, free_controller, read_holder

COMMAND: Final = "controller"
#: How long `resign` waits for somebody to take the role.
SUCCESSOR_S: Final = 10.0
LOOK_EVERY_S: Final = 0.02
HAND_OVER_TRIES: Final = 5
EXIT_NOT_DONE: Final = 1

app = typer.Typer(name=COMMAND, invoke_without_command=True, no_args_is_help=False)


@app.callback()
@taking(MemberOptions)
def controller(  # noqa: PLR0913 - a list of options
    member: MemberOptions,
    context: typer.Context,
    node_id: Annotated[
        int | None,
        typer.Option("--id", min=0, metavar="N", help="Required. Its id; none that a broker has."),
    ] = None,
    listen: ListenOption = "127.0.0.1:9093",
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings under Kafka's names, as in server.properties."),
    ] = None,
    *,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over", help="At its start, depose whoever is the controller, Apache's included."
        ),
    ] = False,
) -> None:
    """Run a controller. Several may run: one leads, the others stand by.

    It leads any brokers that are registered in that ZooKeeper, Apache's included; --zookeeper,
    --id and --journal are required. SIGTERM hands the role over at once. Exit codes: 0 stopped,
    64 the command makes no sense.
    """
    if context.invoked_subcommand is not None:
        return
    from regent.cli.node_process import (  # noqa: PLC0415
        run_guarded,
        run_until_told,
        set_up_logging,
    )
    from regent.runtime.event_loop import run  # noqa: PLC0415
    from regent.runtime.guardian import Ward  # noqa: PLC0415
    from regent.runtime.node import ControllerNode  # noqa: PLC0415

    settings = NodeSettings() if config is None else read_properties(config)
    options = to_node_options(
        COMMAND, member, node_id=node_id, listen=listen, settings=settings, takes_over=take_over
    )
    set_up_logging()
    if settings.unused:
        logging.getLogger("regent").info(
            "%s has names that mean nothing to a controller: %s", config, ", ".join(settings.unused)
        )
    if member.guard:
        raise typer.Exit(run_guarded(sys.argv[1:], options.zookeeper))

    async def run_node() -> None:
        node = ControllerNode(options, Ward.from_environment())
        await run_until_told(node, "controller", options, f"journal in {options.journal}")

    run(run_node())


@app.command()
def resign(
    zookeeper: ZooKeeperOption = None,
    ca_file: CaOption = None,
    certificate_file: CertificateOption = None,
    key_file: KeyOption = None,
) -> None:
    """Make whoever is the controller give the role up, Regent's or Apache's, and say who took it.

    Exit codes: 0 somebody else has it, 1 nobody else took it, 64 the command makes no sense.
    """
    options = to_zookeeper_options(
        needed(zookeeper, "--zookeeper HOST:PORT", "controller resign"),
        ca_file=ca_file,
        certificate_file=certificate_file,
        key_file=key_file,
    )
    console = stderr()
    with onlooking(options) as session:
        before = run(session, read_holder())
        if before is None:
            console.print("nobody is the controller at the moment")
            raise typer.Exit(EXIT_NOT_DONE)
        after = _hand_over(session, before)
    if after is None:
        console.print(f"{before.node_id} gave the role up, and nobody has taken it yet")
        raise typer.Exit(EXIT_NOT_DONE)
    if after.node_id == before.node_id:
        console.print(
            f"{before.node_id} took the role again each time: nobody else stands for election"
        )
        raise typer.Exit(EXIT_NOT_DONE)
    print(
        f"{before.node_id} gave the role up; {after.node_id} is the controller now,"
        f" in epoch {after.controller_epoch}"
    )


def _hand_over(session: Correspondent, before: Holder) -> Holder | None:
    """Free the role until somebody else has it. The one that had it stands again too."""
    after: Holder | None = before
    deadline_s = time.monotonic() + SUCCESSOR_S
    for _ in range(HAND_OVER_TRIES):
        if after is not None:
            run(session, free_controller(after))
        after = _wait_for_successor(session, after, deadline_s)
        if after is not None and after.node_id != before.node_id:
            return after
    return after


def _wait_for_successor(
    session: Correspondent, before: Holder | None, deadline_s: float
) -> Holder | None:
    while time.monotonic() < deadline_s:
        holder = run(session, read_holder())
        if holder is not None and holder != before:
            return holder
        time.sleep(LOOK_EVERY_S)
    return None
