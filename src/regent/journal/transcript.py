"""A transcript: one line for each change of state, in columns that stay where they are.

`docs/simulation.md` has the legend.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from msgspec import Struct

from regent.journal.fact_words import line_key, put_in_words, shares_a_line
from regent.journal.record import Record

HEADER: Final = "     time  epoch  node  kind        what"
#: Everything that the fourth column may say.
KINDS: Final = (
    "fault",
    "user",
    "node",
    "controller",
    "broker",
    "topic",
    "partition",
    "replica",
    "election",
    "isr",
    "request",
    "refused",
    "phase",
)


class Line(Struct, frozen=True):
    """One line of the transcript; no epoch or node where none is concerned."""

    at_us: int
    kind: str
    what: str
    controller_epoch: int | None = None
    node: int | None = None

    def __str__(self) -> str:
        epoch = "·" if self.controller_epoch is None else str(self.controller_epoch)
        node = "·" if self.node is None else str(self.node)
        seconds = f"{self.at_us // 1000 / 1000:9.3f}"
        return f"{seconds}  {epoch:>5}  {node:>4}  {self.kind:<10}  {self.what}"


def transcribe(records: Iterable[Record], *, since_ms: int) -> Iterator[Line]:
    """What stands in a journal, told from `since_ms` on; what comes together shares a line."""
    numbered = enumerate(records)
    for key, group in groupby(numbered, key=lambda each: _key(*each)):
        together = [record for _, record in group]
        kind, what = put_in_words([record.fact for record in together])
        if what:
            at_us = (together[0].at_ms - since_ms) * 1_000
            yield Line(at_us, kind, what, key[0], key[1])


def _key(number: int, record: Record) -> tuple[int, int, tuple[object, ...]]:
    """A fact that shares its line with none has a key of its own."""
    alone = () if shares_a_line(record.fact) else (number,)
    return record.controller_epoch, record.controller_id, (*line_key(record.fact), *alone)
