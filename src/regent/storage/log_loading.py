"""Opening a log: what is on disk, how much of it is whole, and what follows from it.

After a clean shutdown the files are taken at their word. After a crash every batch from the
recovery point on is checked. What is torn or damaged there was never synced, and is cut off with
all that comes after it, later segments included. Damage below the recovery point means that records
which were safe are gone: then the log is refused, because serving the rest would hide the loss.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from regent.errors import CorruptLog
from regent.model.ids import LeaderEpoch
from regent.storage.atomic_file import sync_directory
from regent.storage.clock import Clock
from regent.storage.leader_epochs import LeaderEpochs
from regent.storage.log_config import LogConfig
from regent.storage.offset_index import INDEX_SUFFIX
from regent.storage.producer_snapshots import read_snapshot, remove_snapshot, snapshot_offsets
from regent.storage.producers import Producers
from regent.storage.record_batch import BatchHeader
from regent.storage.segment import LOG_SUFFIX, Segment
from regent.storage.segment_list import SegmentList
from regent.storage.segment_scan import Damage
from regent.storage.time_index import TIME_INDEX_SUFFIX

#: What a crash, or Kafka, may leave behind unfinished.
_LITTER: Final = ("*.tmp", "*.deleted", "*.cleaned", "*.swap")

logger = logging.getLogger(__name__)


class LastKnown(Struct, frozen=True, kw_only=True):
    """What the checkpoints say of a log."""

    #: Below this everything is on the disk itself.
    recovery_point: int = 0
    start_offset: int = 0
    was_closed_cleanly: bool = False


class LoadedLog(Struct):
    """The parts of a log, fit to be used."""

    segments: SegmentList
    epochs: LeaderEpochs
    producers: Producers
    start_offset: int
    end_offset: int
    recovery_point: int


def load_log(directory: Path, config: LogConfig, known: LastKnown, clock: Clock) -> LoadedLog:
    """Open or create the log in a directory; `CorruptLog` says where it is damaged."""
    _sweep(directory)
    segments = SegmentList(directory, config.index_interval_bytes)
    try:
        return _load(segments, known, clock)
    except BaseException:
        segments.close()
        raise


def _load(segments: SegmentList, known: LastKnown, clock: Clock) -> LoadedLog:
    segments.add_found()
    if not len(segments):
        segments.add(known.start_offset)
    directory = segments.directory
    epochs, producers = LeaderEpochs(directory), Producers(clock)
    has_epochs = epochs.load()
    if known.was_closed_cleanly:
        segments.active.load()
        restore_producers(segments, producers, segments.active.end_offset)
    else:
        _recover(segments, epochs, producers, known.recovery_point)
    end_offset = segments.active.end_offset
    if not has_epochs:
        _read_epochs(segments, epochs)
    epochs.forget_from(end_offset + 1)
    start_offset = max(known.start_offset, segments.first.base_offset)
    if start_offset > end_offset:
        # The records up to the start were deleted on purpose; those after it were torn.
        while len(segments):
            segments.remove_last()
        end_offset = segments.add(start_offset).end_offset
    epochs.forget_before(start_offset)
    recovery_point = end_offset if known.was_closed_cleanly else known.recovery_point
    return LoadedLog(
        segments, epochs, producers, start_offset, end_offset, min(recovery_point, end_offset)
    )


def restore_producers(segments: SegmentList, producers: Producers, end_offset: int) -> None:
    """Know the producers as of an offset: from the last snapshot before it and the log since."""
    producers.clear()
    directory = segments.directory
    from_offset = segments.first.base_offset
    for offset in reversed(snapshot_offsets(directory)):
        if offset > end_offset or not read_snapshot(directory, offset, producers):
            remove_snapshot(directory, offset)
        else:
            from_offset = max(offset, from_offset)
            break
    for segment in segments.from_offset(from_offset):
        if segment.base_offset >= end_offset:
            return
        for header in segment.headers_from(from_offset):
            if header.base_offset >= end_offset:
                return
            producers.note(header, header.base_offset)


def _sweep(directory: Path) -> None:
    """Remove what was not finished, and indexes whose segment is gone."""
    directory.mkdir(exist_ok=True)
    for pattern in _LITTER:
        for path in directory.glob(pattern):
            path.unlink()
    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
        for path in directory.glob("*" + suffix):
            if not path.with_suffix(LOG_SUFFIX).exists():
                path.unlink()


def _recover(
    segments: SegmentList, epochs: LeaderEpochs, producers: Producers, recovery_point: int
) -> None:
    unsafe = [
        segment
        for segment in segments
        if segment is segments.active or segment.end_offset > recovery_point
    ]
    restore_producers(segments, producers, unsafe[0].base_offset)

    def note(header: BatchHeader) -> None:
        producers.note(header, header.base_offset)
        _note_epoch(epochs, header)

    for segment in unsafe:
        next_base_offset = None if segment is segments.active else segment.end_offset
        damage = _check(segment, note)
        if damage is not None:
            if segment.end_offset < recovery_point:
                raise _refusal(segment, damage)
            _cut_off(segments, segment, damage)
            return
        if next_base_offset is not None:
            if segment.end_offset > next_base_offset:
                reason = f"the next segment begins at offset {next_base_offset} already"
                raise _refusal(segment, Damage(segment.size_bytes, reason))
            segment.unload()


def _check(segment: Segment, note: Callable[[BatchHeader], None]) -> Damage | None:
    for each in segment.recover():
        if isinstance(each, Damage):
            return each
        note(each)
    return None


def _cut_off(segments: SegmentList, segment: Segment, damage: Damage) -> None:
    """End the log where the damage begins."""
    logger.warning(
        "%s: %d bytes from position %d, offset %d on are cut off: %s",
        segment.path,
        segment.size_bytes - damage.position,
        damage.position,
        segment.end_offset,
        damage.reason,
    )
    later = [each for each in segments if each.base_offset > segment.base_offset]
    if later:
        logger.warning(
            "%s: so are all %d segments after it, with %d bytes",
            segment.path,
            len(later),
            sum(each.size_bytes for each in later),
        )
        for _ in later:
            segments.remove_last()
        # Were the damage cut off first, a crash could leave a hole that nobody sees.
        sync_directory(segments.directory)
    segment.cut(damage.position)


def _refusal(segment: Segment, damage: Damage) -> CorruptLog:
    reason = (
        f"{damage.reason}; records that were safe are damaged, so this replica is not loaded: "
        "delete its folder to copy it anew from another replica"
    )
    return CorruptLog(str(segment.path), damage.position, segment.end_offset, reason)


def _read_epochs(segments: SegmentList, epochs: LeaderEpochs) -> None:
    """Make the epochs anew from the batches, which all carry theirs."""
    epochs.clear()
    for segment in segments:
        for header in segment.headers_from(segment.base_offset):
            _note_epoch(epochs, header)
    epochs.save(sync=False)


def _note_epoch(epochs: LeaderEpochs, header: BatchHeader) -> None:
    latest = epochs.latest
    if header.leader_epoch >= 0 and (latest is None or header.leader_epoch > latest):
        epochs.note(LeaderEpoch(header.leader_epoch), header.base_offset)
