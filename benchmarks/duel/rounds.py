"""Who is faster at what: a contest, played by both in turn, several times, and the medians."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from statistics import median
from time import monotonic
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct

#: Rounds before those that count. Java is twice as fast in the third round as in the first.
WARM_UPS: Final = 2


class Named(Protocol):
    """Whoever can be told from the other."""

    @property
    def name(self) -> str:
        """`apache` or `regent`."""


Player = TypeVar("Player", bound=Named)
Made = TypeVar("Made")


class Contest(Struct, Generic[Player], frozen=True):
    """One row of the result."""

    name: str
    #: What marks its start and its end, seen from outside both.
    timed: str
    #: How many seconds this one needed.
    play: Callable[[Player], float]


def compare(
    players: Sequence[Player], contest: Contest[Player], rounds: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Both in turn, so that whatever the machine does meanwhile meets both.

    The first rounds do not count: what Java has not compiled yet, it compiles then.
    """
    took: dict[str, list[float]] = {player.name: [] for player in players}
    for number in range(1 - WARM_UPS, 1 + rounds):
        for player in players:
            seconds = contest.play(player)
            took[player.name].append(round(seconds, 3))
            which = f"round {number}" if number > 0 else "warming up"
            say(f"{contest.name}: {player.name} {seconds:.3f} s ({which})")
    counted = {name: each[WARM_UPS:] for name, each in took.items()}
    apache_s, regent_s = median(counted["apache"]), median(counted["regent"])
    return {
        "apache_s": round(apache_s, 3),
        "regent_s": round(regent_s, 3),
        "times": round(apache_s / regent_s, 2),
        "rounds": counted,
        "warming_up": {name: each[:WARM_UPS] for name, each in took.items()},
        "timed": contest.timed,
    }


def play_all(
    contests: Iterable[tuple[Sequence[Player], Contest[Player]]],
    *,
    rounds: int,
    say: Callable[[str], None],
    keep: Callable[[Mapping[str, Any]], None],
) -> Mapping[str, Any]:
    """All rows by their names; what there is so far is kept after every contest."""
    rows: dict[str, Any] = {"complete": False}
    for players, contest in contests:
        rows[contest.name] = compare(players, contest, rounds, say)
        keep(rows.copy())
    rows["complete"] = True
    keep(rows)
    return rows


class Progress:
    """Lines on stderr for whoever waits, each with the seconds since the beginning."""

    def __init__(self) -> None:
        self._began_s = monotonic()

    def say(self, line: str) -> None:
        """One more."""
        print(f"[{monotonic() - self._began_s:6.0f} s] {line}", file=sys.stderr, flush=True)

    @contextmanager
    def building(self, what: str, arena: AbstractContextManager[Made]) -> Iterator[Made]:
        """The same context, whose entry is told with its size and its seconds."""
        began_s = monotonic()
        with arena as made:
            self.say(f"an arena of {what} was built in {monotonic() - began_s:.1f} s")
            yield made
