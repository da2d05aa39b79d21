"""When processes rest: seen from outside, by the processor time that they use.

A controller that says nothing may still be working on what it will say. One that neither speaks nor
works has finished, if ZooKeeper does not owe it an answer.
"""

from collections.abc import Callable, Iterable
from time import monotonic, sleep
from typing import Final

from benchmarks.process_tree import tree_cpu_s
from regent.testing.patient import WaitedInVain

#: Whoever was told nothing, and did nothing, for so long will not go on by itself.
WINDOW_S: Final = 1.0
#: An idle JVM with a broker in it uses two or three hundredths of a processor.
IDLE_SHARE: Final = 0.1
PATIENCE_S: Final = 600.0


def wait_for_rest(
    pids: Iterable[int], said: Callable[[], int], *, window_s: float = WINDOW_S
) -> None:
    """Until for a window none of them has worked, and the count of `said` has stood still."""
    watched = tuple(pids)
    deadline_s = monotonic() + PATIENCE_S
    seen = said(), _used_s(watched)
    while monotonic() < deadline_s:
        sleep(window_s)
        before, seen = seen, (said(), _used_s(watched))
        idle = all(
            now - then <= IDLE_SHARE * window_s
            for then, now in zip(before[1], seen[1], strict=True)
        )
        if idle and before[0] == seen[0]:
            return
    raise WaitedInVain(f"there was no rest within {PATIENCE_S:g} s")


def _used_s(pids: Iterable[int]) -> list[float]:
    return [tree_cpu_s(pid) for pid in pids]
