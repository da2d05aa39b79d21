"""The house plan, held by a test: who may import whom, and what the pure rooms may touch.

`model ← core ← {journal, zookeeper, wire} ← {runtime, broker, sim, dryrun} ← {testing, cli}`, with
stricter rows where a room needs less than the arrows allow. A new room needs a row here.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[2] / "src" / "regent"
FILES: Final = sorted(PACKAGE.rglob("*.py"))

# The rooms that each room may import from, beside itself and `regent.errors`.
# fmt: off
MAY_IMPORT: Final = {
    "model":     set[str](),
    "core":      {"model"},
    "journal":   {"model"},
    "zookeeper": {"model", "core"},
    "wire":      {"model", "core"},
    "broker":    {"model"},
    "client":    {"model", "wire"},
    "storage":   {"model", "wire"},
    "runtime":   {"model", "core", "journal", "zookeeper", "wire", "broker"},
    "node":      {"model", "core", "journal", "zookeeper", "wire", "runtime", "broker", "storage"},
    "sim":       {"model", "core", "journal", "zookeeper", "wire", "broker"},
    "dryrun":    {"model", "core", "journal", "zookeeper"},
    "documents": {"model", "core"},
    "pipeline":  {"model", "journal"},
    "testing":   {"model", "core", "journal", "zookeeper", "wire", "client", "runtime", "node"},
    "demo":      {"model", "journal", "zookeeper", "client", "testing"},
    "cli":       {"model", "core", "journal", "zookeeper", "wire", "broker", "runtime", "sim",
                  "client", "dryrun", "documents", "pipeline", "testing", "demo", "node"},
}
# fmt: on

# Rooms in which a seed decides everything: nothing there can tell the time, throw dice, open a
# file or a socket, or start a thread.
PURE_ROOMS: Final = {"model", "core", "broker"}
PURE_IMPORTS: Final = {
    "__future__",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "msgspec",
    "operator",
    "re",
    "regent",
    "typing",
}


def room_of(path: Path) -> str | None:
    """The room a file stands in; None for the few files in the hall."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else None


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            if node.module == "regent":
                yield from (f"regent.{alias.name}" for alias in node.names)
            else:
                yield node.module


def rooms_imported(path: Path) -> set[str]:
    """The rooms that a file needs, `errors` counted as one."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("regent.")}


def tops_imported(path: Path) -> set[str]:
    """The top-level packages that a file needs."""
    return {name.split(".")[0] for name in imported(path)}


def in_rooms(*rooms: str) -> list[Path]:
    return [path for path in FILES if room_of(path) in rooms]


def short(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", FILES, ids=short)
def test_imports_go_one_way(path: Path) -> None:
    """What is decided can be read without knowing how it is carried out."""
    room = room_of(path)
    allowed = {"errors"} if room is None else {"errors", room, *MAY_IMPORT[room]}

    assert rooms_imported(path) - allowed == set()


@pytest.mark.parametrize("path", in_rooms(*sorted(PURE_ROOMS)), ids=short)
def test_the_pure_rooms_import_values_and_types_only(path: Path) -> None:
    """So that a seed decides everything they do."""
    assert tops_imported(path) - PURE_IMPORTS == set()


@pytest.mark.parametrize("path", in_rooms("journal"), ids=short)
def test_the_journal_needs_nothing_but_msgspec(path: Path) -> None:
    """Whoever reads journals should not have to install a controller's dependencies."""
    foreign = tops_imported(path) - sys.stdlib_module_names - {"msgspec", "regent"}

    assert foreign == set()


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) != "pipeline"], ids=short)
def test_only_the_pipeline_imports_spark(path: Path) -> None:
    """A controller starts in a fraction of a second and without Java."""
    assert "pyspark" not in tops_imported(path)


def test_no_two_classes_have_the_same_name() -> None:
    """A name in a log, a test or a sentence must mean one thing."""
    names = Counter(
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )

    assert [name for name, count in names.items() if count > 1] == []


def test_every_room_has_a_row() -> None:
    """A new room must say what it may import before it imports anything."""
    rooms = {room for path in FILES if (room := room_of(path)) is not None}

    assert rooms - set(MAY_IMPORT) == set()
