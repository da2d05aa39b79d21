"""How a benchmark shows what it measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec


def per_second(count: int, seconds: float) -> int:
    """A rate in whole numbers; more would be noise."""
    return round(count / seconds)


def show(figures: Mapping[str, Any], *, as_json: bool) -> None:
    """Print as JSON, or as lines of a name and its values, one column for each size."""
    if as_json:
        print(to_json(figures).decode())
    else:
        for name, values in _rows(figures):
            print(f"{name:32}" + "".join(f"{value!s:>14}" for value in values))


def to_json(figures: Mapping[str, Any]) -> bytes:
    """Indented, so that two runs can be compared line by line."""
    return msgspec.json.format(msgspec.json.encode(figures), indent=2)


def _rows(figures: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    for name, value in figures.items():
        if isinstance(value, list):
            for inner in value[0]:
                yield inner, [entry[inner] for entry in value]
        else:
            yield name, [value]
