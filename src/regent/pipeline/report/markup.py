"""Pieces of the page. Text goes out escaped, and nothing but these functions writes tags."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from msgspec import Struct

_QUOTED: Final = re.compile(r"`([^`]*)`")


class Markup(Struct, frozen=True):
    """A piece of HTML that is safe to put on the page as it is."""

    html: str

    def __str__(self) -> str:
        return self.html


def text(value: object) -> Markup:
    """Anything, as text."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def story(sentence: str) -> Markup:
    """Text in which what stands between backticks is a name."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", escape(sentence)))


def element(tag: str, *content: object, **attributes: str) -> Markup:
    """`<tag class="…">content</tag>`; a trailing underscore keeps Python's words apart."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
    )
    inside = "".join(str(text(each)) for each in content)
    return Markup(f"<{tag}{given}>{inside}</{tag}>")


def together(parts: Iterable[Markup]) -> Markup:
    """Pieces one after the other."""
    return Markup("\n".join(map(str, parts)))


def table(header: Sequence[str], rows: Sequence[Sequence[object]], kinds: str = "") -> Markup:
    """A table that scrolls by itself when it is wider than the page.

    `kinds` has a letter for each column: `n` is a figure and `t` a time, and a space neither.
    """
    classes = [{} if kind == " " else {"class_": kind} for kind in kinds.ljust(len(header))]
    head = element(
        "tr",
        *(
            element("th", name, scope="col", **named)
            for name, named in zip(header, classes, strict=True)
        ),
    )
    body = [
        element(
            "tr", *(element("td", cell, **named) for cell, named in zip(row, classes, strict=True))
        )
        for row in rows
    ]
    inner = element("table", element("thead", head), element("tbody", *body))
    return element("div", inner, class_="wide", tabindex="0")


def details(summary: str, *content: Markup, is_open: bool = False) -> Markup:
    """Something to unfold."""
    inside = "".join(map(str, content))
    state = " open" if is_open else ""
    return Markup(f"<details{state}>{element('summary', summary)}{inside}</details>")


def chart(name: str, label: str) -> Markup:
    """The place of a chart, and what it shows for those who cannot see it."""
    return element("div", class_="chart", data_chart=name, role="img", aria_label=label)


def nothing(sentence: str) -> Markup:
    """What a section says when there is nothing to show."""
    return element("p", sentence, class_="nothing")
