"""`regent node`: a broker with data, and a controller that may lead, in one process.

What runs it is imported when it runs: `regent --help` need not wait for Kafka's whole protocol.
"""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from regent.cli.node_options import (
    AdvertiseOption,
    JournalOption,
    ListenOption,
    MetricsOption,
    SessionTimeoutOption,
    needed,
    to_members_zookeeper,
    to_node_options,
)
from regent.cli.zookeeper_options import CaOption, CertificateOption, KeyOption, ZooKeeperOption
from regent.runtime.properties import read_properties

COMMAND: Final = "node"


def node(  # noqa: PLR0913, PLR0917 - a list of options
    node_id: Annotated[
        int | None,
        typer.Option("--id", min=0, metavar="N", help="Required. Its id as a broker."),
    ] = None,
    zookeeper: ZooKeeperOption = None,
    listen: ListenOption = "127.0.0.1:9092",
    advertise: AdvertiseOption = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Required. Where its logs are kept.")
    ] = None,
    journal: JournalOption = None,
    rack: Annotated[
        str | None, typer.Option(metavar="RACK", help="Where it stands, for placing replicas.")
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Settings under Kafka's names; of several files the later win."
        ),
    ] = None,
    metrics: MetricsOption = None,
    session_timeout_ms: SessionTimeoutOption = None,
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
    from regent.cli.node_process import (  # noqa: PLC0415
        run_guarded,
        run_until_told,
        set_up_logging,
    )
    from regent.node.broker_node import BrokerNode, BrokerNodeOptions  # noqa: PLC0415
    from regent.node.broker_settings import (  # noqa: PLC0415
        is_broker_property,
        read_broker_settings,
    )
    from regent.runtime.guardian import Ward  # noqa: PLC0415

    files = config or []
    settings = read_properties(*files)
    options = BrokerNodeOptions(
        node=to_node_options(
            COMMAND,
            node_id=node_id,
            zookeeper=to_members_zookeeper(
                needed(zookeeper, "--zookeeper HOST:PORT", COMMAND),
                settings,
                session_timeout_ms,
                ca_file=ca_file,
                certificate_file=certificate_file,
                key_file=key_file,
            ),
            listen=listen,
            advertise=advertise,
            journal=journal,
            metrics=metrics,
            settings=settings,
        ),
        data=needed(data, "--data DIR", COMMAND),
        rack=rack,
        broker=read_broker_settings(*files),
    )
    set_up_logging()
    unused = [name for name in settings.unused if not is_broker_property(name)]
    if unused:
        logging.getLogger("regent").info("these settings mean nothing here: %s", ", ".join(unused))
    if guard:
        raise typer.Exit(run_guarded(sys.argv[1:], options.node.zookeeper))

    async def run_node() -> None:
        running = BrokerNode(options, Ward.from_environment())
        await run_until_told(running, "node", options.node, f"data in {options.data}")

    asyncio.run(run_node())
