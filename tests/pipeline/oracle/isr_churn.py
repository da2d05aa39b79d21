"""Who left and joined ISRs, in plain Python."""

from collections import Counter
from typing import NamedTuple, TypeAlias

from tests.pipeline.oracle.availability import lives
from tests.pipeline.oracle.timelines import Interval

Key: TypeAlias = tuple[str, int, str, int]


class Churn(NamedTuple):
    """A row of `isr_churn`."""

    cluster: str
    broker_id: int
    topic: str
    partition: int
    left: int
    joined: int
    out_ms: int
    last_left_ms: int | None


def isr_churn(intervals: list[Interval], until_ms: int) -> list[Churn]:
    """For each replica that came, went or was outside: how often, and for how long."""
    left: Counter[Key] = Counter()
    joined: Counter[Key] = Counter()
    out_ms: Counter[Key] = Counter()
    last_left_ms: dict[Key, int] = {}
    for name, life in lives(intervals).items():
        before: Interval | None = None
        for now in life:
            if not has_isr(now):
                continue
            is_in = set(now.isr or ())
            follows = before is not None and before.end_ms == now.start_ms
            was_in = set(before.isr or ()) if before is not None and follows else is_in
            for broker_id in was_in - is_in:
                left[now.cluster, broker_id, *name] += 1
                last_left_ms[now.cluster, broker_id, *name] = now.start_ms
            for broker_id in is_in - was_in:
                joined[now.cluster, broker_id, *name] += 1
            for broker_id in set(now.replicas or ()) - is_in:
                out_ms[now.cluster, broker_id, *name] += now.lasted_ms(until_ms)
            before = now
    return [
        Churn(*key, left[key], joined[key], out_ms[key], last_left_ms.get(key))
        for key in {*left, *joined, *out_ms}
    ]


def has_isr(interval: Interval) -> bool:
    """Before its first leader a partition has none, and nobody can be outside of it."""
    return interval.isr is not None and interval.leader_epoch != -1
