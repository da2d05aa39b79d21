"""Controllers' times in office, in plain Python."""

from itertools import pairwise, takewhile
from typing import NamedTuple

from regent.model import facts
from tests.pipeline.oracle.history import History, Line, duration_ms


class Reign(NamedTuple):
    """A row of `controller_reigns`."""

    cluster: str
    controller_epoch: int
    controller_id: int
    elected_ms: int | None
    loaded_ms: int | None
    replicas_started_ms: int | None
    partitions_started_ms: int | None
    first_request_ms: int | None
    last_record_ms: int
    resigned_ms: int | None
    resigned_because: str | None
    end_ms: int | None
    interregnum_ms: int | None
    records: int
    records_lost: int
    topics_loaded: int
    partitions_loaded: int
    elections: int
    requests: int


def reigns(history: History) -> list[Reign]:
    """Every controller's time in office, one after the other."""
    told: dict[tuple[int, int], list[Line]] = {}
    for line in history.lines:
        if line.record.controller_epoch > 0:
            told.setdefault(line.reign, []).append(line)
    rows = [reign_of(history.cluster, reign, lines) for reign, lines in sorted(told.items())]
    for index, (row, after) in enumerate(pairwise(rows)):
        ends = [ms for ms in (row.resigned_ms, after.elected_ms) if ms is not None]
        rows[index] = rows[index]._replace(end_ms=min(ends, default=None))
        if row.resigned_ms is not None and after.elected_ms is not None:
            waited_ms = duration_ms(min(ends), after.elected_ms)
            rows[index + 1] = after._replace(interregnum_ms=waited_ms)
    return rows


def found_by(lines: list[Line]) -> list[Line]:
    """The topics that a controller found as it took office."""
    over = facts.PartitionsStarted | facts.RequestSent
    found = takewhile(lambda line: not isinstance(line.fact, over), lines)
    return [line for line in found if isinstance(line.fact, facts.TopicLoaded)]


def reign_of(cluster: str, reign: tuple[int, int], lines: list[Line]) -> Reign:
    """One of them, as if nobody had come before or after."""

    def times_ms(kind: type[facts.FactBase]) -> list[int]:
        return [line.record.at_ms for line in lines if isinstance(line.fact, kind)]

    def first_ms(kind: type[facts.FactBase]) -> int | None:
        return next(iter(times_ms(kind)), None)

    def last_ms(kind: type[facts.FactBase]) -> int | None:
        return next(reversed(times_ms(kind)), None)

    found = found_by(lines)
    reasons = [x.fact.reason for x in lines if isinstance(x.fact, facts.ControllerResigned)]
    resigned_ms = first_ms(facts.ControllerResigned)
    return Reign(
        cluster,
        *reign,
        elected_ms=first_ms(facts.ControllerElected),
        loaded_ms=found[-1].record.at_ms if found else None,
        replicas_started_ms=last_ms(facts.ReplicasStarted),
        partitions_started_ms=last_ms(facts.PartitionsStarted),
        first_request_ms=first_ms(facts.RequestSent),
        last_record_ms=lines[-1].record.at_ms,
        resigned_ms=resigned_ms,
        resigned_because=reasons[0] if reasons else None,
        end_ms=resigned_ms,
        interregnum_ms=None,
        records=len(lines),
        records_lost=lines[-1].record.seq - lines[0].record.seq + 1 - len(lines),
        topics_loaded=len(found),
        partitions_loaded=sum(
            len(load.fact.partitions) for load in found if isinstance(load.fact, facts.TopicLoaded)
        ),
        elections=len(times_ms(facts.LeaderElected)),
        requests=len(times_ms(facts.RequestSent)),
    )
