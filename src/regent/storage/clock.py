"""The time as logs go by it; tests bring their own."""

import time
from collections.abc import Callable
from typing import TypeAlias

#: Milliseconds since 1970.
Clock: TypeAlias = Callable[[], int]


def wall_clock() -> int:
    """The machine's."""
    return time.time_ns() // 1_000_000
