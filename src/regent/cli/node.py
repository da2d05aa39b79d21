"""`regent node`: a broker with data, and a controller that may lead, in one process.

What runs it is imported when it runs: `regent --help` need not wait for Kafka's whole protocol.
"""

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regent.cli.controller import needed, run_guarded, set_up_logging, to_address, to_advertised
from regent.cli.printing import stderr
from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    to_zookeeper_options,
)
from regent.model.ids import BrokerId
from regent.runtime.properties import read_properties

if TYPE_CHECKING:
    from regent.node.broker_node import BrokerNodeOptions


def node(  # noqa: PLR0913, PLR0917 - a list of options
    node_id: Annotated[
        int | None,
        typer.Option("--id", min=0, metavar="N", help="Required. Its id as a broker."),
    ] = None,
    zookeeper: ZooKeeperOption = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where it listens; port 0 is any free one.")
    ] = "127.0.0.1:9092",
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Where others reach it, if not at the host of --listen."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Required. Where its logs are kept.")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Required. Where every decision is written down."),
    ] = None,
    rack: Annotated[
        str | None, typer.Option(metavar="RACK", help="Where it stands, for placing replicas.")
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Settings under Kafka's names; of several files the later win."
        ),
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
            "--guard", help="Run it as a child, whose place is free at once when it is killed."
        ),
    ] = False,
    ca_file: CaOption = None,
    certificate_file: CertificateOption = None,
    key_file: KeyOption = None,
) -> None:
    """Run a node of a cluster: it keeps data, and one of all nodes leads them.

    --zookeeper, --id, --data and --journal are required. SIGTERM hands its leaderships over first.
    Exit codes: 0 stopped, 64 the command makes no sense.
    """
    from regent.node.broker_node import BrokerNodeOptions  # noqa: PLC0415
    from regent.node.broker_settings import (  # noqa: PLC0415
        is_broker_property,
        read_broker_settings,
    )
    from regent.runtime.node_options import NodeOptions  # noqa: PLC0415

    files = config or []
    settings = read_properties(*files)
    timeouts = {
        "session_timeout_ms": session_timeout_ms or settings.session_timeout_ms,
        "connect_timeout_ms": settings.connect_timeout_ms,
    }
    options = BrokerNodeOptions(
        node=NodeOptions(
            node_id=BrokerId(needed(node_id, "--id N", "node")),
            zookeeper=to_zookeeper_options(
                needed(zookeeper, "--zookeeper HOST:PORT", "node"),
                ca_file=ca_file,
                certificate_file=certificate_file,
                key_file=key_file,
                creates_chroot=True,
                **{name: timeout for name, timeout in timeouts.items() if timeout is not None},
            ),
            address=to_address(listen, "--listen"),
            advertised_host=to_advertised(listen, advertise),
            journal=needed(journal, "--journal DIR", "node"),
            metrics=None if metrics is None else to_address(metrics, "--metrics"),
            settings=settings,
        ),
        data=needed(data, "--data DIR", "node"),
        rack=rack,
        broker=read_broker_settings(*files),
    )
    set_up_logging()
    unused = [name for name in settings.unused if not is_broker_property(name)]
    if unused:
        logging.getLogger("regent").info("these settings mean nothing here: %s", ", ".join(unused))
    if guard:
        raise typer.Exit(run_guarded(sys.argv[1:], options.node.zookeeper))
    asyncio.run(_run(options))


async def _run(options: "BrokerNodeOptions") -> None:
    from regent.node.broker_node import BrokerNode  # noqa: PLC0415
    from regent.runtime.guardian import Ward  # noqa: PLC0415

    running = BrokerNode(options, Ward.from_environment())
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, running.stop)

    def say_ready() -> None:
        host = options.node.address[0]
        http = "" if options.node.metrics is None else f", HTTP on port {running.metrics_port}"
        stderr().print(
            f"node {options.node.node_id} listens on {host}:{running.port}{http};"
            f" data in {options.data}; stop it with Ctrl-C or SIGTERM"
        )

    await running.run(say_ready)
