"""Running a procedure with a clock on it: the core's time apart from the answerer's.

Two clocks. `thread_time` counts the processor's seconds for this thread alone, so that other
programs on the machine do not count; reading it takes a microsecond, which is nothing to a
procedure over thousands of partitions. `perf_counter` is cheap and counts everything: for a small
event that is run many times, with the median taken.
"""

from collections.abc import Callable
from time import thread_time
from typing import Any

from msgspec import Struct

from regent.core.asks import Ask, Procedure
from regent.core.effects import Effect


class Timed(Struct):
    """One procedure from beginning to end."""

    #: What came out, each with the seconds that the core took to come up with it.
    pieces: list[tuple[float, Ask[Any] | Effect]]
    #: Everything inside the core, up to the procedure's return.
    core_s: float
    answer_s: float


def drive(
    procedure: Procedure[None],
    answer: Callable[[Ask[Any]], Any],
    clock: Callable[[], float] = thread_time,
) -> Timed:
    """Carry a procedure through. Effects are kept and not carried out."""
    timed = Timed([], 0.0, 0.0)
    told: Any = None
    while True:
        start = clock()
        try:
            output = procedure.send(told)
        except StopIteration:
            timed.core_s += clock() - start
            return timed
        took = clock() - start
        timed.core_s += took
        timed.pieces.append((took, output))
        told = None
        if isinstance(output, Ask):
            start = clock()
            told = answer(output)
            timed.answer_s += clock() - start
