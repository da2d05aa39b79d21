"""`regent controller`: a controller for any brokers, over real ZooKeeper and real sockets.

What runs it is imported when it runs: `regent --help` need not wait for Kafka's whole protocol.
"""

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from regent.cli.printing import stderr
from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    onlooking,
    to_zookeeper_options,
)
from regent.errors import BadInput
from regent.model.ids import BrokerId
from regent.runtime.properties import NodeSettings, read_properties
from regent.zookeeper.exchange import Correspondent, run
from regent.zookeeper.hand_over import Holder, free_controller, read_holder
from regent.zookeeper.options import ZooKeeperOptions

if TYPE_CHECKING:
    from regent.runtime.node_options import NodeOptions

#: How long `resign` waits for somebody to take the role.
SUCCESSOR_S: Final = 10.0
LOOK_EVERY_S: Final = 0.02
HAND_OVER_TRIES: Final = 5
PORT_MAX: Final = 65_535
#: What stands for all addresses of a machine when one listens.
EVERY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 - they are refused
EXIT_NOT_DONE: Final = 1

T = TypeVar("T")

app = typer.Typer(name="controller", invoke_without_command=True, no_args_is_help=False)


@app.callback()
def controller(  # noqa: PLR0913, PLR0917 - a list of options
    context: typer.Context,
    node_id: Annotated[
        int | None,
        typer.Option("--id", min=0, metavar="N", help="Required. Its id; none that a broker has."),
    ] = None,
    zookeeper: ZooKeeperOption = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where it listens; port 0 is any free one.")
    ] = "127.0.0.1:9093",
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Where others reach it, if not at the host of --listen."),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Required. Where every decision is written down."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings under Kafka's names, as in server.properties."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve /metrics and /healthz over HTTP here."),
    ] = None,
    session_timeout_ms: Annotated[
        int | None,
        typer.Option(min=1, metavar="MS", help="How long ZooKeeper waits for a silent node."),
    ] = None,
    guard: Annotated[
        bool,
        typer.Option(
            "--guard", help="Run it as a child, whose role is free at once when it is killed."
        ),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over", help="At its start, depose whoever is the controller, Apache's included."
        ),
    ] = False,
    ca_file: CaOption = None,
    certificate_file: CertificateOption = None,
    key_file: KeyOption = None,
) -> None:
    """Run a controller. Several may run: one leads, the others stand by.

    It leads any brokers that are registered in that ZooKeeper, Apache's included; --zookeeper,
    --id and --journal are required. SIGTERM hands the role over at once. Exit codes: 0 stopped,
    64 the command makes no sense.
    """
    if context.invoked_subcommand is not None:
        return
    from regent.runtime.node_options import NodeOptions  # noqa: PLC0415

    settings = NodeSettings() if config is None else read_properties(config)
    timeouts = {
        "session_timeout_ms": session_timeout_ms or settings.session_timeout_ms,
        "connect_timeout_ms": settings.connect_timeout_ms,
    }
    options = NodeOptions(
        node_id=BrokerId(needed(node_id, "--id N")),
        zookeeper=to_zookeeper_options(
            needed(zookeeper, "--zookeeper HOST:PORT"),
            ca_file=ca_file,
            certificate_file=certificate_file,
            key_file=key_file,
            creates_chroot=True,
            **{name: timeout for name, timeout in timeouts.items() if timeout is not None},
        ),
        address=to_address(listen, "--listen"),
        advertised_host=to_advertised(listen, advertise),
        journal=needed(journal, "--journal DIR"),
        metrics=None if metrics is None else to_address(metrics, "--metrics"),
        settings=settings,
        takes_over=take_over,
    )
    set_up_logging()
    if settings.unused:
        logging.getLogger("regent").info(
            "%s has names that mean nothing to a controller: %s", config, ", ".join(settings.unused)
        )
    if guard:
        raise typer.Exit(run_guarded(sys.argv[1:], options.zookeeper))
    asyncio.run(_run(options))


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
        needed(zookeeper, "--zookeeper HOST:PORT"),
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


# --- running ------------------------------------------------------------------------------------


async def _run(options: "NodeOptions") -> None:
    from regent.runtime.guardian import Ward  # noqa: PLC0415
    from regent.runtime.node import ControllerNode  # noqa: PLC0415

    node = ControllerNode(options, Ward.from_environment())
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, node.stop)

    def say_ready() -> None:
        host = options.address[0]
        http = "" if options.metrics is None else f", HTTP on port {node.metrics_port}"
        stderr().print(
            f"controller {options.node_id} listens on {host}:{node.port}{http};"
            f" journal in {options.journal}; stop it with Ctrl-C or SIGTERM"
        )

    await node.run(say_ready)


def run_guarded(arguments: Sequence[str], zookeeper: ZooKeeperOptions) -> int:
    """The same command without `--guard`, as a child; signals are passed on to it."""
    from regent.runtime.guardian import GuardedProcess  # noqa: PLC0415

    inner = [argument for argument in arguments if argument != "--guard"]
    children: list[GuardedProcess] = []
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        for child in children:
            child.process.send_signal(number)
        if not children:
            early.append(number)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, pass_on)
    children.append(GuardedProcess([sys.executable, "-m", "regent.cli.main", *inner], zookeeper))
    for number in early:
        children[0].process.send_signal(number)
    code = children[0].wait()
    # As a shell tells it of a process that a signal ended.
    return code if code >= 0 else 128 - code


def set_up_logging() -> None:
    """As a process writes that a person has started."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
    )
    # It says of every connection what the session's own state says better.
    logging.getLogger("regent.zookeeper.kazoo_client").setLevel(logging.ERROR)


def needed(value: T | None, option: str, command: str = "controller") -> T:
    """An option that has no default."""
    if value is None:
        raise BadInput(f"{option} is missing; `regent {command} --help` shows what there is")
    return value


def to_advertised(listen: str, advertise: str | None) -> str | None:
    """Kafka refuses it too: nobody can be called at an address that means all of them."""
    host, _ = to_address(listen, "--listen")
    if advertise is None and host in EVERY_ADDRESS:
        raise BadInput(
            f"--listen {listen} means all addresses of this machine; say with --advertise HOST"
            " at which of them brokers and clients reach it"
        )
    return advertise


def to_address(text: str, option: str) -> tuple[str, int]:
    """Host and port."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > PORT_MAX:
        raise BadInput(f"{option} {text}: write it like 127.0.0.1:9093; port 0 is any free one")
    return host.removeprefix("[").removesuffix("]"), int(port)
