"""`regent zookeeper`: a real ZooKeeper for trying things out, alone."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from regent.errors import RegentError
from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper


def zookeeper(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where it listens; 0: any port that is free.")
    ] = 2181,
    data: Annotated[
        Path | None,
        typer.Option(help="Where it keeps its znodes; without it they are gone at the end."),
    ] = None,
    tick_ms: Annotated[
        int, typer.Option(min=10, help="Sessions can be as short as two of these.")
    ] = 250,
    heap_mb: Annotated[int, typer.Option(min=64, help="Java's memory, in megabytes.")] = 512,
) -> None:
    """Run Apache ZooKeeper, as PySpark brings it, until Ctrl-C."""
    signal.signal(signal.SIGTERM, _interrupt)
    settings = EmbeddedSettings(tick_ms=tick_ms, heap_mb=heap_mb, compiles_fully=True)
    try:
        with EmbeddedZooKeeper(data, port=port, settings=settings) as server:
            kept = f"its znodes are in {data}" if data else "its znodes are gone when it ends"
            print(f"ZooKeeper listens on {server.address} (process {server.pid}); {kept}.")
            print("Stop it with Ctrl-C.", flush=True)
            code = server.wait()
            raise RegentError(f"ZooKeeper ended by itself with code {code}")
    except KeyboardInterrupt:
        print("ZooKeeper has stopped.")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
