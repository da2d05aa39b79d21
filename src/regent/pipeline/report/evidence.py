"""The text behind a finding: looked up in the logs and journals, where they can still be read.

A reference names a file and either a line of it or the sequence number of a journal's record. Files
are read once, as plain text and only so far; what cannot be found is left out, because a report
about a log must not depend on still having the log.
"""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

#: Enough for a log of a day; what is further in is not looked for.
BYTES_MAX: Final = 256 * 1024 * 1024
REFERENCES_MAX: Final = 500
TEXT_MAX: Final = 600


class EvidencePlace(Struct, frozen=True):
    """Where a piece of evidence stands."""

    file: str
    line: int | None = None
    sequence: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line is not None else f"record {self.sequence}"
        return f"{Path(path_of(self.file)).name}, {where}"


class _Numbered(Struct):
    """The part of a journal's line that says which record it is."""

    seq: int


_decoder: Final = msgspec.json.Decoder(_Numbered)


def places_in(rows: Iterable[Mapping[str, Any]]) -> list[EvidencePlace]:
    """The evidence of some findings or incidents, each place once, in order."""
    places = (
        EvidencePlace(each["file"], each["line"], each["sequence"])
        for row in rows
        for each in row["evidence"] or ()
        if each["file"] is not None
    )
    return list(dict.fromkeys(places))


def look_up(places: Iterable[EvidencePlace]) -> dict[EvidencePlace, str]:
    """The text at these places, as far as the files can be read and hold it."""
    by_file: dict[str, list[EvidencePlace]] = {}
    for place in list(places)[:REFERENCES_MAX]:
        by_file.setdefault(place.file, []).append(place)
    found: dict[EvidencePlace, str] = {}
    for file, wanted in by_file.items():
        try:
            found.update(_look_in(Path(path_of(file)), wanted))
        except (OSError, EOFError):
            continue
    return found


def path_of(file: str) -> str:
    """The path of a file that Spark names by a URL."""
    parts = urlsplit(file)
    return unquote(parts.path) if parts.scheme == "file" else file


def _look_in(path: Path, wanted: list[EvidencePlace]) -> dict[EvidencePlace, str]:
    by_line = {place.line: place for place in wanted if place.line is not None}
    by_sequence = {place.sequence: place for place in wanted if place.line is None}
    found: dict[EvidencePlace, str] = {}
    for number, line in _lines(path):
        place = by_line.get(number)
        if place is None and by_sequence:
            place = by_sequence.get(_sequence_of(line))
        if place is not None:
            found.setdefault(place, line.decode(errors="replace").strip()[:TEXT_MAX])
        if len(found) == len(wanted):
            break
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    read_bytes = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            yield number, line
            read_bytes += len(line)
            if read_bytes > BYTES_MAX:
                return


def _sequence_of(line: bytes) -> int | None:
    try:
        return _decoder.decode(line).seq
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
