"""The document about the simulator keeps up with it."""

from pathlib import Path
from typing import Final

import pytest

from regent.journal.transcript import HEADER, KINDS
from regent.sim.character import FAULTS
from regent.sim.checkers import all_checkers

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "simulation.md"
CHECKERS: Final = tuple(type(checker).__name__ for checker in all_checkers())


@pytest.mark.parametrize("word", [*FAULTS, *KINDS, *CHECKERS])
def test_every_fault_kind_and_checker_is_explained(word: str) -> None:
    """A word in a transcript that nobody explains is noise."""
    assert f"\n| `{word}` | " in DOCUMENT.read_text()


def test_the_legend_shows_the_header_as_it_is() -> None:
    """The example is compared with the real thing, column by column."""
    assert f"\n{HEADER}\n" in DOCUMENT.read_text()
