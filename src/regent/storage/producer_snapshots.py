"""What a log knew of its producers at some offset, in files `<offset>.producers` beside it.

A snapshot spares reading the headers of all older segments when a log is opened. Unlike Kafka's
`.snapshot` it has all five batches of a producer, so that a restart forgets nothing. A snapshot
that cannot be read is as good as none: then the log itself is read.
"""

from collections import deque
from pathlib import Path
from typing import Final

import msgspec
from crc32c import crc32c

from regent.storage.atomic_file import replace_file
from regent.storage.producers import KEPT_BATCHES, Producers, ProducerState, StoredBatch

SNAPSHOT_SUFFIX: Final = ".producers"
_CHECKSUM_BYTES: Final = 4


class SnapshotEntry(msgspec.Struct, frozen=True, array_like=True):
    """One producer."""

    producer_id: int
    producer_epoch: int
    last_seen_ms: int
    batches: list[tuple[int, int, int, int]]


def write_snapshot(directory: Path, offset: int, producers: Producers) -> None:
    """Write what holds at `offset`, the log's end at the moment."""
    entries = [
        SnapshotEntry(
            producer_id,
            state.producer_epoch,
            state.last_seen_ms,
            [msgspec.structs.astuple(batch) for batch in state.batches],
        )
        for producer_id, state in producers.states.items()
    ]
    content = msgspec.msgpack.encode(entries)
    checksum = crc32c(content).to_bytes(_CHECKSUM_BYTES, "big")
    replace_file(_path(directory, offset), checksum + content, sync=False)


def read_snapshot(directory: Path, offset: int, producers: Producers) -> bool:
    """Take over the snapshot made at `offset`; whether there is a sound one."""
    try:
        content = _path(directory, offset).read_bytes()
    except FileNotFoundError:
        return False
    checksum, body = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if int.from_bytes(checksum, "big") != crc32c(body):
        return False
    try:
        entries = msgspec.msgpack.decode(body, type=list[SnapshotEntry])
    except msgspec.DecodeError:
        return False
    for entry in entries:
        batches = deque((StoredBatch(*batch) for batch in entry.batches), maxlen=KEPT_BATCHES)
        producers.restore(
            entry.producer_id, ProducerState(entry.producer_epoch, entry.last_seen_ms, batches)
        )
    return True


def snapshot_offsets(directory: Path) -> list[int]:
    """At which offsets there are snapshots, in order."""
    return sorted(
        int(path.stem) for path in directory.glob("*" + SNAPSHOT_SUFFIX) if path.stem.isdigit()
    )


def remove_snapshot(directory: Path, offset: int) -> None:
    """Remove one, if it is there."""
    _path(directory, offset).unlink(missing_ok=True)


def _path(directory: Path, offset: int) -> Path:
    return directory / f"{offset:020d}{SNAPSHOT_SUFFIX}"
