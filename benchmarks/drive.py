"""Running a procedure with a clock on it: the core's time apart from the answerer's."""

from collections.abc import Callable
from time import perf_counter
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


def drive(procedure: Procedure[None], answer: Callable[[Ask[Any]], Any]) -> Timed:
    """Carry a procedure through. Effects are kept and not carried out."""
    timed = Timed([], 0.0, 0.0)
    told: Any = None
    while True:
        start = perf_counter()
        try:
            output = procedure.send(told)
        except StopIteration:
            timed.core_s += perf_counter() - start
            return timed
        took = perf_counter() - start
        timed.core_s += took
        timed.pieces.append((took, output))
        told = None
        if isinstance(output, Ask):
            start = perf_counter()
            told = answer(output)
            timed.answer_s += perf_counter() - start
