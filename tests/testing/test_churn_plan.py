"""Schedules of faults: the same from a seed, bounded, and each fault mended by its own remedy."""

from itertools import islice

import pytest

from regent.errors import BadInput
from regent.testing.churn_plan import (
    FAULTS,
    PASSING,
    REMEDIES,
    ChurnKind,
    ChurnStep,
    plan_churn,
)

SEEDS = range(20)


def steps(seed: int, brokers: int = 3, count: int = 200) -> list[ChurnStep]:
    return list(islice(plan_churn(seed, range(1, brokers + 1)), count))


def test_a_seed_is_a_schedule() -> None:
    """So that what was found once can be found again."""
    assert steps(7) == steps(7)
    assert steps(7) != steps(8)


@pytest.mark.parametrize(("brokers", "broken_max"), [(1, 1), (2, 1), (3, 1), (5, 2), (7, 3)])
def test_a_majority_is_always_left(brokers: int, broken_max: int) -> None:
    """Otherwise a client under test could do nothing, and nothing would be tested."""
    for seed in SEEDS:
        broken = worst = 0
        for step in steps(seed, brokers):
            worst = max(worst, broken + step.is_fault)
            if step.kind not in PASSING:
                broken += 1 if step.is_fault else -1
        assert worst == broken_max


@pytest.mark.parametrize("brokers", [2, 3, 5])
def test_what_is_broken_is_mended_by_its_own_remedy(brokers: int) -> None:
    """And nothing is broken that is broken already, nor mended that is whole."""
    for seed in SEEDS:
        broken: dict[int, ChurnKind] = {}
        for step in steps(seed, brokers):
            for broker_id in step.broker_ids:
                if step.is_fault:
                    assert broker_id not in broken
                    if step.kind not in PASSING:
                        broken[broker_id] = step.kind
                else:
                    assert REMEDIES[broken.pop(broker_id)] is step.kind


def test_one_cut_at_a_time() -> None:
    """Healing undoes all of them, and the schedule must know what it undoes."""
    for seed in SEEDS:
        cuts = 0
        for step in steps(seed, 7):
            cuts += {ChurnKind.CUT: 1, ChurnKind.HEAL: -1}.get(step.kind, 0)
            assert cuts <= 1


def test_a_move_names_every_broker_that_is_well() -> None:
    """In any order: how many replicas a partition has is not known to the schedule."""
    plan = plan_churn(1, [1, 2, 3], kinds=[ChurnKind.MOVE], rest_s=(0, 0))
    moves = list(islice(plan, 50))

    assert {tuple(sorted(step.broker_ids)) for step in moves} == {(1, 2, 3)}
    assert len({step.broker_ids for step in moves}) == 6
    assert all(0 <= step.lot < 1 for step in moves)


def test_every_kind_comes_about() -> None:
    assert {step.kind for step in steps(1)} == set(ChurnKind)


def test_only_the_kinds_that_are_wanted() -> None:
    plan = plan_churn(1, [1, 2, 3], kinds=[ChurnKind.PAUSE], rest_s=(0, 0))

    assert {step.kind for step in islice(plan, 50)} == {ChurnKind.PAUSE, ChurnKind.RESUME}


def test_a_single_broker_is_not_cut_off_from_itself() -> None:
    assert ChurnKind.CUT not in {step.kind for step in steps(1, 1)}


@pytest.mark.parametrize("kinds", [[], [ChurnKind.START], [*FAULTS, ChurnKind.HEAL]])
def test_what_is_no_fault_is_refused(kinds: list[ChurnKind]) -> None:
    with pytest.raises(BadInput, match="no schedule"):
        next(plan_churn(1, [1, 2, 3], kinds=kinds))
