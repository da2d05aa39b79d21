"""Which partition of the offsets topic, and so which broker, is a group's own."""

from functools import lru_cache
from typing import Final

_INT_MIN: Final = -(2**31)


@lru_cache(maxsize=10_000)  # every heartbeat asks
def partition_of(group_id: str, partition_count: int) -> int:
    """Java's hash of the name, without its sign, modulo the number of partitions."""
    value = java_hash(group_id)
    # Java cannot negate the smallest int; Kafka takes 0 for it.
    return 0 if value == _INT_MIN else abs(value) % partition_count


def java_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 units, so that one outside the BMP counts as two."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF
    return value + 2 * _INT_MIN if value >= -_INT_MIN else value
