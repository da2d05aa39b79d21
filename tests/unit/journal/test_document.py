"""The page on the journal."""

from pathlib import Path

from regent.journal.document import document
from regent.journal.record import FIELDS, KINDS

PAGE = Path(__file__).parents[3] / "docs" / "journal.md"


def test_the_page_on_the_journal_is_fresh() -> None:
    """`make docs` was run after the last change of the vocabulary."""
    assert PAGE.read_text(encoding="utf-8") == document()


def test_the_page_names_every_kind_and_every_field() -> None:
    """A reader of the page misses nothing that a line can hold."""
    page = document()

    assert [name for name in (*KINDS, *FIELDS) if f"| `{name}` |" not in page] == []
