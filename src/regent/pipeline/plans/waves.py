"""A plan in waves that are carried out one after the other.

In a wave no partition gets more than one replica, so that a leader never feeds two newcomers at
once, and each step trades one replica for another: which for which is chosen so that the racks are
spread as well as they can be in between. Replicas on dead brokers go in the first step, because a
reassignment that keeps one could not end. The last step of each partition is the plan's own list.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from regent.errors import BadInput
from regent.pipeline.plans.goals import MovePlan
from regent.pipeline.plans.problem import NOBODY, Problem
from regent.pipeline.plans.summary import changed

Row: TypeAlias = tuple[int, ...]

#: The version that `kafka-reassign-partitions.sh` knows.
FILE_VERSION: Final = 1


class WaveMove(Struct, frozen=True):
    """A partition's next list of replicas, by broker ids."""

    topic: str
    partition: int
    replicas: Row


class Wave(Struct, frozen=True):
    """Moves that go together."""

    moves: tuple[WaveMove, ...]
    replicas_to_copy: int
    bytes_to_copy: float | None


class WaveLimits(Struct, frozen=True):
    """How much a broker may be given in one wave. A single replica over the limit goes alone."""

    moves: int | None = None
    bytes: float | None = None


def make_waves(plan: MovePlan, limits: WaveLimits | None = None) -> tuple[Wave, ...]:
    """Each partition's steps in the earliest waves that have room for them."""
    problem = plan.problem
    ids = [broker.broker_id for broker in problem.brokers]
    calendar = _Calendar(limits or WaveLimits())
    moves: list[list[WaveMove]] = []
    copies: list[int] = []
    sizes: list[float] = []
    for index in np.flatnonzero(changed(plan)).tolist():
        size = 0.0 if problem.size is None else float(problem.size[index])
        topic = problem.columns.topics[problem.columns.topic_of[index]]
        number = int(problem.columns.partition[index])
        before = held(problem.replicas[index].tolist())
        wave = -1
        for step in steps_between(before, held(plan.replicas[index].tolist()), problem):
            arriving = [broker for broker in step if broker not in before]
            wave = calendar.book(wave + 1, arriving, size)
            while len(moves) <= wave:
                moves.append([])
                copies.append(0)
                sizes.append(0.0)
            moves[wave].append(WaveMove(topic, number, tuple(ids[b] for b in step)))
            copies[wave] += len(arriving)
            sizes[wave] += size * len(arriving)
            before = step
    return tuple(
        Wave(tuple(every), count, None if problem.size is None else total)
        for every, count, total in zip(moves, copies, sizes, strict=True)
    )


class _Calendar:
    """How much each broker is given in each wave."""

    def __init__(self, limits: WaveLimits) -> None:
        self.limits = limits
        self.booked: dict[tuple[int, int], tuple[int, float]] = {}
        #: For each broker, the first wave that may have room.
        self.open_from: dict[int, int] = {}

    def book(self, earliest: int, arriving: Sequence[int], size: float) -> int:
        """The first wave from `earliest` on in which there is room, now taken."""
        wave = max([earliest, *(self.open_from.get(broker, 0) for broker in arriving)])
        while not all(self._has_room(broker, wave, size) for broker in arriving):
            wave += 1
        for broker in arriving:
            count, total = self.booked.get((broker, wave), (0, 0.0))
            self.booked[broker, wave] = (count + 1, total + size)
            while self._is_full(broker, self.open_from.get(broker, 0)):
                self.open_from[broker] = self.open_from.get(broker, 0) + 1
        return wave

    def _has_room(self, broker: int, wave: int, size: float) -> bool:
        count, total = self.booked.get((broker, wave), (0, 0.0))
        if self.limits.moves is not None and count >= self.limits.moves:
            return False
        return self.limits.bytes is None or count == 0 or total + size <= self.limits.bytes

    def _is_full(self, broker: int, wave: int) -> bool:
        count, total = self.booked.get((broker, wave), (0, 0.0))
        if self.limits.moves is not None and count >= self.limits.moves:
            return True
        return self.limits.bytes is not None and count > 0 and total >= self.limits.bytes


# --- the steps of one partition ---------------------------------------------------------------


def held(row: Sequence[int]) -> Row:
    """A row without its padding."""
    return tuple(broker for broker in row if broker != NOBODY)


def steps_between(before: Row, after: Row, problem: Problem) -> Iterator[Row]:
    """The lists that lead from one to the other, each with at most one newcomer; all the way."""
    arriving = [broker for broker in after if broker not in before]
    if len(arriving) <= 1:
        yield after
        return
    current = [b for b in before if b in after or problem.is_live[b]]
    while len(arriving) > 1:
        leaving = [broker for broker in current if broker not in after]
        replaced: list[int | None] = [*leaving] or [None]
        trades = [(old, new) for new in arriving for old in replaced]
        best = min(trades, key=lambda trade: _crowding(_traded(current, *trade), problem))
        current = _traded(current, *best)
        arriving.remove(best[1])
        yield tuple(current)
    yield after


def _traded(row: Sequence[int], old: int | None, new: int) -> list[int]:
    """The newcomer takes the place of the other, or the last one."""
    if old is None:
        return [*row, new]
    return [new if broker == old else broker for broker in row]


def _crowding(row: Sequence[int], problem: Problem) -> int:
    """In how many pairs two replicas share a rack."""
    racks = [int(problem.rack_of[broker]) for broker in row]
    return sum(racks[:i].count(rack) for i, rack in enumerate(racks))


# --- files ------------------------------------------------------------------------------------


def whole_plan(plan: MovePlan) -> tuple[WaveMove, ...]:
    """Where the plan leads, in one list."""
    return _moves(plan, plan.replicas.tolist())


def way_back(plan: MovePlan) -> tuple[WaveMove, ...]:
    """Where the partitions that the plan changes are now."""
    return _moves(plan, plan.problem.replicas.tolist())


def _moves(plan: MovePlan, rows: Sequence[Sequence[int]]) -> tuple[WaveMove, ...]:
    columns = plan.problem.columns
    ids = [broker.broker_id for broker in plan.problem.brokers]
    return tuple(
        WaveMove(
            columns.topics[columns.topic_of[index]],
            int(columns.partition[index]),
            tuple(ids[b] for b in held(rows[index])),
        )
        for index in np.flatnonzero(changed(plan)).tolist()
    )


def to_reassignment(moves: Sequence[WaveMove]) -> bytes:
    """JSON as `kafka-reassign-partitions.sh` takes it, one partition on a line."""
    lines = b",\n  ".join(map(msgspec.json.encode, moves))
    return b'{"version":%d,"partitions":[\n  %s\n]}\n' % (FILE_VERSION, lines)


def write_files(folder: Path, plan: MovePlan, waves: Sequence[Wave]) -> Mapping[str, int]:
    """`plan.json`, `rollback.json` and a file for each wave; what was written, with its moves."""
    files = {
        "plan.json": whole_plan(plan),
        "rollback.json": way_back(plan),
        **{f"wave-{number:03}.json": wave.moves for number, wave in enumerate(waves, start=1)},
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise BadInput(
            f"cannot write the plan to {folder}: {error.strerror}; choose another folder"
        ) from error
    if there:
        raise BadInput(
            f"{folder} is not empty ({there[0]} is there), and waves of two plans must not mix;"
            " choose a new folder"
        )
    for name, moves in files.items():
        (folder / name).write_bytes(to_reassignment(moves))
    return {name: len(moves) for name, moves in files.items()}
