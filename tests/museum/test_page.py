"""The page on the museum is made from the tests, and is fresh."""

from pathlib import Path

from tests.museum.__main__ import page

PAGE = Path(__file__).parents[2] / "docs" / "museum.md"


def test_the_page_on_the_museum_is_fresh() -> None:
    """Every fault of the catalogue has a test or a reason; `make docs` writes the page anew."""
    assert PAGE.read_text(encoding="utf-8") == page()
