"""Rows of Spark and rows of plain Python, compared one by one."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

SHOWN = 5


def differences(rows: Iterable[tuple[Any, ...]], expected: Iterable[tuple[Any, ...]]) -> list[str]:
    """What only one of the two has, a few rows of each; nothing when they are the same."""
    told, wanted = Counter(map(comparable, rows)), Counter(map(comparable, expected))
    extra, missing = told - wanted, wanted - told
    return [
        *(f"only Spark:  {row}" for row in sorted(extra.elements(), key=str)[:SHOWN]),
        *(f"only oracle: {row}" for row in sorted(missing.elements(), key=str)[:SHOWN]),
        *([f"{extra.total()} and {missing.total()} in all"] if extra or missing else []),
    ]


def comparable(value: Any) -> Any:
    """Lists become hashable; the last digits of a logarithm are its maker's own."""
    if isinstance(value, tuple | list):
        return tuple(map(comparable, value))
    return round(value, 9) if isinstance(value, float) else value
