"""Which of the oldest segments may go: deleted ones first, then too old or too many ones."""

from typing import NamedTuple

from regent.storage.log_config import LogConfig
from regent.storage.segment import Segment
from regent.storage.segment_list import SegmentList


class LogBounds(NamedTuple):
    """The offsets between which a log lives."""

    start_offset: int
    end_offset: int
    high_watermark: int


def count_expired(segments: SegmentList, config: LogConfig, bounds: LogBounds, now_ms: int) -> int:
    """How many segments from the first on may be deleted, the one that grows included.

    What is not committed stays, however old it is: a follower may still need it.
    """
    count = 0
    rest_bytes = segments.size_bytes
    for segment, end_offset in segments.with_ends(bounds.end_offset):
        if not segment.size_bytes or end_offset > bounds.high_watermark:
            break
        rest_bytes -= segment.size_bytes
        is_deleted = end_offset <= bounds.start_offset
        is_too_much = 0 <= config.retention_bytes <= rest_bytes
        if not (is_deleted or is_too_much or _is_too_old(segment, config, now_ms)):
            break
        count += 1
    return count


def _is_too_old(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    return config.retention_ms >= 0 and now_ms - segment.max_timestamp > config.retention_ms
