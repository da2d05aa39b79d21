"""Elections, and how long they were waited for, in plain Python."""

import math
from collections import defaultdict
from typing import NamedTuple

from regent.model import facts
from regent.pipeline.settings import DEFAULTS
from tests.pipeline.oracle.availability import is_leaderless, lives, stretches
from tests.pipeline.oracle.history import History, duration_ms
from tests.pipeline.oracle.timelines import Brokers, Interval


class Election(NamedTuple):
    """A row of `elections`."""

    cluster: str
    topic: str
    partition: int
    controller_epoch: int
    sequence: int
    at_ms: int
    strategy: str
    unclean: bool
    state_before: str
    leader_before: int
    leader: int
    leader_epoch: int
    isr: Brokers
    failed_ms: int | None
    latency_ms: int | None
    cause: str
    file: str
    line: None = None


class Latency(NamedTuple):
    """A row of `election_latency`."""

    cluster: str
    strategy: str
    unclean: bool
    elections: int
    after_failure: int
    p50_ms: int | None
    p95_ms: int | None
    p99_ms: int | None
    max_ms: int | None


def elections(history: History, intervals: list[Interval]) -> list[Election]:
    """Every election; one that ended a time without a leader says since when that had lasted."""
    waiting_since = waits(history, intervals)
    rows = []
    for record, file in history.lines:
        fact = record.fact
        if not isinstance(fact, facts.LeaderElected):
            continue
        failed_ms = waiting_since.get(
            (fact.topic, fact.partition, record.controller_epoch, record.seq)
        )
        rows.append(
            Election(
                history.cluster,
                fact.topic,
                fact.partition,
                record.controller_epoch,
                record.seq,
                record.at_ms,
                fact.strategy,
                fact.unclean,
                fact.before,
                fact.leader_before,
                fact.leader,
                fact.leader_epoch,
                fact.isr,
                failed_ms,
                None if failed_ms is None else duration_ms(failed_ms, record.at_ms),
                record.cause,
                file,
            )
        )
    return rows


def waits(history: History, intervals: list[Interval]) -> dict[tuple[str, int, int, int], int]:
    """For each interval that ended a time without a leader: since when that had lasted.

    One that nobody ever led waits for nothing that it had. What a controller finds without a leader
    as it takes office has been so at least since it was elected.
    """
    elected_ms = {
        line.reign: line.record.at_ms
        for line in history.lines
        if isinstance(line.fact, facts.ControllerElected)
    }
    down = {row for row in intervals if is_leaderless(row, DEFAULTS)}
    since: dict[tuple[str, int, int, int], int] = {}
    for name, life in lives(intervals).items():
        for _, stretch in stretches(life, down):
            first, last = stretch[0], stretch[-1]
            after = next(iter(life[life.index(last) + 1 :]), None)
            if after is None or after.start_ms != last.end_ms or last.leader_epoch == -1:
                continue
            was_found = first.kind == "partitions_started"
            reign = (first.start_epoch, first.controller_id)
            since[*name, after.start_epoch, after.start_sequence] = (
                elected_ms[reign] if was_found else first.start_ms
            )
    return since


def election_latency(rows: list[Election]) -> list[Latency]:
    """How long partitions waited for a leader, by kind of election."""
    groups: dict[tuple[str, str, bool], list[Election]] = defaultdict(list)
    for row in rows:
        groups[row.cluster, row.strategy, row.unclean].append(row)
    found = []
    for key, group in groups.items():
        waits = sorted(row.latency_ms for row in group if row.latency_ms is not None)
        ranks = [percentile(waits, share) for share in (0.5, 0.95, 0.99, 1.0)]
        found.append(Latency(*key, len(group), len(waits), *ranks))
    return found


def percentile(waits: list[int], share: float) -> int | None:
    """What such a share of the waits does not exceed; between two of them, in proportion."""
    if not waits:
        return None
    place = share * (len(waits) - 1)
    below, above = waits[math.floor(place)], waits[math.ceil(place)]
    return math.floor(below + (above - below) * (place - math.floor(place)) + 0.5)
