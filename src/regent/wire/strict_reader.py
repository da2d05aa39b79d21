"""The reader of what comes from outside: strict, bounded, and never surprised.

It reads any message in kio's form. kio's own native reader is faster, and is not used: it sets
memory aside for whatever count it reads, so that five bytes of garbage abort the whole process, and
it fails on tagged fields that it does not know, which the protocol says to skip. Here a count is
held against the limits and against the bytes that are left before it is believed. Whatever is
wrong is a `ProtocolError`.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from datetime import timedelta
from functools import cache
from itertools import groupby
from typing import Any, Final, TypeAlias
from uuid import UUID

from kio.schema.errors import ErrorCode as KioErrorCode

from regent.errors import ProtocolError
from regent.wire.limits import DEFAULT_LIMITS, WireLimits
from regent.wire.message_tables import shape_of

#: A message as it came; whoever wants to change it in place has a bytearray.
Content: TypeAlias = bytes | bytearray
#: Reads one value: where it starts in which bytes, to the value and where it ends.
Read: TypeAlias = Callable[[Content, int], tuple[Any, int]]
#: Reads some fields into a dict, and says where they end.
Step: TypeAlias = Callable[[Content, int, dict[str, Any]], int]

#: Types of one size, by Kafka's names, as `struct` calls them. Neighbours are read at once.
FIXED_CODES: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
}
_UVARINT_BYTES_MAX: Final = 5
_INT32_MAX: Final = 2**31 - 1
_NULL: Final = -1


def read_payload(
    schema: type[Any], content: Content, offset: int = 0, limits: WireLimits = DEFAULT_LIMITS
) -> Any:
    """Read one message that fills `content` from `offset` to the end."""
    read = _struct_reader(schema, limits)  # type: ignore[arg-type] # a class is hashable
    return read_whole(schema.__name__, read, content, offset)


def read_whole(name: str, read: Read, content: Content, offset: int) -> Any:
    """What is read, if it fills `content` from `offset` to the end."""
    try:
        value, end = read(content, offset)
    except (struct.error, IndexError):
        raise ProtocolError(f"{name}: it ends too early") from None
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{name}: a string is not UTF-8: {error.reason}") from None
    except ProtocolError as error:
        raise ProtocolError(f"{name}: {error}") from None
    if end != len(content):
        raise ProtocolError(f"{name}: {len(content) - end} bytes are left over")
    return value


def read_uvarint(content: Content, offset: int) -> tuple[int, int]:
    """An unsigned number of up to 31 bits, seven of them in each byte."""
    value = content[offset]
    if value < 0x80:
        return value, offset + 1
    value &= 0x7F
    for position in range(1, _UVARINT_BYTES_MAX):
        byte = content[offset + position]
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            if value > _INT32_MAX:
                break
            return value, offset + position + 1
    raise ProtocolError("a variable-length number is longer than 31 bits")


def skip_tagged_fields(content: Content, offset: int) -> int:
    """Where a section of tagged fields ends of which none is of interest."""
    return _read_tagged_fields(content, offset, {}, {})


# --- structs ------------------------------------------------------------------------------------


@cache
def _struct_reader(schema: type[Any], limits: WireLimits) -> Read:
    is_flexible: bool = schema.__flexible__
    plain = [entry for entry in fields(schema) if "tag" not in entry.metadata]
    tagged = [entry for entry in fields(schema) if "tag" in entry.metadata]
    assert all(entry.default is not MISSING for entry in tagged), f"{schema} has no default"
    steps = list(_steps(plain, limits, is_flexible=is_flexible))
    if is_flexible:
        known = {
            entry.metadata["tag"]: (entry.name, _field_reader(entry, limits, is_flexible=True))
            for entry in tagged
        }
        steps.append(lambda content, at, into: _read_tagged_fields(content, at, into, known))

    def read(content: Content, offset: int) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        for step in steps:
            offset = step(content, offset, values)
        return schema(**values), offset

    return read


def _steps(plain: list[Field[Any]], limits: WireLimits, *, is_flexible: bool) -> Iterator[Step]:
    """One step for each run of numbers, and one for each other field."""
    for is_number, run in groupby(plain, key=_is_number):
        if is_number:
            yield _numbers_step(list(run))
        else:
            for entry in run:
                yield _one_step(entry.name, _field_reader(entry, limits, is_flexible=is_flexible))


def _is_number(entry: Field[Any]) -> bool:
    return entry.metadata.get("kafka_type") in FIXED_CODES and not shape_of(entry.type).is_list


def _numbers_step(run: list[Field[Any]]) -> Step:
    layout = struct.Struct(
        ">" + "".join(FIXED_CODES[entry.metadata["kafka_type"]] for entry in run)
    )
    names = tuple(entry.name for entry in run)
    unpack, size = layout.unpack_from, layout.size

    def step(content: Content, offset: int, into: dict[str, Any]) -> int:
        into.update(zip(names, unpack(content, offset), strict=True))
        return offset + size

    return step


def _one_step(name: str, read: Read) -> Step:
    def step(content: Content, offset: int, into: dict[str, Any]) -> int:
        into[name], offset = read(content, offset)
        return offset

    return step


def _read_tagged_fields(
    content: Content, offset: int, into: dict[str, Any], known: dict[int, tuple[str, Read]]
) -> int:
    """Those that are known; the others come from a later version and are skipped, KIP-482."""
    count, offset = read_uvarint(content, offset)
    for _ in range(count):
        tag, offset = read_uvarint(content, offset)
        size, offset = read_uvarint(content, offset)
        end = end_of(content, offset, size)
        if tag in known:
            name, read = known[tag]
            into[name], offset = read(content, offset)
            if offset != end:
                raise ProtocolError(f"tagged field {tag} is not as long as it says")
        offset = end
    return offset


# --- fields -------------------------------------------------------------------------------------


def _field_reader(entry: Field[Any], limits: WireLimits, *, is_flexible: bool) -> Read:
    shape = shape_of(entry.type)
    kind = entry.metadata.get("kafka_type", "")
    if not shape.is_list:
        assert not shape.is_struct, "no message here has a struct that is not in a list"
        return _primitive_reader(
            kind, limits, is_flexible=is_flexible, is_nullable=shape.is_nullable
        )
    read_count = _count_reader(limits, is_flexible=is_flexible, is_nullable=shape.is_nullable)
    if shape.is_struct:
        return _list_reader(read_count, _struct_reader(shape.inner, limits))
    if kind in FIXED_CODES:
        return _numbers_reader(read_count, FIXED_CODES[kind])
    item = _primitive_reader(kind, limits, is_flexible=is_flexible, is_nullable=False)
    return _list_reader(read_count, item)


def _primitive_reader(
    kind: str, limits: WireLimits, *, is_flexible: bool, is_nullable: bool
) -> Read:
    match kind:
        case "string":
            return _string_reader(limits, is_flexible=is_flexible, is_nullable=is_nullable)
        case "bytes":
            return _bytes_reader(is_flexible=is_flexible, is_nullable=is_nullable)
        case _:
            return _SAME_IN_BOTH_FORMS.get(kind) or _number_reader(FIXED_CODES[kind])


def _number_reader(code: str) -> Read:
    layout = struct.Struct(f">{code}")

    def read(content: Content, offset: int) -> tuple[Any, int]:
        (value,) = layout.unpack_from(content, offset)
        return value, offset + layout.size

    return read


def _read_uuid(content: Content, offset: int) -> tuple[UUID | None, int]:
    """Sixteen zero bytes stand for none."""
    end = end_of(content, offset, 16)
    number = int.from_bytes(content[offset:end], "big")
    return (UUID(int=number) if number else None), end


def _read_error_code(content: Content, offset: int) -> tuple[KioErrorCode, int]:
    """A code from a later Kafka still says that something failed."""
    (number,) = struct.unpack_from(">h", content, offset)
    try:
        return KioErrorCode(number), offset + 2
    except ValueError:
        return KioErrorCode.unknown_server_error, offset + 2


def _read_milliseconds(content: Content, offset: int) -> tuple[timedelta, int]:
    (number,) = struct.unpack_from(">i", content, offset)
    return timedelta(milliseconds=number), offset + 4


def _read_long_milliseconds(content: Content, offset: int) -> tuple[timedelta, int]:
    """There are numbers that no duration has."""
    (number,) = struct.unpack_from(">q", content, offset)
    try:
        return timedelta(milliseconds=number), offset + 8
    except OverflowError:
        raise ProtocolError(f"{number} ms are too long a time") from None


_SAME_IN_BOTH_FORMS: Final[Mapping[str, Read]] = {
    "uuid": _read_uuid,
    "error_code": _read_error_code,
    "timedelta_i32": _read_milliseconds,
    "timedelta_i64": _read_long_milliseconds,
}


def _bytes_reader(*, is_flexible: bool, is_nullable: bool) -> Read:
    """Their length is bounded by the frame that they are in."""
    read_length = _read_compact_length if is_flexible else _read_int32

    def read(content: Content, offset: int) -> tuple[bytes | None, int]:
        length, offset = read_length(content, offset)
        if length < 0:
            if length == _NULL and is_nullable:
                return None, offset
            raise ProtocolError(f"bytes have the length {length}")
        end = end_of(content, offset, length)
        return bytes(content[offset:end]), end

    return read


def _string_reader(limits: WireLimits, *, is_flexible: bool, is_nullable: bool) -> Read:
    read_length = _read_compact_length if is_flexible else _read_int16

    def read(content: Content, offset: int) -> tuple[str | None, int]:
        length, offset = read_length(content, offset)
        if length < 0:
            if length == _NULL and is_nullable:
                return None, offset
            raise ProtocolError(f"a string has the length {length}")
        if length > limits.string_bytes:
            raise ProtocolError(f"a string has {length} bytes; {limits.string_bytes} are allowed")
        end = end_of(content, offset, length)
        return content[offset:end].decode(), end

    return read


def _count_reader(limits: WireLimits, *, is_flexible: bool, is_nullable: bool) -> Read:
    read_length = _read_compact_length if is_flexible else _read_int32

    def read(content: Content, offset: int) -> tuple[int | None, int]:
        count, offset = read_length(content, offset)
        if count < 0:
            if count == _NULL and is_nullable:
                return None, offset
            raise ProtocolError(f"a list has {count} items")
        if count > limits.list_items:
            raise ProtocolError(f"a list has {count} items; {limits.list_items} are allowed")
        if count > len(content) - offset:  # an item has one byte at least
            raise ProtocolError(f"a list of {count} items has {len(content) - offset} bytes")
        return count, offset

    return read


def _list_reader(read_count: Read, read_item: Read) -> Read:
    def read(content: Content, offset: int) -> tuple[tuple[Any, ...] | None, int]:
        count, offset = read_count(content, offset)
        if count is None:
            return None, offset
        items = []
        for _ in range(count):
            item, offset = read_item(content, offset)
            items.append(item)
        return tuple(items), offset

    return read


def _numbers_reader(read_count: Read, code: str) -> Read:
    size = struct.calcsize(f">{code}")

    def read(content: Content, offset: int) -> tuple[tuple[Any, ...] | None, int]:
        count, offset = read_count(content, offset)
        if count is None:
            return None, offset
        return struct.unpack_from(f">{count}{code}", content, offset), offset + count * size

    return read


def _read_compact_length(content: Content, offset: int) -> tuple[int, int]:
    """One less than what stands there, so that 0 means null."""
    length, offset = read_uvarint(content, offset)
    return length - 1, offset


def _read_int16(content: Content, offset: int) -> tuple[int, int]:
    return struct.unpack_from(">h", content, offset)[0], offset + 2


def _read_int32(content: Content, offset: int) -> tuple[int, int]:
    return struct.unpack_from(">i", content, offset)[0], offset + 4


def end_of(content: Content, offset: int, size: int) -> int:
    """Where so many bytes end, if they are there."""
    end = offset + size
    if end > len(content):
        raise ProtocolError(f"{size} bytes are announced and {len(content) - offset} are there")
    return end
