"""Figures as people read them, on the terminal and on the page alike."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

#: What is left of a long name in a chart.
LABEL_MAX: Final = 34


def duration(ms: int | None) -> str:
    """`0 s`, `120 ms`, `2.1 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`."""
    if ms is None:
        return ""
    if ms < 1_000:
        return f"{ms} ms" if ms else "0 s"
    if ms < 60_000:
        return f"{ms / 1_000:.1f} s"
    minutes, seconds = divmod(ms // 1_000, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def moment(ms: int | None) -> str:
    """Day and time in UTC, to the millisecond."""
    if ms is None:
        return ""
    return datetime.fromtimestamp(ms / 1_000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def date(ms: int) -> str:
    """As charts take it: a number would be a year to them."""
    return datetime.fromtimestamp(ms / 1_000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def percent(share: float | None) -> str:
    """As many digits as there is something to see: `100 %`, `99.98 %`, `99.9997 %`."""
    if share is None:
        return ""
    if share >= 1:
        return "100 %"
    for digits in (2, 4, 6):
        text = f"{share * 100:.{digits}f}"
        if float(text) < 100:
            return f"{text} %"
    return "> 99.9999 %"


def nines(value: float | None) -> str:
    """Null means that there was no downtime at all."""
    return "all" if value is None else f"{value:.1f}"


def count(value: int | None) -> str:
    """With separators."""
    return "" if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """`1 topic`, `2 topics`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def strategy(name: str | None, *, unclean: bool | None) -> str:
    """Kafka's name for how a leader was chosen, without what all of them end in."""
    short = (name or "unknown").removesuffix("PartitionLeaderElectionStrategy")
    return f"{short}, unclean" if unclean else short


def partition_name(row: Mapping[str, Any]) -> str:
    """`orders-3`; only `orders` for a whole topic, and nothing for none."""
    if row["topic"] is None:
        return ""
    return row["topic"] if row.get("partition") is None else f"{row['topic']}-{row['partition']}"


def brokers(ids: Sequence[int] | None) -> str:
    """`1, 2, 3`, or a dash for nobody."""
    return ", ".join(map(str, ids or ())) or "none"


def shortened(text: str, at_most: int = LABEL_MAX) -> str:
    """The beginning and the end, which tell most names apart."""
    if len(text) <= at_most:
        return text
    head = (at_most - 1) // 2
    return f"{text[:head]}…{text[-(at_most - 1 - head) :]}"
