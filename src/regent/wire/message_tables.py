"""Messages as tables of fields by version, and the dataclasses in kio's form made from them.

kio has every message of Kafka 4, where those between brokers of the ZooKeeper era are gone. A
table here says once what a message holds in all its versions; `make_schema` makes of it the very
dataclass that kio would have for one version, so that kio's writers and our reader take both.
"""

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass, make_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_origin
from uuid import UUID

import kio.schema.request_header.v1 as request_header_v1
import kio.schema.request_header.v2 as request_header_v2
import kio.schema.response_header.v0 as response_header_v0
import kio.schema.response_header.v1 as response_header_v1
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64
from msgspec import Struct

#: The content of a message: every field of every version by name, lists of structs as lists of
#: the same. A version takes those that it has.
Values: TypeAlias = Mapping[str, Any]

LIST: Final = "[]"
_NEWEST: Final = 1_000

#: Kafka's names of primitive types, and what a dataclass holds for them.
PRIMITIVES: Final[Mapping[str, Any]] = {
    "bool": bool,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "string": str,
    "uuid": UUID | None,
    "error_code": KioErrorCode,
    "timedelta_i32": i32Timedelta,
}


class Items(Struct, frozen=True):
    """The type of a field that is a list of structs."""

    name: str
    fields: tuple["WireField", ...]


class WireField(Struct, frozen=True):
    """One field, and the versions that have it."""

    name: str
    #: A name of `PRIMITIVES`, with `[]` before it for a list of them; or a list of structs.
    kind: str | Items
    since: int = 0
    until: int = _NEWEST
    is_nullable: bool = False
    #: Tagged fields are numbers so far; a zero is not written.
    tag: int | None = None


class WireMessage(Struct, frozen=True):
    """A request or a response, in the versions that are defined here."""

    name: str
    api_key: int
    versions: tuple[int, int]
    flexible_since: int
    fields: tuple[WireField, ...]

    @property
    def entity_type(self) -> EntityType:
        """What kio calls it."""
        return EntityType.request if self.name.endswith("Request") else EntityType.response

    def defines(self, version: int) -> bool:
        """Whether the table is the one to use for this version."""
        first, last = self.versions
        return first <= version <= last


@cache
def make_schema(message: WireMessage, version: int) -> type[Any]:
    """The dataclass of one version, as kio would have generated it."""
    return _make_class(message, version, message.name, message.fields, message.entity_type)


def _make_class(
    message: WireMessage,
    version: int,
    name: str,
    wire_fields: tuple[WireField, ...],
    entity_type: EntityType,
) -> type[Any]:
    is_flexible = version >= message.flexible_since
    return make_dataclass(
        name,
        [
            _to_dataclass_field(message, version, wire_field)
            for wire_field in wire_fields
            if wire_field.since <= version <= wire_field.until
        ],
        namespace={
            "__type__": entity_type,
            "__version__": version,
            "__flexible__": is_flexible,
            "__api_key__": message.api_key,
            "__header_schema__": _HEADERS[message.entity_type, is_flexible],
        },
        frozen=True,
        slots=True,
        kw_only=True,
    )


_HEADERS: Final[Mapping[tuple[EntityType, bool], type[Any]]] = {
    (EntityType.request, False): request_header_v1.RequestHeader,
    (EntityType.request, True): request_header_v2.RequestHeader,
    (EntityType.response, False): response_header_v0.ResponseHeader,
    (EntityType.response, True): response_header_v1.ResponseHeader,
}


def _to_dataclass_field(
    message: WireMessage, version: int, wire_field: WireField
) -> tuple[str, Any, Any]:
    kind, metadata = wire_field.kind, {}
    annotation: Any
    if isinstance(kind, Items):
        item = _make_class(message, version, kind.name, kind.fields, EntityType.nested)
        annotation = _tuple_of(item)
    else:
        primitive = kind.removeprefix(LIST)
        metadata["kafka_type"] = primitive
        inner = PRIMITIVES[primitive]
        annotation = _tuple_of(inner) if kind.startswith(LIST) else inner
    if wire_field.is_nullable:
        annotation |= None
    if wire_field.tag is None:
        return wire_field.name, annotation, field(metadata=metadata)
    return (
        wire_field.name,
        annotation,
        field(metadata={**metadata, "tag": wire_field.tag}, default=0),
    )


def _tuple_of(inner: Any) -> Any:
    """`tuple[inner, ...]`, which a type checker would take for an annotation of ours."""
    return tuple.__class_getitem__((inner, ...))


class FieldShape(NamedTuple):
    """What the annotation of a field in kio's form says."""

    is_list: bool
    is_nullable: bool
    #: The type of the field, or of the items of the list.
    inner: Any

    @property
    def is_struct(self) -> bool:
        """Whether it is made of fields again."""
        return is_dataclass(self.inner)


def shape_of(annotation: Any) -> FieldShape:
    """Take `tuple[X, ...] | None` and its like apart."""
    is_nullable = False
    if get_origin(annotation) is UnionType:
        (annotation,) = (arg for arg in get_args(annotation) if arg is not NoneType)
        is_nullable = True
    if get_origin(annotation) is not tuple:
        return FieldShape(is_list=False, is_nullable=is_nullable, inner=annotation)
    return FieldShape(is_list=True, is_nullable=is_nullable, inner=get_args(annotation)[0])


@cache
def _lists_of_structs(schema: type[Any]) -> Mapping[str, type[Any] | None]:
    """By field of a schema: the schema of its items, if it is a list of structs."""
    shapes = {entry.name: shape_of(entry.type) for entry in fields(schema)}
    return {name: shape.inner if shape.is_struct else None for name, shape in shapes.items()}


def build(schema: type[Any], values: Values) -> Any:
    """Make a message of one version from the values for all versions."""
    content: dict[str, Any] = {}
    for name, item_schema in _lists_of_structs(schema).items():  # type: ignore[arg-type] # a class is hashable
        if name not in values:
            continue  # a tagged field, for which the dataclass has a default
        value = values[name]
        if item_schema is None or value is None:
            content[name] = value
        else:
            content[name] = tuple(build(item_schema, item) for item in value)
    return schema(**content)
