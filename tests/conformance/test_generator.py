"""Scenarios by a seed: the same ones again, and only what ends the same way whenever it is done."""

from typing import get_args

from tests.conformance.generator import BATCH_SIZE, BROKERS, generate
from tests.conformance.handwritten import HANDWRITTEN
from tests.conformance.left_znodes import LEFT
from tests.conformance.lockstep import cluster_steps, group
from tests.conformance.steps import (
    AddPartitions,
    CreateTopic,
    KillBroker,
    Scenario,
    StartBroker,
    Step,
    StopBroker,
)

GENERATED = generate(7, 4 * BATCH_SIZE)


def living_after_each(scenario: Scenario) -> list[tuple[Step, set[int]]]:
    living = set(BROKERS)
    told: list[tuple[Step, set[int]]] = []
    for step in scenario.steps:
        if isinstance(step, KillBroker | StopBroker):
            assert step.broker_id in living
            living.remove(step.broker_id)
        elif isinstance(step, StartBroker):
            assert step.broker_id not in living
            living.add(step.broker_id)
        told.append((step, set(living)))
    return told


def test_a_seed_makes_the_same_scenarios_again() -> None:
    """And another seed makes others; a longer list begins with the shorter one."""
    assert generate(7, 4 * BATCH_SIZE) == GENERATED
    assert generate(7, BATCH_SIZE + 1) == GENERATED[: BATCH_SIZE + 1]
    assert generate(8, 1)[0].steps != GENERATED[0].steps


def test_a_batch_can_be_played_together() -> None:
    """What is done to brokers takes long, and is done once for all of a batch."""
    for start in range(0, len(GENERATED), BATCH_SIZE):
        batch = GENERATED[start : start + BATCH_SIZE]
        assert len({cluster_steps(each) for each in batch}) == 1


def test_somebody_lives_all_the_time_and_all_in_the_end() -> None:
    for scenario in (*GENERATED, *HANDWRITTEN):
        told = living_after_each(scenario)
        assert all(living for _, living in told)
        assert told[-1][1] == set(BROKERS)


def test_what_is_created_lies_on_the_living() -> None:
    """Regent refuses anything else, on purpose: from there on nothing could be compared."""
    for scenario in GENERATED:
        for step, living in living_after_each(scenario):
            if isinstance(step, CreateTopic | AddPartitions):
                assert {replica for place in step.replicas for replica in place} <= living


def test_all_kinds_of_steps_are_drawn() -> None:
    """Those that leave znodes are written by hand only: one plan at a time can be there."""
    drawn = {type(step).__name__ for scenario in GENERATED for step in scenario.steps}
    written = {type(step).__name__ for scenario in HANDWRITTEN for step in scenario.steps}

    assert written - drawn == {kind.__name__ for kind in LEFT}
    assert {kind.__name__ for kind in get_args(Step)} <= written


def test_names_are_used_once() -> None:
    """A topic has the name of its scenario in it."""
    names = [scenario.name for scenario in (*GENERATED, *HANDWRITTEN)]

    assert len(set(names)) == len(names)


def test_groups_have_all_scenarios() -> None:
    grouped = group((*HANDWRITTEN, *GENERATED), BATCH_SIZE)

    assert sorted(each.name for members in grouped for each in members) == sorted(
        each.name for each in (*HANDWRITTEN, *GENERATED)
    )
    assert max(map(len, grouped)) == BATCH_SIZE
