"""One line of the journal: a fact in its envelope, and the vocabulary that all lines share.

This module is the schema. `docs/journal.md` is generated from it and whoever builds a table from
journals derives the columns from `FIELDS`. Only more fields with a default may come without a new
`SCHEMA_VERSION`; all versions up to that one can be read.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from inspect import isclass
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from regent.model.facts import Fact, FactBase
from regent.model.ids import BrokerId, ControllerEpoch

SCHEMA_VERSION: Final = 1


class Record(Struct, frozen=True, gc=False):
    """A fact, who made it so, when, and because of what."""

    v: Annotated[int, Meta(description="The version of this schema.")]
    seq: Annotated[
        int,
        Meta(
            description="Counts the records of one controller process from 1; a jump means that "
            "records were lost."
        ),
    ]
    at_ms: Annotated[
        int,
        Meta(description="Wall time in milliseconds since 1970; for people, never for ordering."),
    ]
    controller_id: Annotated[BrokerId, Meta(description="The node that wrote this.")]
    controller_epoch: Annotated[
        ControllerEpoch, Meta(description="The epoch that this node had won when it wrote this.")
    ]
    cause: Annotated[
        str, Meta(description="The event that led to this, with its number on that node.")
    ]
    fact: Annotated[Fact, Meta(description="What took hold; `kind` says which fields it has.")]


class FactBatch(Struct, frozen=True, gc=False):
    """Facts that took hold at one moment, and what all of their records say alike."""

    first_seq: int
    at_ms: int
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    cause: str
    facts: Sequence[Fact]

    def __len__(self) -> int:
        return len(self.facts)

    def records(self) -> Iterator[Record]:
        """Each fact in its envelope."""
        at_ms, cause = self.at_ms, self.cause
        controller_id, controller_epoch = self.controller_id, self.controller_epoch
        for seq, fact in enumerate(self.facts, self.first_seq):
            yield Record(SCHEMA_VERSION, seq, at_ms, controller_id, controller_epoch, cause, fact)


class NewerSchema(ValueError):  # noqa: N818 - it is news about the file, not a fault in it
    """A line was written by a later Regent, in a schema that this one does not know."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"schema version {version} is newer than {SCHEMA_VERSION}, the newest known here; "
            "read this journal with the Regent that wrote it, or a later one"
        )
        self.version = version


class _Stamp(Struct):
    """The part of a line that every version of the schema has."""

    v: int


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
_stamp_decoder = msgspec.json.Decoder(_Stamp)


def encode(record: Record) -> bytes:
    """One JSON object without a newline; equal records give equal bytes."""
    return _encoder.encode(record)


def encode_lines(records: Sequence[Record]) -> list[bytes]:
    """What `encode` gives for each, with its newline; much faster for many."""
    # No line has a line break inside: JSON writes those as escapes.
    return _encoder.encode_lines(records).splitlines(keepends=True)


def decode(line: bytes) -> Record:
    """The record of a line; a ValueError says why there is none."""
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse_newer(line)
        raise ValueError(str(error)) from error
    if record.v > SCHEMA_VERSION:
        raise NewerSchema(record.v)
    if record.v < 1:
        raise ValueError(f"there never was a schema version {record.v}")
    return record


def _refuse_newer(line: bytes) -> None:
    """A line that does not fit our schema may still be good in a later one."""
    try:
        version = _stamp_decoder.decode(line).v
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    if version > SCHEMA_VERSION:
        raise NewerSchema(version)


# --- the vocabulary -------------------------------------------------------------------------


class FieldMeaning(Struct, frozen=True):
    """What one field name means, in whichever fact it stands."""

    name: str
    #: The type in the code, without `None`; epochs and ids are kept apart here.
    type_name: str
    #: What stands in the JSON.
    json_type: str
    #: The kinds that have it, in the order of the vocabulary.
    kinds: tuple[str, ...]
    #: Whether some kind may leave it out or set it to null.
    is_optional: bool


def kind_of(fact_class: type[Struct]) -> str:
    """The word that stands for a fact in the journal."""
    kind = fact_class.__struct_config__.tag
    assert isinstance(kind, str), f"{fact_class.__name__} has no tag"
    return kind


def collect_fields(fact_classes: tuple[type[Struct], ...]) -> Mapping[str, FieldMeaning]:
    """All field names of these facts; a TypeError when one name has two types."""
    fields: dict[str, FieldMeaning] = {}
    for fact_class in fact_classes:
        kind = kind_of(fact_class)
        hints = get_type_hints(fact_class)
        for field in msgspec.structs.fields(fact_class):
            bare = _without_none(hints[field.name])
            is_optional = bare is not hints[field.name] or not field.required
            known = fields.get(field.name)
            if known is None:
                fields[field.name] = FieldMeaning(
                    field.name, type_name(bare), json_type(bare), (kind,), is_optional
                )
                continue
            if known.type_name != type_name(bare):
                raise TypeError(
                    f"`{field.name}` is {type_name(bare)} in {kind}, "
                    f"but {known.type_name} in {known.kinds[0]}"
                )
            fields[field.name] = msgspec.structs.replace(
                known,
                kinds=(*known.kinds, kind),
                is_optional=known.is_optional or is_optional,
            )
    return MappingProxyType(fields)


def type_name(hint: Any) -> str:
    """How the code spells a type."""
    if get_origin(hint) is tuple:
        return f"tuple[{type_name(get_args(hint)[0])}, ...]"
    return str(hint.__name__)


def json_type(hint: Any) -> str:
    """What a value of a type looks like in JSON."""
    if get_origin(hint) is tuple:
        return f"array of {json_type(get_args(hint)[0])}"
    if isinstance(hint, NewType):
        return json_type(hint.__supertype__)
    assert isclass(hint), f"the journal has no JSON for {hint}"
    if issubclass(hint, Struct):
        return "object"
    if issubclass(hint, Enum):
        return "string" if issubclass(hint, str) else "integer"
    return {bool: "boolean", int: "integer", str: "string"}[hint]


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in {Union, UnionType}:
        return hint
    (bare,) = (arm for arm in get_args(hint) if arm is not NoneType)
    return bare


#: Kind to class, for every member of the vocabulary.
KINDS: Final[Mapping[str, type[FactBase]]] = MappingProxyType(
    {kind_of(fact_class): fact_class for fact_class in get_args(Fact)}
)

#: Field name to meaning, over all kinds. Importing this module is the check that names are
#: used consistently.
FIELDS: Final[Mapping[str, FieldMeaning]] = collect_fields(get_args(Fact))
