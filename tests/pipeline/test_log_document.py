"""The page on Kafka's logs (Q1)."""

from pathlib import Path

import pytest

from regent.pipeline.sources.log_document import document
from regent.pipeline.sources.log_grammar import GRAMMAR
from regent.pipeline.sources.log_shapes import LOG_KINDS

PAGE = Path(__file__).parents[2] / "docs" / "kafka-logs.md"

pytestmark = pytest.mark.requirement("Q1")


def test_the_page_on_logs_is_fresh() -> None:
    """`make docs` was run after the last change of the grammar."""
    assert PAGE.read_text(encoding="utf-8") == document()


def test_the_page_names_every_shape_and_every_kind() -> None:
    """A reader of the page misses nothing that a line can become."""
    page = document()
    names = [shape.name for table in GRAMMAR for shape in table.shapes]

    assert [name for name in (*names, *LOG_KINDS) if f"| `{name}` |" not in page] == []
