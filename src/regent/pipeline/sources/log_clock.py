"""The time of a log line: local, without a zone, and once a year an hour that comes twice.

Of two possible times the one is taken that does not go back in its file. Threads that log at the
same moment may swap lines, so a small step back is not a change to winter time.
"""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from regent.errors import BadInput

#: Lines of one file may be swapped by no more than this.
JITTER_MS: Final = 1_000
#: Later times would not fit into a `sequence`; nor earlier ones than as long before 1970, when a
#: simulated cluster may well live.
LATEST_MS: Final = 7_258_118_400_000
_MINUTE: Final = len("2024-11-05 07:45")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of(name: str) -> ZoneInfo:
    """The zone of this name; says which names there are when there is none."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(
            f"there is no time zone {name!r}; give the zone that the brokers' clocks show,"
            " such as UTC or Europe/Berlin"
        ) from error


class LogClock:
    """Turns the times of one file, line by line, into milliseconds since 1970."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._latest_ms: int | None = None
        self._minute = ""
        self._minute_ms: tuple[int, int] = (0, 0)

    def to_ms(self, at: str) -> int:
        """The time of the next line; a ValueError when there is no such time."""
        if at[:_MINUTE] != self._minute:
            self._minute_ms = self._both(at[:_MINUTE])
            self._minute = at[:_MINUTE]
        seconds = int(at[17:19])
        if seconds > 59:
            raise ValueError(f"no minute has {seconds} seconds")
        within_ms = seconds * 1_000 + int(at[20:23])
        first, second = self._minute_ms
        ms = first + within_ms
        if first != second and self._latest_ms is not None and ms < self._latest_ms - JITTER_MS:
            ms = second + within_ms
        self._latest_ms = ms if self._latest_ms is None else max(ms, self._latest_ms)
        return ms

    def _both(self, minute: str) -> tuple[int, int]:
        """When this minute is, and when it is for the second time; mostly the same."""
        naive = datetime.strptime(minute, "%Y-%m-%d %H:%M")  # noqa: DTZ007 - the zone follows
        first, second = (
            (naive.replace(tzinfo=self._zone, fold=fold) - _EPOCH).total_seconds() * 1_000
            for fold in (0, 1)
        )
        if abs(first) > LATEST_MS:
            raise ValueError(f"{minute} is no time at which there was a Kafka")
        return int(min(first, second)), int(max(first, second))
