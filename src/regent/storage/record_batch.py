"""What the header of a record batch says, and whether a batch may be stored.

Only batches of magic 2 are kept. A batch is passed through as it came: records are never unpacked,
and the only bytes that a broker changes are the base offset and the leader epoch, which the
checksum leaves out for that very reason. The refusals are those of Kafka's `LogValidator` and
`ProduceRequest.validateRecords`, as values.
"""

import struct
from collections.abc import Iterator
from typing import Final, TypeAlias

from crc32c import crc32c
from msgspec import Struct

from regent.model.error_codes import ErrorCode

#: Anything that holds batches and can be sliced without copying.
Buffer: TypeAlias = bytes | bytearray | memoryview

#: Base offset, length, leader epoch, magic, checksum, attributes, last offset delta, base and
#: largest timestamp, producer id and epoch, base sequence, record count.
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
#: What a broker stamps: base offset, length, leader epoch.
STAMP: Final = struct.Struct(">qii")
_LENGTH: Final = struct.Struct(">i")

HEADER_BYTES: Final = _HEADER.size
#: The length in a header counts from behind itself.
LENGTH_END: Final = 12
STAMP_END: Final = STAMP.size
_LENGTH_AT: Final = 8
_MAGIC_AT: Final = 16
_CHECKED_FROM: Final = 21
_MAGIC: Final = 2

NO_PRODUCER_ID: Final = -1
NO_TIMESTAMP: Final = -1
_SEQUENCE_COUNT: Final = 2**31

_COMPRESSION_MASK: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_LAST_COMPRESSION: Final = 4
_KIND_MASK: Final = _COMPRESSION_MASK | _TRANSACTIONAL | _CONTROL


