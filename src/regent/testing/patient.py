"""Waiting for what other processes will do, with a bound and a sentence at its end."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Final, TypeVar

from regent.errors import RegentError

T = TypeVar("T")

#: So long that a machine that does ten other things gets there too.
PATIENCE_S: Final = 90.0
LOOK_EVERY_S: Final = 0.02


class WaitedInVain(RegentError):  # noqa: N818 - it is news, not an error
    """What was waited for has not come within its time."""


def wait_for(look: Callable[[], T | None], what: str, within_s: float = PATIENCE_S) -> T:
    """Look again and again; the first thing that is neither None nor False."""
    deadline_s = monotonic() + within_s
    while True:
        seen = look()
        if seen is not None and seen is not False:
            return seen
        if monotonic() >= deadline_s:
            raise WaitedInVain(f"waited {within_s:g} s in vain for {what}")
        sleep(LOOK_EVERY_S)


def wait_until(is_so: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
    """Wait for something to be so."""
    wait_for(is_so, what, within_s)
