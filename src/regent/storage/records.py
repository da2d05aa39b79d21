"""The records inside a batch that is not compressed: building and reading them.

A broker needs this twice: for what it writes into logs of its own, and for finding the first record
that is not older than a given time. What is compressed stays shut.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from crc32c import crc32c
from msgspec import Struct

from regent.errors import ProtocolError
from regent.storage.record_batch import (
    HEADER_BYTES,
    LENGTH_END,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Buffer,
    CheckedBatch,
    RecordsRefused,
    read_header,
)

_BEFORE_CHECKSUM: Final = struct.Struct(">qiib")
_CHECKSUM: Final = struct.Struct(">I")
_AFTER_CHECKSUM: Final = struct.Struct(">hiqqqhii")
_MAGIC: Final = 2
_NO_LEADER_EPOCH: Final = -1
_VARINT_BYTES_MAX: Final = 10


class LogRecord(Struct, frozen=True, gc=False):
    """One record, with the offset and the time that its batch gives it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def build_batch(
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    timestamp: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """A batch of keys and values with base offset 0, as a producer would send it."""
    assert records, "a batch has at least one record"
    content = b"".join(_record(delta, key, value) for delta, (key, value) in enumerate(records))
    last_offset_delta = len(records) - 1
    checked = _AFTER_CHECKSUM.pack(
        0,
        last_offset_delta,
        timestamp,
        timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    checked += content
    length = HEADER_BYTES - LENGTH_END + len(content)
    head = _BEFORE_CHECKSUM.pack(0, length, _NO_LEADER_EPOCH, _MAGIC)
    return head + _CHECKSUM.pack(crc32c(checked)) + checked


def records_in(batch: CheckedBatch) -> Iterator[LogRecord]:
    """The records of a batch in order; nothing of one that is compressed."""
    header, content = batch.header, bytes(batch.content)
    if header.compression:
        return
    position = HEADER_BYTES
    for _ in range(header.record_count):
        length, position = _read_varint(content, position)
        end = position + length
        if not position < end <= len(content):
            raise ProtocolError(f"a record of {length} bytes does not fit into its batch")
        timestamp_delta, position = _read_varint(content, position + 1)
        offset_delta, position = _read_varint(content, position)
        key, position = _read_bytes(content, position)
        value, position = _read_bytes(content, position)
        header_count, position = _read_varint(content, position)
        headers = []
        for _ in range(header_count):
            name, position = _read_bytes(content, position)
            header_value, position = _read_bytes(content, position)
            headers.append(((name or b"").decode("utf-8", "replace"), header_value))
        offset = header.base_offset + offset_delta
        timestamp = header.base_timestamp + timestamp_delta
        yield LogRecord(offset, timestamp, key, value, tuple(headers))
        position = end


def batches_in(content: Buffer) -> Iterator[CheckedBatch]:
    """The batches of what a log returned; they were checked when they were stored."""
    view = memoryview(content)
    position = 0
    while position < len(view):
        header = read_header(view, position)
        assert not isinstance(header, RecordsRefused), "a log returns whole batches"
        yield CheckedBatch(header, view[position : position + header.batch_bytes])
        position += header.batch_bytes


def _record(offset_delta: int, key: bytes | None, value: bytes | None) -> bytes:
    body = b"".join(
        (b"\0", _varint(0), _varint(offset_delta), _nullable(key), _nullable(value), _varint(0))
    )
    return _varint(len(body)) + body


def _nullable(content: bytes | None) -> bytes:
    return _varint(-1) if content is None else _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """A signed number in zigzag form, seven bits in each byte, the lowest first."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_VARINT_BYTES_MAX):
        if position >= len(content):
            raise ProtocolError("a record ends inside a number")
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte <= 0x7F:
            return (value >> 1) ^ -(value & 1), position
    raise ProtocolError("a number in a record is too long")


def _read_bytes(content: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = _read_varint(content, position)
    if length < 0:
        return None, position
    if position + length > len(content):
        raise ProtocolError(f"a field of {length} bytes does not fit into its record")
    return content[position : position + length], position + length
