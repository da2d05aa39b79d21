"""Plans in waves, and the files that they become (Q7)."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regent.dryrun.reassignment_file import parse_reassignment, read_reassignment
from regent.errors import BadInput
from regent.pipeline.plans.goals import drain, fix_offline, rebalance, set_rf
from regent.pipeline.plans.waves import (
    Wave,
    WaveLimits,
    make_waves,
    steps_between,
    to_reassignment,
    whole_plan,
    write_files,
)
from tests.pipeline.clusters import (
    SmallCluster,
    clusters,
    crowding,
    problem_of,
    replicas_after,
    replicas_before,
)

pytestmark = pytest.mark.requirement("Q7")

quick = settings(max_examples=60, deadline=None)


@quick
@given(clusters(with_dead=True), st.sampled_from([None, 1, 2]), st.sampled_from([None, 500.0]))
def test_waves_lead_to_the_plan_one_newcomer_at_a_time(
    cluster: SmallCluster, moves: int | None, size: float | None
) -> None:
    if len(cluster.dead) == len(cluster.racks):
        return
    alive = [b for b in cluster.racks if b not in cluster.dead]
    for plan in (fix_offline(cluster.problem), set_rf(cluster.problem, min(3, len(alive)))):
        lists = dict(enumerate(replicas_before(plan)))
        for wave in make_waves(plan, WaveLimits(moves, size)):
            assert len({move.partition for move in wave.moves}) == len(wave.moves)
            given_to: Counter[int] = Counter()
            for move in wave.moves:
                newcomers = set(move.replicas) - set(lists[move.partition])
                assert len(newcomers) <= 1
                given_to.update(newcomers)
                lists[move.partition] = move.replicas
            assert moves is None or max(given_to.values(), default=0) <= moves
            check_bytes(wave, size, given_to)
        assert list(lists.values()) == replicas_after(plan)


def check_bytes(wave: Wave, limit: float | None, given_to: Counter[int]) -> None:
    """Over the limit is only a replica that goes alone."""
    if limit is not None and wave.bytes_to_copy is not None and len(given_to) == 1:
        assert wave.bytes_to_copy <= limit or sum(given_to.values()) == 1


@quick
@given(clusters())
def test_racks_are_never_worse_in_between(cluster: SmallCluster) -> None:
    plan = rebalance(cluster.problem)
    before = replicas_before(plan)
    for wave in make_waves(plan):
        for move in wave.moves:
            assert crowding(move.replicas, cluster.racks) <= crowding(
                before[move.partition], cluster.racks
            )


def test_replicas_are_traded_within_their_racks() -> None:
    """From racks a, b to racks b, a: broker 3 comes for 2 and 4 for 1, not the other way round."""
    problem = problem_of([(1, 2)], {1: "a", 2: "b", 3: "b", 4: "a"})

    assert list(steps_between((0, 1), (2, 3), problem)) == [(0, 2), (2, 3)]


def test_dead_replicas_go_first_or_no_step_could_end() -> None:
    problem = problem_of([(1, 2, 3)], dict.fromkeys((1, 2, 3, 4, 5)), dead=[2, 3])

    assert list(steps_between((0, 1, 2), (0, 3, 4), problem)) == [(0, 3), (0, 3, 4)]


def test_the_files_are_what_our_own_reader_takes(tmp_path: Path) -> None:
    problem = problem_of([(1, 2), (2, 3)], dict.fromkeys((1, 2, 3, 4)))
    plan = drain(problem, [2])

    written = write_files(tmp_path / "out", plan, make_waves(plan))

    assert written == {"plan.json": 2, "rollback.json": 2, "wave-001.json": 2}
    targets = [
        (move.target.partition, move.target.replicas)
        for move in read_reassignment(tmp_path / "out" / "wave-001.json").moves
    ]
    assert targets == list(enumerate(replicas_after(plan)))
    back = read_reassignment(tmp_path / "out" / "rollback.json").moves
    assert [move.target.replicas for move in back] == [(1, 2), (2, 3)]
    with pytest.raises(BadInput, match="not empty"):
        write_files(tmp_path / "out", plan, [])


def test_each_partition_has_a_line_of_its_own() -> None:
    problem = problem_of([(1,)], dict.fromkeys((1, 2)))
    moves = whole_plan(drain(problem, [1]))

    (move,) = parse_reassignment(to_reassignment(moves).decode(), "the plan")
    assert (move.line, move.target.topic, move.target.replicas) == (2, "t", (2,))
