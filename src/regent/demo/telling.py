"""How the story is told: headings, what is done, what the controller decided, what clients felt.

Lines of the journal appear as they are written, from a thread of their own. On a terminal a last
line shows how the clients are.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.text import Text

from regent.demo.growing_journals import GrowingJournals
from regent.demo.story import Chapter
from regent.journal.transcript import HEADER, Line, transcribe
from regent.model.facts import ControllerElected, LeaderElected

WIDTH: Final = 98
LOOK_EVERY_S: Final = 0.1
#: The machinery behind the story; the journal has it.
LEFT_OUT: Final = ("partition", "replica", "request", "refused")
#: The topic that groups are kept in fills pages with what happens to it.
INTERNAL: Final = "__consumer_offsets"


class Telling:
    """On a console, from the moment that it is entered."""

    def __init__(self, console: Console, styles: Mapping[str, str]) -> None:
        self._console = console
        self._styles = styles
        self._status = console.status("", spinner="dots")
        self._journals: GrowingJournals | None = None
        self._describe_clients: Callable[[], str] | None = None
        self._began_ms = time.time_ns() // 1_000_000
        self._lock = threading.Lock()
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo telling", daemon=True)
        #: Facts by their kind, as far as they were seen.
        self.fact_counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._status.start()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._enough.set()
        self._thread.join()
        self._status.stop()

    def follow(self, journals: GrowingJournals, describe_clients: Callable[[], str]) -> None:
        """From now on, tell what is written there, and how the clients are."""
        self._journals = journals
        self._describe_clients = describe_clients

    # --- what is told -------------------------------------------------------------------------

    def begin(self, chapter: Chapter, *, is_first: bool) -> None:
        """A heading, and what is about to happen."""
        self.rule(chapter.title)
        for line in wrap(chapter.text, WIDTH):
            self._console.print(line, style="italic")
        self._console.print()
        if is_first:
            self._console.print(HEADER, style="bold")

    def rule(self, title: str) -> None:
        """A line across, with words on it."""
        self._console.print()
        self._console.print(f"── {title} ".ljust(WIDTH, "─"), style="bold")

    def act(self, what: str, kind: str = "user") -> None:
        """Something that somebody does to the cluster."""
        at_us = time.time_ns() // 1_000 - self._began_ms * 1_000
        self._print(Line(at_us, kind, what))

    def catch_up(self) -> None:
        """Tell what is in the journals by now."""
        with self._lock:
            records = [] if self._journals is None else self._journals.fresh()
            self.fact_counts.update(type(record.fact).__name__ for record in records)
            for line in transcribe(records, since_ms=self._began_ms):
                if line.kind not in LEFT_OUT and INTERNAL not in line.what:
                    self._print(line)

    def note(self, what: str) -> None:
        """What clients felt of it."""
        self._console.print(f"{'':>{HEADER.index('kind')}}{what}", style="bold cyan")

    def rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Names and values, in columns."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self._console.print(f"  {'   '.join(cells)}".rstrip())

    def judge(self, what: str, *, is_good: bool) -> None:
        """The last word."""
        self._console.print(f"\n  {what}", style="bold green" if is_good else "bold red")

    @property
    def elections(self) -> int:
        """How many leaders of partitions were elected so far."""
        return self.fact_counts[LeaderElected.__name__]

    @property
    def reigns(self) -> int:
        """How many controllers were in office so far."""
        return self.fact_counts[ControllerElected.__name__]

    # --- inside -------------------------------------------------------------------------------

    def _print(self, line: Line) -> None:
        self._console.print(Text(str(line), style=self._styles[line.kind]))

    def _run(self) -> None:
        while not self._enough.wait(LOOK_EVERY_S):
            self.catch_up()
            if self._describe_clients is not None:
                self._status.update(self._describe_clients())
