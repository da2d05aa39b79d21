"""Reading a segment from one batch to the next.

`headers` trusts what was stored and is for finding a place. `checked_headers` trusts nothing: it
reads every byte, which is how a log finds out after a crash what of it is whole.
"""

import os
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from regent.storage.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    RecordsRefused,
    fault_of,
    read_header,
    unpack_header,
)

#: A little more than lies between two entries of the index.
_WINDOW_BYTES: Final = 8 * 1024
_CHUNK_BYTES: Final = 1024 * 1024

PlacedHeader: TypeAlias = tuple[int, BatchHeader]


class Damage(Struct, frozen=True, gc=False):
    """From which position on a segment cannot be read, and why."""

    position: int
    reason: str


def headers(descriptor: int, position: int, end: int) -> Iterator[PlacedHeader | Damage]:
    """The batches between two positions, of which the first begins one."""
    window, window_start = b"", position
    while position < end:
        if position + HEADER_BYTES > window_start + len(window):
            window = os.pread(descriptor, _WINDOW_BYTES, position)
            window_start = position
            if len(window) < HEADER_BYTES:
                yield Damage(position, "the file ends inside a header")
                return
        header = unpack_header(window, position - window_start)
        if not HEADER_BYTES <= header.batch_bytes <= end - position:
            yield Damage(position, f"a batch claims {header.batch_bytes} bytes")
            return
        yield position, header
        position += header.batch_bytes


def checked_headers(
    descriptor: int, end: int, first_offset: int
) -> Iterator[PlacedHeader | Damage]:
    """All batches of a file, each with a right checksum and an offset that follows."""
    position = 0
    chunk, chunk_start = b"", 0
    while position < end:
        header = read_header(chunk, position - chunk_start)
        if isinstance(header, RecordsRefused) and (position > chunk_start or not chunk):
            # Perhaps it only does not end within the chunk.
            chunk, chunk_start = _chunk_at(descriptor, position, end), position
            header = read_header(chunk)
        if isinstance(header, RecordsRefused):
            yield Damage(position, header.reason)
            return
        fault = fault_of(header, chunk, position - chunk_start)
        if fault is None and header.base_offset < first_offset:
            fault = f"offset {header.base_offset} comes after offset {first_offset - 1}"
        if fault is not None:
            yield Damage(position, fault)
            return
        yield position, header
        position += header.batch_bytes
        first_offset = header.next_offset


def _chunk_at(descriptor: int, position: int, end: int) -> bytes:
    """A chunk, or the whole batch that begins there if it says that it is larger."""
    chunk = os.pread(descriptor, min(_CHUNK_BYTES, end - position), position)
    if len(chunk) >= HEADER_BYTES:
        batch_bytes = unpack_header(chunk).batch_bytes
        if len(chunk) < batch_bytes <= end - position:
            return os.pread(descriptor, batch_bytes, position)
    return chunk
