"""How results look on a screen. Colours are for terminals; a file or pipe gets plain text."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

import regent

VERSION: Final = regent.__version__

#: The colour of a line in the transcript, by its kind.
STYLES: Final = {
    "fault": "bold red",
    "user": "bold magenta",
    "node": "red",
    "controller": "bold yellow",
    "broker": "yellow",
    "topic": "cyan",
    "partition": "cyan",
    "replica": "dim",
    "election": "bold green",
    "isr": "green",
    "request": "dim",
    "refused": "magenta",
    "phase": "bold blue",
}


def stdout() -> Console:
    """Where results go. Nothing is wrapped, so that a line of the transcript stays one line."""
    return Console(highlight=False, soft_wrap=True, markup=False)


def stderr() -> Console:
    """Where progress and trouble go."""
    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


def print_table(
    console: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Ruled on a terminal; elsewhere plain columns, which other tools can take apart."""
    if console.is_terminal:
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    else:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        console.print(title)
        for line in (header, *rows):
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            console.print(f"  {'  '.join(cells)}".rstrip())
    console.print()
