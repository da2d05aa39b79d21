"""Outages and availability in plain Python, from the intervals of a cluster.

Only what is known counts: while nobody has said in which state a partition is, its time is neither
good nor bad. How many are in sync matters while somebody leads.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from typing import Final, NamedTuple, TypeAlias

from regent.model.states import PartitionState
from regent.pipeline.settings import DEFAULTS, Settings
from tests.pipeline.oracle.timelines import Interval, Name

Condition: TypeAlias = Callable[[Interval, Settings], bool]
#: Scope, topic, partition, broker.
Group: TypeAlias = tuple[str, str | None, int | None, int | None]


class Outage(NamedTuple):
    """A row of `outages`."""

    cluster: str
    kind: str
    topic: str
    partition: int
    start_epoch: int
    start_sequence: int
    start_ms: int
    end_ms: int | None
    duration_ms: int
    leader_before: int | None
    cause: str
    file: str
    line: None = None


class Availability(NamedTuple):
    """A row of `availability`."""

    cluster: str
    scope: str
    topic: str | None
    partition: int | None
    broker_id: int | None
    partitions: int
    total_ms: int
    offline_ms: int
    leaderless_ms: int
    under_min_isr_ms: int
    at_min_isr_ms: int
    under_replicated_ms: int
    outages: int
    longest_outage_ms: int
    availability: float | None
    nines: float | None


# --- what can be wrong with a partition -------------------------------------------------------


def is_offline(interval: Interval, _settings: Settings) -> bool:
    """The controller says so."""
    return interval.state == PartitionState.OFFLINE


def is_leaderless(interval: Interval, _settings: Settings) -> bool:
    """Nobody leads, whether or not the last leader is still on record."""
    waiting = (PartitionState.NEW, PartitionState.OFFLINE)
    return is_counted(interval) and (interval.leader == -1 or interval.state in waiting)


def is_counted(interval: Interval) -> bool:
    """Somebody has said in which state it is."""
    return interval.state is not None


def is_led(interval: Interval) -> bool:
    """Somebody leads, and has followers in sync or not."""
    return is_counted(interval) and not is_leaderless(interval, DEFAULTS)


def is_under_min_isr(interval: Interval, settings: Settings) -> bool:
    """Too few are in sync for a producer that wants its records safe."""
    return is_led(interval) and in_sync(interval) < min_isr(interval, settings)


def is_at_min_isr(interval: Interval, settings: Settings) -> bool:
    """One less, and producers are refused."""
    return is_led(interval) and in_sync(interval) == min_isr(interval, settings)


def is_under_replicated(interval: Interval, _settings: Settings) -> bool:
    """Some replica is not in sync."""
    return is_led(interval) and in_sync(interval) < len(interval.replicas or ())


def in_sync(interval: Interval) -> int:
    """How many replicas are in the ISR."""
    return len(interval.isr or ())


def min_isr(interval: Interval, settings: Settings) -> int:
    """`min.insync.replicas` of the topic."""
    return settings.topic_min_isr.get(interval.topic, settings.min_isr)


OUTAGE_KINDS: Final[dict[str, Condition]] = {
    "offline": is_offline,
    "leaderless": is_leaderless,
    "under_min_isr": is_under_min_isr,
}


# --- outages ----------------------------------------------------------------------------------


def outages(intervals: list[Interval], until_ms: int, settings: Settings) -> list[Outage]:
    """Every longest stretch of intervals in which the same thing was wrong."""
    found = []
    for kind, condition in OUTAGE_KINDS.items():
        wrong = {row for row in intervals if condition(row, settings)}
        for life in lives(intervals).values():
            for leader, stretch in stretches(life, wrong):
                found.append(told_as_outage(kind, stretch, leader, until_ms))
    return found


def lives(intervals: Iterable[Interval]) -> dict[Name, list[Interval]]:
    """The intervals of each partition, in order."""
    found: dict[Name, list[Interval]] = defaultdict(list)
    for row in sorted(intervals, key=lambda row: (row.start_epoch, row.start_sequence)):
        found[row.name].append(row)
    return found


def stretches(
    life: list[Interval], chosen: Container[Interval]
) -> list[tuple[int | None, list[Interval]]]:
    """The longest runs of chosen intervals in a life, each with who had led before it.

    A partition that was gone in between is another partition of that name.
    """
    found: list[tuple[int | None, list[Interval]]] = []
    before: Interval | None = None
    leader: int | None = None
    for row in life:
        if before is not None and before.end_ms != row.start_ms:
            before = leader = None
        if row in chosen and before is not None and before in chosen:
            found[-1][1].append(row)
        elif row in chosen:
            found.append((leader, [row]))
        leader = leader if row.leader in {None, -1} else row.leader
        before = row
    return found


def told_as_outage(
    kind: str, stretch: list[Interval], leader_before: int | None, until_ms: int
) -> Outage:
    """A stretch as a row."""
    first, last = stretch[0], stretch[-1]
    return Outage(
        first.cluster,
        kind,
        *first.name,
        first.start_epoch,
        first.start_sequence,
        first.start_ms,
        last.end_ms,
        duration_ms=sum(row.lasted_ms(until_ms) for row in stretch),
        leader_before=leader_before,
        cause=first.cause,
        file=first.file,
    )


# --- availability -----------------------------------------------------------------------------


def availability(
    intervals: list[Interval], until_ms: int, settings: Settings
) -> list[Availability]:
    """The times of each partition, summed up for topics, brokers and the whole cluster.

    A broker's are those of the partitions assigned to it, for as long as they are.
    """
    groups: dict[Group, set[Interval]] = defaultdict(set)
    for row in filter(is_counted, intervals):
        groups["partition", row.topic, row.partition, None].add(row)
        groups["topic", row.topic, None, None].add(row)
        groups["cluster", None, None, None].add(row)
        for broker_id in row.replicas or ():
            groups["broker", None, None, broker_id].add(row)
    return [
        summed_up(group, rows, lives(intervals), until_ms, settings)
        for group, rows in groups.items()
    ]


def summed_up(
    group: Group,
    rows: set[Interval],
    every_life: dict[Name, list[Interval]],
    until_ms: int,
    settings: Settings,
) -> Availability:
    """One row, from the intervals that it is about."""

    def time_ms(condition: Condition) -> int:
        return sum(row.lasted_ms(until_ms) for row in rows if condition(row, settings))

    scope, topic, partition, broker_id = group
    down = {row for row in rows if is_leaderless(row, settings)}
    waits_ms = [
        sum(row.lasted_ms(until_ms) for row in stretch)
        for life in every_life.values()
        for _, stretch in stretches(life, down)
    ]
    total_ms, down_ms = sum(row.lasted_ms(until_ms) for row in rows), sum(waits_ms)
    return Availability(
        next(iter(rows)).cluster,
        scope,
        topic,
        partition,
        broker_id,
        partitions=len({row.name for row in rows}),
        total_ms=total_ms,
        offline_ms=time_ms(is_offline),
        leaderless_ms=down_ms,
        under_min_isr_ms=time_ms(is_under_min_isr),
        at_min_isr_ms=time_ms(is_at_min_isr),
        under_replicated_ms=time_ms(is_under_replicated),
        outages=len(waits_ms),
        longest_outage_ms=max(waits_ms, default=0),
        availability=1 - down_ms / total_ms if total_ms else None,
        nines=-math.log10(down_ms / total_ms) if down_ms else None,
    )
