"""What became of plans, in plain Python: one walk over the records, and sums over all pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from regent.journal.record import Record
from regent.model import facts
from regent.pipeline.sources.planned import PlannedReplicas

Replicas = tuple[int, ...]
Name = tuple[str, int]


class WishJudged(NamedTuple):
    """A row of the table."""

    cluster: str
    plan: str
    topic: str
    partition: int
    wanted: Replicas
    replicas_before: Replicas | None
    replicas_now: Replicas | None
    is_as_wanted: bool
    outcome: str
    start_ms: int | None
    end_ms: int | None
    duration_ms: int | None
    gini_before: float | None
    gini_wanted: float | None
    gini_now: float | None


@dataclass
class Move:
    """One move of a partition."""

    before: Replicas
    target: Replicas
    start_ms: int
    end_ms: int | None = None
    outcome: str = "running"


class Walk:
    """What records of one reign say of where partitions are and how they moved."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.now: dict[Name, Replicas] = {}
        self.moves: dict[Name, list[Move]] = {}
        self.until_ms = 0
        self._rest: dict[Name, Replicas] = {}
        for record in records:
            self.until_ms = max(self.until_ms, record.at_ms)
            self._take(record)

    def _take(self, record: Record) -> None:
        match record.fact:
            case facts.TopicLoaded(topic=topic, partitions=partitions):
                for each in partitions:
                    self.now[topic, each.partition] = each.replicas
                    self._rest[topic, each.partition] = each.replicas
            case facts.AssignmentChanged(topic=topic, partition=partition, replicas=replicas):
                self.now[topic, partition] = replicas
            case facts.ReassignmentAdvanced() as advanced:
                self._advance(advanced, record.at_ms)
            case facts.TopicForgotten(topic=topic):
                for name in [name for name in self.now if name[0] == topic]:
                    self._close(name, record.at_ms, "abandoned")
                    del self.now[name]
            case _:
                pass

    def _advance(self, fact: facts.ReassignmentAdvanced, at_ms: int) -> None:
        name = (fact.topic, fact.partition)
        running = self._running(name)
        if fact.phase == "U":
            target = tuple(each for each in fact.replicas if each not in fact.removing)
            before = self._rest[name] if running is None else running.before
            if running is not None:
                self._close(name, at_ms, "replaced")
            self.moves.setdefault(name, []).append(Move(before, target, at_ms))
        elif fact.phase == "C" and running is not None:
            running.outcome = "cancelled"
        elif fact.phase == "B":
            self._close(name, at_ms, "finished")
            self._rest[name] = fact.replicas

    def _close(self, name: Name, at_ms: int, outcome: str) -> None:
        running = self._running(name)
        if running is not None:
            running.end_ms = at_ms
            running.outcome = outcome if running.outcome == "running" else running.outcome

    def _running(self, name: Name) -> Move | None:
        moves = self.moves.get(name)
        return moves[-1] if moves and moves[-1].end_ms is None else None


def plan_vs_actual(
    cluster: str, records: Sequence[Record], planned: Sequence[PlannedReplicas]
) -> list[WishJudged]:
    """Every wish of every plan."""
    walk = Walk(records)
    rows = []
    for wish in planned:
        of_plan = [each for each in planned if each.plan == wish.plan]
        move = _move_to(walk, wish)
        now = walk.now.get((wish.topic, wish.partition))
        end_ms = None if move is None else move.end_ms
        rows.append(
            WishJudged(
                cluster,
                wish.plan,
                wish.topic,
                wish.partition,
                wish.wanted,
                replicas_before=None if move is None else move.before,
                replicas_now=now,
                is_as_wanted=now == wish.wanted,
                outcome=_outcome(move, now, wish.wanted),
                start_ms=None if move is None else move.start_ms,
                end_ms=end_ms,
                duration_ms=None if move is None else (end_ms or walk.until_ms) - move.start_ms,
                **_ginis(walk, of_plan),
            )
        )
    return rows


def _move_to(walk: Walk, wish: PlannedReplicas) -> Move | None:
    moves = walk.moves.get((wish.topic, wish.partition), [])
    return next((move for move in reversed(moves) if move.target == wish.wanted), None)


def _outcome(move: Move | None, now: Replicas | None, wanted: Replicas) -> str:
    if move is not None:
        return move.outcome
    if now is None:
        return "no such partition"
    return "already there" if now == wanted else "not started"


def _ginis(walk: Walk, of_plan: Sequence[PlannedReplicas]) -> dict[str, float | None]:
    before, wanted = dict(walk.now), dict(walk.now)
    for wish in of_plan:
        name = (wish.topic, wish.partition)
        if name in walk.now:
            wanted[name] = wish.wanted
            move = _move_to(walk, wish)
            before[name] = walk.now[name] if move is None else move.before
    placements = {"before": before, "wanted": wanted, "now": walk.now}
    brokers = {each for one in placements.values() for held in one.values() for each in held}
    return {
        f"gini_{name}": _gini([_held_by(broker, one) for broker in brokers])
        for name, one in placements.items()
    }


def _held_by(broker: int, placement: dict[Name, Replicas]) -> int:
    return sum(broker in held for held in placement.values())


def _gini(counts: Sequence[int]) -> float | None:
    """Half of the mean difference between any two, in terms of the mean."""
    if not sum(counts):
        return None
    apart = sum(abs(one - other) for one, other in product(counts, repeat=2))
    return apart / (2 * len(counts) * sum(counts))
