"""A clean journal to plant faults in: records are changed, put in, left out or come later."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from regent.journal.record import Record, decode, encode
from regent.journal.writer import segment_name
from regent.model.facts import Fact, FactBase
from regent.model.ids import BrokerId, ControllerEpoch

#: What a simulated cluster once wrote: four reigns of three nodes; moves that end and one that is
#: cancelled; a deletion; dead brokers. Kept, because faults are planted in certain places of it.
CLEAN_JOURNAL: Final = Path(__file__).parent / "data" / "clean-journal.jsonl.gz"


def clean_records() -> list[Record]:
    """A history in which nothing is wrong."""
    return [decode(line) for line in gzip.decompress(CLEAN_JOURNAL.read_bytes()).splitlines()]


class Draft:
    """The records of a cluster in their order, still to be changed."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        self._sort()

    def find(self, kind: type[FactBase], *, nth: int = 0, **fields: Any) -> int:
        """Where the nth fact of a kind stands that has these fields; -1 is the last one."""
        found = [
            index
            for index, record in enumerate(self.records)
            if isinstance(record.fact, kind)
            and all(getattr(record.fact, name) == value for name, value in fields.items())
        ]
        return found[nth]

    def change(self, index: int, **fields: Any) -> None:
        """Let a fact say something else."""
        record = self.records[index]
        self.records[index] = replace(record, fact=replace(record.fact, **fields))

    def insert(self, index: int, *new: Fact, epoch: int | None = None) -> None:
        """Put facts after a record, by the same node; what it wrote later is counted anew."""
        before = self.records[index]
        self.records = [
            replace(each, seq=each.seq + len(new))
            if each.controller_id == before.controller_id and each.seq > before.seq
            else each
            for each in self.records
        ]
        self.records += [
            replace(
                before,
                seq=before.seq + count,
                fact=fact,
                controller_epoch=ControllerEpoch(epoch or before.controller_epoch),
            )
            for count, fact in enumerate(new, start=1)
        ]
        self._sort()

    def drop(self, index: int) -> None:
        """Lose a record."""
        del self.records[index]

    def delay(self, index: int, by_ms: int) -> None:
        """Let this and all that follows happen later."""
        self.records[index:] = [
            replace(each, at_ms=each.at_ms + by_ms) for each in self.records[index:]
        ]

    def _sort(self) -> None:
        self.records.sort(key=lambda r: (r.controller_epoch, r.seq, r.controller_id))

    def write(self, directory: Path) -> None:
        """Keep the journal, one file for each node."""
        directory.mkdir()
        for record in sorted(self.records, key=lambda r: r.seq):
            with (directory / segment_name(BrokerId(record.controller_id), 1)).open("ab") as file:
                file.write(encode(record) + b"\n")
