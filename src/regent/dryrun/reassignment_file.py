"""The JSON of `kafka-reassign-partitions`, from a file that a person may have edited.

Half of a plan is not what anybody wants, so the first fault refuses all of it, with its line.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from regent.errors import BadInput
from regent.model.admin_requests import ReassignmentTarget
from regent.model.ids import BrokerId

_PARTITIONS: Final = re.compile(r'"partitions"\s*:\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
_EXAMPLE: Final = (
    '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'
)


class PlannedMove(Struct, frozen=True):
    """One entry of the file, and the line on which it begins."""

    line: int
    target: ReassignmentTarget
    #: For each replica the directory that it shall lie in, or `any`; none where nothing is said.
    log_dirs: tuple[str, ...] = ()


class ReassignmentPlan(Struct, frozen=True):
    """A whole file."""

    path: str
    moves: tuple[PlannedMove, ...]


class _MoveRecord(Struct, forbid_unknown_fields=True):
    topic: Annotated[str, Meta(min_length=1)]
    partition: Annotated[int, Meta(ge=0)]
    replicas: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)]
    #: Which directory on each broker. Kafka's tool tells the brokers; the controller never knows.
    log_dirs: tuple[str, ...] | None = None


class _FileRecord(Struct, forbid_unknown_fields=True):
    partitions: list[dict[str, Any]]
    version: int = 1


def read_reassignment(path: Path) -> ReassignmentPlan:
    """The moves that a file asks for, in its order."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise BadInput(
            f"cannot read the reassignment {path}: {reason}; "
            "kafka-reassign-partitions --generate prints one"
        ) from error
    return ReassignmentPlan(str(path), parse_reassignment(text, str(path)))


def parse_reassignment(text: str, where: str) -> tuple[PlannedMove, ...]:
    """The moves in a text; `where` is what a complaint calls it."""
    _check_frame(text, where)
    moves: dict[tuple[str, int], PlannedMove] = {}
    for line, entry in _entries(text):
        try:
            record = msgspec.convert(entry, _MoveRecord)
        except msgspec.ValidationError as error:
            raise BadInput(f"{where}, line {line}: {error}; an entry is like {_EXAMPLE}") from error
        name = (record.topic, record.partition)
        if name in moves:
            raise BadInput(
                f"{where}, line {line}: {record.topic}-{record.partition} is already on line"
                f" {moves[name].line}; leave one of them"
            )
        log_dirs = record.log_dirs or ()
        if log_dirs and len(log_dirs) != len(record.replicas):
            raise BadInput(
                f"{where}, line {line}: {record.topic}-{record.partition} has"
                f" {len(record.replicas)} replicas and {len(log_dirs)} log_dirs; give each replica"
                " one, or leave log_dirs out"
            )
        replicas = tuple(map(BrokerId, record.replicas))
        moves[name] = PlannedMove(line, ReassignmentTarget(*name, replicas), log_dirs)
    if not moves:
        raise BadInput(f"{where} moves nothing; list the partitions to move, as in {_EXAMPLE}")
    return tuple(moves.values())


def _check_frame(text: str, where: str) -> None:
    """It is JSON, and what stands around the entries is right."""
    try:
        frame = msgspec.convert(json.loads(text), _FileRecord)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{where}, line {error.lineno}: this is not JSON: {error.msg}; mend it there"
        ) from error
    except msgspec.ValidationError as error:
        raise BadInput(f"{where} is not a reassignment: {error}; one is like {_EXAMPLE}") from error
    if frame.version != 1:
        raise BadInput(f"{where} has version {frame.version}; Kafka's tools write version 1")


def _entries(text: str) -> Iterator[tuple[int, Any]]:
    """Each entry of a list that is known to be there, with its line."""
    found = _PARTITIONS.search(text)
    assert found is not None, "the frame was checked"
    decoder = json.JSONDecoder()
    position = _skip(text, found.end())
    while text[position] != "]":
        entry, end = decoder.raw_decode(text, position)
        yield text.count("\n", 0, position) + 1, entry
        position = _skip(text, end)


def _skip(text: str, position: int) -> int:
    found = _BETWEEN.match(text, position)
    assert found is not None, "it matches nothing, too"
    return found.end()
