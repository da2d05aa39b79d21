"""Writes `docs/journal.md` from the schema, so that the page cannot say anything else.

`python -m regent.journal.document` prints it; `make docs` puts it in its place.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from regent.journal.record import (
    FIELDS,
    KINDS,
    SCHEMA_VERSION,
    Record,
    encode,
    json_type,
)
from regent.journal.writer import BUFFER_BYTES_MAX, SEGMENT_BYTES, segment_name
from regent.model.facts import LeaderElected, LoadedPartition
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState

EXAMPLE: Final = Record(
    v=SCHEMA_VERSION,
    seq=812,
    at_ms=1_700_000_000_000,
    controller_id=BrokerId(3),
    controller_epoch=ControllerEpoch(7),
    cause="BrokersChanged#17",
    fact=LeaderElected(
        topic="orders",
        partition=3,
        strategy="offline",
        before=PartitionState.OFFLINE,
        leader_before=BrokerId(1),
        leader=BrokerId(2),
        leader_epoch=LeaderEpoch(5),
        isr=(BrokerId(2), BrokerId(3)),
        zk_version=ZkVersion(9),
    ),
)

OPENING: Final = """\
# The journal

Everything that a controller decides, and that takes hold, is a record in its journal.
From the journal alone all states can be rebuilt: `regent.journal.replay` does it.
This page is generated from `regent.journal.record` and `regent.model.facts` by `make docs`.

## Files

A node writes JSON lines, one record each, into numbered segments such as `{segment}`.
The name holds the node's id and the number of the segment.
A segment is closed at about {segment_mib} MiB and never written again.
A new process begins a new one.

A line counts once its newline is there, so a journal can be read while it grows.
The end of a segment without a newline is a line cut short by a crash, and readers skip it.
They also skip an unreadable last line in the newest segment of a node.
An unreadable line anywhere else is damage: readers name the file and the line, and stop.

The order of records is `(controller_epoch, seq)`.
It is never the clock: a successor's clock may be behind.

Writing never holds up a decision.
Records go into memory first, and are written when the requests of their event are on their way.
When the disk is full, {buffer_mib} MiB are kept and written later.
What comes after that is dropped, and shows as a jump in `seq`.
When a segment is deleted while it is written, a new one is begun at the next write.
What the old one held is missing, and shows as a jump too.

Version {version} of the schema is described here.
More optional fields may come without a new version, so readers ignore those they do not know.
A new kind, or another meaning, is a new version, and a reader refuses one newer than its own.
"""


def document() -> str:
    """The whole page."""
    sections = (
        OPENING.format(
            segment=segment_name(BrokerId(3), 12),
            segment_mib=SEGMENT_BYTES // 2**20,
            buffer_mib=BUFFER_BYTES_MAX // 2**20,
            version=SCHEMA_VERSION,
        ),
        "\n".join(_envelope_section()),
        "\n".join(_example_section()),
        "\n".join(_kinds_section()),
        "\n".join(_fields_section()),
    )
    return "\n".join(sections)


def _envelope_section() -> Iterator[str]:
    yield "## The envelope\n"
    rows = []
    for name, hint in get_type_hints(Record, include_extras=True).items():
        bare, description = _described(hint)
        rows.append((f"`{name}`", "object" if name == "fact" else json_type(bare), description))
    yield from _table(("Field", "JSON", "Says"), rows)


def _example_section() -> Iterator[str]:
    yield "## A line, and what it says\n"
    yield "```json"
    yield encode(EXAMPLE).decode()
    yield "```\n"
    yield from (
        "Node 3, controller of epoch 7, handled its event 17, a change in the set of brokers.",
        "As its 812th record it notes an election for partition 3 of `orders`, which was offline.",
        "Broker 1 had led; broker 2 leads from now on, under leader epoch 5, with 2 and 3 in sync.",
        "The partition's state znode is at version 9 after the write.",
        "Fields at their default, here `unclean` and `recovering`, are left out.\n",
    )


def _kinds_section() -> Iterator[str]:
    yield "## Kinds of facts\n"
    rows = [
        (f"`{kind}`", _one_line(fact_class), _field_list(fact_class))
        for kind, fact_class in KINDS.items()
    ]
    yield from _table(("Kind", "Says", "Fields (optional ones in brackets)"), rows)
    yield "Each of the `partitions` of a `topic_loaded` is an object.\n"
    yield f"{_one_line(LoadedPartition)}\n"
    yield f"Its fields: {_field_list(LoadedPartition)}.\n"


def _fields_section() -> Iterator[str]:
    yield "## Fields\n"
    yield "A name means the same thing, with the same type, wherever it stands.\n"
    rows = [
        (
            f"`{field.name}`",
            field.json_type,
            f"`{field.type_name}`",
            ", ".join(f"`{kind}`" for kind in field.kinds),
        )
        for field in sorted(FIELDS.values(), key=lambda field: field.name)
    ]
    yield from _table(("Field", "JSON", "Type", "In"), rows)


def _described(hint: Any) -> tuple[Any, str]:
    """A type and what its annotation says about it."""
    assert get_origin(hint) is Annotated, "every field of the envelope has a description"
    bare, meta = get_args(hint)
    assert isinstance(meta, msgspec.Meta)
    return bare, meta.description or ""


def _one_line(struct_class: type[Struct]) -> str:
    """The docstring as one line, as a table cell needs it."""
    return " ".join((struct_class.__doc__ or "").split())


def _field_list(struct_class: type[Struct]) -> str:
    fields = msgspec.structs.fields(struct_class)
    return ", ".join(f"`{f.name}`" if f.required else f"[`{f.name}`]" for f in fields) or "none"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


if __name__ == "__main__":
    sys.stdout.write(document())
