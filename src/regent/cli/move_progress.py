"""How far moves are, while somebody waits: a bar on a terminal, elsewhere a line per change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from regent.cli.printing import stderr
from regent.client.verification import Arrival, MoveChecked


class MoveProgress:
    """Shows one look after another; results are for others to print."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("")
        self._said = ""

    def show(self, label: str, checked: Sequence[MoveChecked]) -> None:
        """One look at the moves of one wave."""
        arrived = sum(1 for each in checked if each.arrival is Arrival.DONE)
        wanted = sum(len(each.target) for each in checked)
        in_sync = f"{sum(each.in_sync for each in checked):,} of {wanted:,} replicas in sync"
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task,
                description=f"{label}, {in_sync}",
                completed=arrived,
                total=len(checked),
            )
            return
        line = f"{label}: {arrived:,} of {len(checked):,} partitions have arrived, {in_sync}"
        if line != self._said:
            stderr().print(line)
            self._said = line


@contextmanager
def move_progress() -> Iterator[MoveProgress]:
    """On stderr, so that stdout has the results alone."""
    console = stderr()
    if not console.is_terminal:
        yield MoveProgress(None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        yield MoveProgress(bar)
