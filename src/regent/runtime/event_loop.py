"""The event loop of a node: uvloop where it is installed (`pip install 'regent[uvloop]'`)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def run(main: Coroutine[Any, Any, None]) -> None:
    """As `asyncio.run`, on the node's loop."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes it; None: whatever asyncio itself takes."""
    try:
        from regent.runtime.audited_loop import AuditedLoop  # noqa: PLC0415 - not without uvloop
    except ImportError:
        return None
    return AuditedLoop
