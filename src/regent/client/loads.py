"""What partitions carry, from two looks at them: values and arithmetic, nothing is asked here.

A rate is known only where a log has grown. Records that retention deletes meanwhile make a log
smaller, and then its bytes per second are not known; its records per second still are.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from regent.model.ids import TopicPartition


class PartitionSize(Struct, frozen=True):
    """One partition at one time, as its leader has it; None where that was not told."""

    size_bytes: int | None = None
    end_offset: int | None = None


UNKNOWN: Final = PartitionSize()


class LoadSample(Struct, frozen=True):
    """All partitions at one time."""

    at_ms: int
    sizes: Mapping[TopicPartition, PartitionSize]
    #: What could not be learned, a sentence each.
    gaps: tuple[str, ...] = ()


class MeasuredLoad(Struct, frozen=True):
    """A row of load samples; `docs/loads.md` says what the columns mean."""

    topic: str
    partition: int
    at_ms: int
    bytes_in_per_s: float | None
    records_in_per_s: float | None
    size_bytes: int | None


#: In the order in which they are written.
COLUMNS: Final = MeasuredLoad.__struct_fields__


def measured(sample: LoadSample, before: LoadSample | None = None) -> Iterator[MeasuredLoad]:
    """A row for each partition of which something is known; rates since the look before."""
    for name, size in sample.sizes.items():
        earlier = UNKNOWN if before is None else before.sizes.get(name, UNKNOWN)
        seconds = 0.0 if before is None else (sample.at_ms - before.at_ms) / 1_000
        load = MeasuredLoad(
            name.topic,
            name.partition,
            sample.at_ms,
            bytes_in_per_s=_rate(earlier.size_bytes, size.size_bytes, seconds),
            records_in_per_s=_rate(earlier.end_offset, size.end_offset, seconds),
            size_bytes=size.size_bytes,
        )
        if load.bytes_in_per_s is not None or load.size_bytes is not None:
            yield load


def _rate(before: int | None, after: int | None, seconds: float) -> float | None:
    if before is None or after is None or after < before or seconds <= 0:
        return None
    return (after - before) / seconds