class BatchHeader(Struct, frozen=True, gc=False):
    """The 61 bytes before the records; `batch_bytes` counts the whole batch."""

    base_offset: int
    batch_bytes: int
    leader_epoch: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the last record."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; after the largest comes zero."""
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCE_COUNT

    @property
    def compression(self) -> int:
        """0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
        return self.attributes & _COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        """Whether it is part of a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether it holds a marker and not records of a client."""
        return bool(self.attributes & _CONTROL)


def sequence_after(sequence: int) -> int:
    """The sequence number of the record that comes next; after the largest comes zero."""
    return (sequence + 1) % _SEQUENCE_COUNT


def is_later(sequence: int, other: int) -> bool:
    """Whether a sequence number comes after another one, across the largest if need be."""
    return 0 < (sequence - other) % _SEQUENCE_COUNT < _SEQUENCE_COUNT // 2


class RecordsRefused(Struct, frozen=True, gc=False):
    """Why records are not stored: the code for the client, the sentence for people."""

    error: ErrorCode
    reason: str


class CheckedBatch(Struct, frozen=True, gc=False):
    """One batch whose bytes were found sound."""

    header: BatchHeader
    content: Buffer


def unpack_header(content: Buffer, position: int = 0) -> BatchHeader:
    """Whatever the 61 bytes say, for readers of what was checked before."""
    base_offset, length, leader_epoch, _, *others = _HEADER.unpack_from(content, position)
    return BatchHeader(base_offset, length + LENGTH_END, leader_epoch, *others)


def read_header(content: Buffer, position: int = 0) -> BatchHeader | RecordsRefused:
    """The header at `position`, if a whole batch of magic 2 can begin and end there."""
    available_bytes = len(content) - position
    if available_bytes <= _MAGIC_AT:
        return RecordsRefused(
            ErrorCode.CORRUPT_MESSAGE, f"{available_bytes} bytes are too few for a record batch"
        )
    magic = content[position + _MAGIC_AT]
    if magic != _MAGIC:
        return _wrong_magic(magic)
    (length,) = _LENGTH.unpack_from(content, position + _LENGTH_AT)
    batch_bytes = length + LENGTH_END
    if not HEADER_BYTES <= batch_bytes <= available_bytes:
        return RecordsRefused(
            ErrorCode.CORRUPT_MESSAGE,
            f"a record batch claims {batch_bytes} bytes, and {available_bytes} are there",
        )
    return unpack_header(content, position)


def _wrong_magic(magic: int) -> RecordsRefused:
    # Kafka knows the formats 0 and 1 and forbids them to clients; beyond 2 it knows nothing.
    known = magic < _MAGIC
    error = ErrorCode.INVALID_RECORD if known else ErrorCode.CORRUPT_MESSAGE
    return RecordsRefused(error, f"the batch has magic {magic}; only magic 2 is stored")


def fault_of(header: BatchHeader, content: Buffer, position: int = 0) -> str | None:
    """What is wrong with the bytes of a batch, or None: its checksum and its offsets are right."""
    # The whole is the batch, mostly; a slice of bytes would be a copy of it.
    view = memoryview(content)[position + _CHECKED_FROM : position + header.batch_bytes]
    checksum = crc32c(view)
    if checksum != header.checksum:
        return f"the checksum is {checksum:#010x} and should be {header.checksum:#010x}"
    if header.last_offset_delta < 0 or header.base_offset < 0:
        return f"the offsets {header.base_offset} to {header.last_offset} make no sense"
    return None


def split_batches(content: Buffer) -> Iterator[CheckedBatch | RecordsRefused]:
    """The batches of a sequence one by one, up to the first that is unsound; nothing is copied."""
    view = memoryview(content)
    position = 0
    while position < len(view):
        header = read_header(view, position)
        if isinstance(header, RecordsRefused):
            yield header
            return
        fault = fault_of(header, view, position)
        if fault is not None:
            yield RecordsRefused(ErrorCode.CORRUPT_MESSAGE, fault)
            return
        yield CheckedBatch(header, view[position : position + header.batch_bytes])
        position += header.batch_bytes


def check_produced(content: Buffer, batch_bytes_max: int) -> CheckedBatch | RecordsRefused:
    """The one batch that a producer may send to a partition, or why it is refused."""
    if not content:
        return RecordsRefused(ErrorCode.INVALID_RECORD, "there is no record batch")
    header = read_header(content)
    if isinstance(header, RecordsRefused):
        return header
    if header.batch_bytes != len(content):
        return RecordsRefused(
            ErrorCode.INVALID_RECORD, "there is more than one record batch for the partition"
        )
    if header.batch_bytes > batch_bytes_max:
        return RecordsRefused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {header.batch_bytes} bytes, and {batch_bytes_max} are allowed",
        )
    fault = fault_of(header, content)
    if fault is not None:
        return RecordsRefused(ErrorCode.CORRUPT_MESSAGE, fault)
    return _number_refusal(header) or _kind_refusal(header) or CheckedBatch(header, content)


def _number_refusal(header: BatchHeader) -> RecordsRefused | None:
    """Numbers that no producer may choose."""
    if header.record_count != header.last_offset_delta + 1:
        reason = f"{header.record_count} records cannot fill {header.last_offset_delta + 1} offsets"
        return RecordsRefused(ErrorCode.INVALID_RECORD, reason)
    if header.base_offset != 0:
        reason = f"the base offset is {header.base_offset} and should be 0"
        return RecordsRefused(ErrorCode.INVALID_RECORD, reason)
    if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0:
        reason = f"producer {header.producer_id} sent sequence number {header.base_sequence}"
        return RecordsRefused(ErrorCode.INVALID_RECORD, reason)
    return None


def _kind_refusal(header: BatchHeader) -> RecordsRefused | None:
    """Kinds of batches that are not stored here, or not for clients."""
    if header.attributes & _KIND_MASK <= _LAST_COMPRESSION:
        return None
    if header.is_control:
        return RecordsRefused(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.is_transactional:
        reason = "transactions are not supported"
        return RecordsRefused(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, reason)
    reason = f"compression {header.compression} is unknown"
    return RecordsRefused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)


def stamped(batch: CheckedBatch, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
    """The batch as it is stored, in two parts, so that the records need not be copied."""
    length = batch.header.batch_bytes - LENGTH_END
    return STAMP.pack(base_offset, length, leader_epoch), memoryview(batch.content)[STAMP_END:]
