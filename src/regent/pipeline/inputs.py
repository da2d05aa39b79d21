"""The files that a run is given: which they are, and whether one has changed since the last run."""

import glob
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from regent.errors import BadInput
from regent.journal.writer import SEGMENT_NAME


class SourceKind(StrEnum):
    """What a file holds."""

    JOURNAL = "journal"
    LOG = "state-change-log"
    SNAPSHOT = "snapshot"


class InputFile(Struct, frozen=True):
    """A file as it was when a run looked at it, and what became of its lines."""

    path: str
    kind: SourceKind
    bytes: int
    modified_ns: int
    lines: int = 0
    parsed: int = 0
    quarantined: int = 0

    def is_unchanged_since(self, before: "InputFile") -> bool:
        """Whether reading it again would give the same."""
        return (self.kind, self.bytes, self.modified_ns) == (
            before.kind,
            before.bytes,
            before.modified_ns,
        )


#: What the files of each kind are called inside a directory; what else lies there is not ours.
# fmt: off
NAMES: Final = {
    SourceKind.JOURNAL:  re.compile(SEGMENT_NAME.pattern + r"(\.gz)?"),
    SourceKind.LOG:      re.compile(r".*(state-change|controller)\.log.*"),
    SourceKind.SNAPSHOT: re.compile(r".*\.json(\.gz)?"),
}
# fmt: on


def find_inputs(kind: SourceKind, given: Iterable[str]) -> list[InputFile]:
    """The files of a kind that these paths, directories and patterns stand for, each once."""
    paths = {path.resolve() for each in given for path in _files_at(kind, each)}
    return [_as_it_is(kind, path) for path in sorted(paths)]


def _files_at(kind: SourceKind, given: str) -> Iterator[Path]:
    # A pattern may begin anywhere, which pathlib's cannot.
    matches = glob.glob(given, recursive=True) or [given]  # noqa: PTH207
    for path in map(Path, matches):
        if path.is_dir():
            inside = [child for child in path.rglob("*") if child.is_file()]
            named = [child for child in inside if NAMES[kind].fullmatch(child.name)]
            if not named:
                raise BadInput(
                    f"{path}: there is no {kind} in this directory, nor below it; name the files,"
                    " or the directory they are in"
                )
            yield from named
        elif path.is_file():
            yield path
        else:
            raise BadInput(f"{given}: there is no such {kind}, file or directory")


def _as_it_is(kind: SourceKind, path: Path) -> InputFile:
    try:
        with path.open("rb"):
            status = path.stat()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    return InputFile(str(path), kind, status.st_size, status.st_mtime_ns)
