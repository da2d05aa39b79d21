"""The logs as they stand on the brokers' disks, and whether all of them say the same.

Segments may begin at different offsets on different brokers; the batches in them may not differ.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from regent.model.ids import TopicPartition
from regent.storage.record_batch import CheckedBatch, RecordsRefused, split_batches


def stored_batches(folder: Path) -> Iterator[CheckedBatch | RecordsRefused]:
    """The batches of one replica in order, each with a right checksum, up to one that is not."""
    for segment in sorted(folder.glob("*.log")):
        yield from split_batches(segment.read_bytes())


def differences(
    name: TopicPartition, folders: Mapping[int, Path], high_watermark: int
) -> Iterator[str]:
    """Where replicas, by broker, differ from each other below the high watermark."""
    copies = {broker_id: _committed(each, high_watermark) for broker_id, each in folders.items()}
    for broker_id, copy in copies.items():
        if isinstance(copy, str):
            yield f"{name} on broker {broker_id}: {copy}"
    sound = {broker_id: copy for broker_id, copy in copies.items() if not isinstance(copy, str)}
    for broker_id, copy in list(sound.items())[1:]:
        first_id, first = next(iter(sound.items()))
        if copy != first:
            offset = _parting(first, copy)
            yield f"{name}: brokers {first_id} and {broker_id} differ from offset {offset} on"


def _committed(folder: Path, high_watermark: int) -> list[tuple[int, bytes]] | str:
    """Offsets and bytes of the committed batches; or what is wrong with them."""
    committed: list[tuple[int, bytes]] = []
    next_offset = 0
    for batch in stored_batches(folder):
        if isinstance(batch, RecordsRefused):
            return f"after offset {next_offset - 1}: {batch.reason}"
        header = batch.header
        if header.base_offset >= high_watermark:
            break
        if header.base_offset != next_offset:
            return f"offset {header.base_offset} comes after offset {next_offset - 1}"
        committed.append((header.base_offset, bytes(batch.content)))
        next_offset = header.next_offset
    if next_offset != high_watermark:
        return f"it ends at offset {next_offset}, and {high_watermark} are committed"
    return committed


def _parting(one: list[tuple[int, bytes]], other: list[tuple[int, bytes]]) -> int:
    pairs = zip(one, other, strict=False)
    return next((ours[0] for ours, theirs in pairs if ours != theirs), -1)
