"""What the stream says of a record: the record, and what was known until then.

These are the columns that the rules of the audit look at, all in one row, so that one look at the
stream serves all rules.
"""

from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from regent.pipeline import schemas
from regent.pipeline.schemas import BOOLEAN, BROKERS, INT, LONG, STRING


class Source(Struct, frozen=True):
    """Where a record stands."""

    file: str
    line: int
    sequence: int


class KnownLeadership(Struct, frozen=True, kw_only=True):
    """Who leads, as it was written or found, and where that is said."""

    kind: str
    controller_id: int
    controller_epoch: int
    sequence: int
    at_ms: int
    record: Source
    leader: int
    leader_epoch: int | None
    isr: tuple[int, ...]
    zk_version: int | None
    written_epoch: int | None


class KnownAssignment(Struct, frozen=True):
    """Who has replicas. `either` adds those of the assignment before, null when it is not known."""

    controller_id: int
    controller_epoch: int
    record: Source
    replicas: tuple[int, ...]
    either: tuple[int, ...] | None


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row for the rules. What is left out is null."""

    cluster: str
    kind: str
    record: Source
    controller_epoch: int
    sequence: int
    at_ms: int
    controller_id: int | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    partition: int | UnsetType | None = UNSET
    broker_id: int | UnsetType | None = UNSET
    # a move
    state_before: str | UnsetType = UNSET
    state_after: str | UnsetType = UNSET
    leader_before: int | UnsetType = UNSET
    unclean: bool = False
    # a leadership
    leader: int | UnsetType = UNSET
    leader_epoch: int | UnsetType | None = UNSET
    isr: tuple[int, ...] | UnsetType = UNSET
    zk_version: int | UnsetType | None = UNSET
    written_epoch: int | UnsetType | None = UNSET
    before: KnownLeadership | UnsetType | None = UNSET
    assignment: KnownAssignment | UnsetType | None = UNSET
    # a gap in the numbers of a controller's records
    previous: int | UnsetType = UNSET
    # trouble of a broker or a controller
    reason: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    bounced: bool | UnsetType = UNSET
    # a time in which a partition could not be used
    end_ms: int | UnsetType | None = UNSET
    duration_ms: int | UnsetType = UNSET
    is_over: bool = False
    # records that change nothing
    repeated: int | UnsetType = UNSET


_encoder: Final = msgspec.json.Encoder()


def to_text(said: Said) -> str:
    """A row as it travels from Python to Spark."""
    return _encoder.encode(said).decode()


RECORD: Final = schemas.table(("file", STRING), ("line", LONG), ("sequence", LONG))
_POSITION: Final = (
    ("controller_id", INT),
    ("controller_epoch", INT),
    ("sequence", LONG),
    ("at_ms", LONG),
    ("record", RECORD),
)
_LEADERSHIP: Final = (
    ("leader", INT),
    ("leader_epoch", INT),
    ("isr", BROKERS),
    ("zk_version", INT),
    ("written_epoch", INT),
)

#: `Said` as Spark has it; the names are those that the audit gives them.
SAID: Final = schemas.table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("broker_id", INT),
    *_POSITION,
    ("kind", STRING),
    ("state_before", STRING),
    ("state_after", STRING),
    ("leader_before", INT),
    ("unclean", BOOLEAN),
    *_LEADERSHIP,
    ("before", schemas.table(("kind", STRING), *_POSITION, *_LEADERSHIP)),
    (
        "assignment",
        schemas.table(
            ("controller_id", INT),
            ("controller_epoch", INT),
            ("record", RECORD),
            ("replicas", BROKERS),
            ("either", BROKERS),
        ),
    ),
    ("previous", LONG),
    ("reason", STRING),
    ("path", STRING),
    ("bounced", BOOLEAN),
    ("end_ms", LONG),
    ("duration_ms", LONG),
    ("is_over", BOOLEAN),
    ("repeated", LONG),
)
