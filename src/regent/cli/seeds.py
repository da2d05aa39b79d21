"""Seeds as a person writes them: `7`, `0..99`, `0..9,20..29`."""

import re
from typing import Final

from regent.errors import BadInput

#: More than this is a slip of the finger, not a wish.
SEEDS_MAX: Final = 1_000_000

_RANGE: Final = re.compile(r"(?P<first>\d+)(?:\.\.(?P<last>\d+))?")


def parse_seeds(text: str) -> list[int]:
    """Every seed named, once and in order; the end of a range belongs to it."""
    seeds: dict[int, None] = {}
    for part in text.split(","):
        word = part.strip()
        match = _RANGE.fullmatch(word)
        if match is None:
            raise BadInput(
                f"{word!r} is not a seed or a range of seeds; "
                "write 7, or 0..99, or several with commas: 0..9,20..29"
            )
        first = int(match["first"])
        last = int(match["last"] or first)
        if last < first:
            raise BadInput(f"{word} is empty; write the smaller seed first: {last}..{first}")
        if last - first + len(seeds) >= SEEDS_MAX:
            raise BadInput(f"{text} names more than {SEEDS_MAX:,} seeds; name fewer")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return sorted(seeds)
