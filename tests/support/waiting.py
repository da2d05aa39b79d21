"""Waiting for what another thread or process will do; how long it takes proves nothing."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Final, TypeVar

T = TypeVar("T")

#: So long that a machine that does ten other things gets there too.
PATIENCE_S: Final = 90.0
LOOK_EVERY_S: Final = 0.01


def eventually(look: Callable[[], T | None], what: str) -> T:
    """Look again and again; the first thing that is seen and is neither None nor False."""
    deadline = monotonic() + PATIENCE_S
    while True:
        seen = look()
        if seen is not None and seen is not False:
            return seen
        assert monotonic() < deadline, f"waited in vain: {what}"
        sleep(LOOK_EVERY_S)


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for something to be so."""
    eventually(is_so, what)
