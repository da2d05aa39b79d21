"""Journals that are written while they are read."""

from pathlib import Path

from regent.demo.growing_journals import GrowingJournals
from regent.journal.record import encode
from regent.journal.writer import segment_name
from regent.model.ids import BrokerId
from tests.unit.journal.builders import record


def test_a_line_is_told_once_and_when_it_is_whole(tmp_path: Path) -> None:
    """A broker that is killed leaves half a line, and another broker goes on."""
    journals = GrowingJournals(tmp_path / "journal")
    assert journals.fresh() == []

    one, other = (tmp_path / "journal" / f"broker-{number}" for number in (1, 2))
    for folder in (one, other):
        folder.mkdir(parents=True)
    first, second, third = record(1), record(2), record(3)
    line = encode(second) + b"\n"
    segment = one / segment_name(BrokerId(1), 1)
    segment.write_bytes(encode(first) + b"\n" + line[:9])
    assert journals.fresh() == [first]

    (other / segment_name(BrokerId(2), 1)).write_bytes(encode(third) + b"\n")
    with segment.open("ab") as file:
        file.write(line[9:])
    assert journals.fresh() == [second, third]
    assert journals.fresh() == []
