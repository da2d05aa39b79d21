"""A node as the process that a person has started: its log, its signals, its guard."""

import asyncio
import logging
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Protocol

from regent.cli.printing import stderr
from regent.runtime.node_options import NodeOptions
from regent.zookeeper.options import ZooKeeperOptions


class RunningNode(Protocol):
    """What a node that is a broker and one that is not have in common."""

    @property
    def port(self) -> int:
        """Where it listens for Kafka's protocol."""

    @property
    def metrics_port(self) -> int:
        """Where it listens for HTTP."""

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Until `stop`."""

    def stop(self) -> None:
        """End in order."""


def allow_many_connections() -> None:
    """Have as many descriptors as the system lets one have: the usual limit is for tools."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def run_until_told(node: RunningNode, name: str, options: NodeOptions, keeps: str) -> None:
    """Until SIGTERM or Ctrl-C; when it is ready, say where it is and what it `keeps` where."""
    allow_many_connections()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, node.stop)

    def say_ready() -> None:
        http = "" if options.metrics is None else f", HTTP on port {node.metrics_port}"
        stderr().print(
            f"{name} {options.node_id} listens on {options.address[0]}:{node.port}{http};"
            f" {keeps}; stop it with Ctrl-C or SIGTERM"
        )

    await node.run(say_ready)


def run_guarded(arguments: Sequence[str], zookeeper: ZooKeeperOptions) -> int:
    """The same command without `--guard`, as a child; signals are passed on to it."""
    from regent.runtime.guardian import GuardedProcess  # noqa: PLC0415 - only who guards needs it

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
