"""`regent node`: a broker with data, and a controller that may lead, in one process.

What runs it is imported when it runs: `regent --help` need not wait for Kafka's whole protocol.
"""

import logging
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from regent.cli.node_options import ListenOption, MemberOptions, needed, to_node_options
from regent.cli.shared_options import taking
from regent.runtime.properties import read_properties

COMMAND: Final = "node"


@taking(MemberOptions)
def node(  # noqa: PLR0913, PLR0917 - a list of options
    member: MemberOptions,
    node_id: Annotated[
        int | None,
        typer.Option("--id", min=0, metavar="N", help="Required. Its id as a broker."),
    ] = None,
    listen: ListenOption = "127.0.0.1:9092",
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Required. Where its logs are kept.")
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
) -> None:
    """Run a node of a cluster: it keeps data, and one of all nodes leads them.

    --zookeeper, --id, --data and --journal are required. SIGTERM hands its leaderships over first,
    a second one ends it at once.
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
    from regent.runtime.event_loop import run  # noqa: PLC0415
    from regent.runtime.guardian import Ward  # noqa: PLC0415

    files = config or []
    settings = read_properties(*files)
    options = BrokerNodeOptions(
        node=to_node_options(COMMAND, member, node_id=node_id, listen=listen, settings=settings),
        data=needed(data, "--data DIR", COMMAND),
        rack=rack,
        broker=read_broker_settings(*files),
    )
    set_up_logging()
    unused = [name for name in settings.unused if not is_broker_property(name)]
    if unused:
        logging.getLogger("regent").info("these settings mean nothing here: %s", ", ".join(unused))
    if member.guard:
        raise typer.Exit(run_guarded(sys.argv[1:], options.node.zookeeper))

    async def run_node() -> None:
        running = BrokerNode(options, Ward.from_environment())
        await run_until_told(running, "node", options.node, f"data in {options.data}")

    run(run_node())
