"""Seeds as people write them."""

import pytest

from regent.cli.seeds import parse_seeds
from regent.errors import BadInput


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("7", [7]),
        ("0..3", [0, 1, 2, 3]),
        ("5..5", [5]),
        ("0..2,20..21", [0, 1, 2, 20, 21]),
        (" 3 , 1 ", [1, 3]),
        ("1..3,2..4", [1, 2, 3, 4]),
    ],
)
def test_both_ends_of_a_range_belong_to_it_and_no_seed_comes_twice(
    text: str, seeds: list[int]
) -> None:
    """A seed that ran twice would be counted twice."""
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "write 7, or 0..99"),
        ("all", "'all' is not a seed"),
        ("1-5", "write 7, or 0..99"),
        ("1..", "write 7, or 0..99"),
        ("-3", "write 7, or 0..99"),
        ("1,,2", "write 7, or 0..99"),
        ("9..3", "write the smaller seed first: 3..9"),
        ("0..99999999", "name fewer"),
    ],
)
def test_what_is_no_range_is_refused_with_what_to_write_instead(text: str, hint: str) -> None:
    """One sentence must be enough to get it right the second time."""
    with pytest.raises(BadInput, match=hint):
        parse_seeds(text)
