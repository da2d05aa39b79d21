"""Quantities as people type and read them: bytes, times, shares, broker ids."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from regent.errors import BadInput

# fmt: off
FACTORS: Final = {
    "": 1, "B": 1,
    "K": 10**3, "KB": 10**3, "KIB": 2**10,
    "M": 10**6, "MB": 10**6, "MIB": 2**20,
    "G": 10**9, "GB": 10**9, "GIB": 2**30,
    "T": 10**12, "TB": 10**12, "TIB": 2**40,
}
SECONDS: Final = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0}
# fmt: on
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+)?)\s*([A-Za-z]*)")
_STEPS: Final = ("", "k", "M", "G", "T", "P")


def read_bytes(text: str, option: str) -> float:
    """`500GB`, `1.5TiB` or a plain number."""
    found = _SIZE.fullmatch(text.strip())
    factor = None if found is None else FACTORS.get(found[2].upper())
    if found is None or factor is None:
        raise BadInput(f"{option}: {text!r} is no number of bytes; write it like 500GB or 1.5TiB")
    return float(found[1]) * factor


def read_seconds(text: str, option: str) -> float:
    """`10s`, `500ms`, `2m` or a plain number of seconds."""
    found = _SIZE.fullmatch(text.strip())
    factor = None if found is None else SECONDS.get(found[2].lower())
    if found is None or factor is None or float(found[1]) * factor <= 0:
        raise BadInput(f"{option}: {text!r} is no length of time; write it like 10s or 2m")
    return float(found[1]) * factor


def read_share(text: str, option: str) -> float:
    """`2%` or `0.02`."""
    number = text.strip()
    try:
        share = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise BadInput(f"{option}: {text!r} is no share below 100%; write it like 2%")
    return share


def read_ids(texts: Iterable[str], option: str) -> list[int]:
    """`1,2` and `3`, each once."""
    ids: dict[int, None] = {}
    for text in texts:
        for part in text.split(","):
            number = part.strip()
            if not (number.isascii() and number.isdigit()):
                raise BadInput(f"{option}: {part!r} is no broker id; write ids like 1,2")
            ids[int(number)] = None
    return list(ids)


def read_capacities(given: Sequence[str]) -> dict[int, float]:
    """`ID=BYTES`, or a file with one of these on each line."""
    lines: list[tuple[str, str]] = []
    for each in given:
        if "=" in each:
            lines.append(("--capacity", each))
            continue
        try:
            text = Path(each).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(
                f"--capacity {each}: this is neither ID=BYTES, such as 3=500GB, nor a file of such"
                " lines that can be read"
            ) from error
        lines += [
            (f"{each}, line {number}", line.strip())
            for number, line in enumerate(text.splitlines(), start=1)
            if line.strip()
        ]
    capacities = {}
    for where, line in lines:
        broker_id, _, size = line.partition("=")
        capacities[read_ids([broker_id], where)[0]] = read_bytes(size, where)
    return capacities


def say_amount(amount: float, unit: str) -> str:
    """`1.2 GB`, `3.4 MB/s` or `1,200`."""
    if not unit.startswith("bytes"):
        return f"{amount:,.0f}"
    step = 0
    while amount >= 999.5 and step < len(_STEPS) - 1:
        amount /= 1000
        step += 1
    number = f"{amount:.0f}" if step == 0 else f"{amount:.3g}"
    return f"{number} {_STEPS[step]}B{unit.removeprefix('bytes')}"
