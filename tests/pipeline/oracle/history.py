"""What the oracle answers from: the records of one cluster, in order, each with its file."""

from pathlib import Path
from typing import NamedTuple

from regent.journal.reader import read_lines
from regent.journal.record import Record
from regent.model import facts
from regent.model.facts import Fact


class Line(NamedTuple):
    """A record, and the file it stands in."""

    record: Record
    file: str

    @property
    def fact(self) -> Fact:
        """What took hold."""
        return self.record.fact

    @property
    def reign(self) -> tuple[int, int]:
        """The controller epoch, and who was controller."""
        return self.record.controller_epoch, self.record.controller_id

    @property
    def position(self) -> tuple[int, int, int]:
        """Where this stands in the order of things; the clock has no say."""
        return self.record.controller_epoch, self.record.seq, self.record.controller_id


class History(NamedTuple):
    """All that was written down about one cluster."""

    cluster: str
    lines: list[Line]

    @property
    def until_ms(self) -> int:
        """The last moment that anybody wrote of: what still lasts, lasted until then."""
        return max(line.record.at_ms for line in self.lines)


def history_of(cluster: str, lines: list[Line]) -> History:
    """These lines, in the order of things."""
    return History(cluster, sorted(lines, key=lambda line: line.position))


def read_history(directory: Path) -> History:
    """The journal of one cluster, which has the name of its directory."""
    return history_of(
        directory.name,
        [
            Line(record, str(segment))
            for segment in sorted(directory.iterdir())
            for record in read_lines(segment)
        ],
    )


def found_in_office(history: History) -> dict[tuple[int, int], list[Line]]:
    """The topics that each controller found when it took office, if it got as far as that.

    Loading is over with the first request, or when the partition machine starts.
    """
    loading: dict[tuple[int, int], list[Line]] = {}
    loaded: dict[tuple[int, int], list[Line]] = {}
    for line in history.lines:
        if line.reign in loaded:
            continue
        found = loading.setdefault(line.reign, [])
        if isinstance(line.fact, facts.TopicLoaded):
            found.append(line)
        elif isinstance(line.fact, facts.PartitionsStarted | facts.RequestSent):
            loaded[line.reign] = found
    return loaded


def duration_ms(start_ms: int, end_ms: int) -> int:
    """From one time to another; clocks differ, and no time is shorter than none."""
    return max(0, end_ms - start_ms)
