"""A failing run is cut to what matters."""

import pytest
from msgspec.structs import replace

from regent.sim.campaign import run_plan
from regent.sim.plan import Plan, draw_plan
from regent.sim.run import Verdict
from regent.sim.shrink import RATES, SAFETY_MS_MIN, shrink
from tests.simulation.planted import ELECTION, trip


def big_plan() -> Plan:
    """A drawn plan with much to leave out."""
    return next(
        plan
        for plan in map(draw_plan, range(1_000))
        if {"crash", "depose"} <= {step.kind for step in plan.steps}
        and len(plan.steps) > 30
        and len(plan.character.topics) > 2
        and any(getattr(plan.character, rate) for rate in RATES)
    )


def test_only_what_the_failure_needs_is_left() -> None:
    """The predicate stands for a bug that takes a crash and then a deposition."""

    def still_fails(plan: Plan) -> bool:
        kinds = [step.kind for step in plan.steps]
        return "crash" in kinds and "depose" in kinds[kinds.index("crash") :]

    plan = big_plan()
    assert still_fails(plan)

    short = shrink(plan, still_fails)

    assert [step.kind for step in short.steps] == ["crash", "depose"]
    assert short.character.topics == ()
    assert short.character.safety_ms <= max(short.steps[-1].at_ms + 1_000, SAFETY_MS_MIN)
    assert [getattr(short.character, rate) for rate in RATES] == [0] * len(RATES)


def test_partitions_go_when_their_topic_must_stay() -> None:
    """A topic of one partition is easier to follow than one of five."""
    plan = big_plan()

    short = shrink(plan, lambda candidate: len(candidate.character.topics) > 0)

    (topic,) = short.character.topics
    assert len(topic.assignment) == 1
    assert short.steps == ()


def test_what_cannot_be_shorter_stays_as_it_is() -> None:
    """A plan that fails only as a whole is its own shortest."""
    plan = big_plan()

    assert shrink(plan, lambda candidate: candidate == plan) == plan


def test_the_tries_are_bounded() -> None:
    """A long run must not be tried for ever."""
    tried: list[Plan] = []

    def still_fails(plan: Plan) -> bool:
        tried.append(plan)
        return False

    shrink(big_plan(), still_fails, tries_max=10)

    assert len(tried) == 10


def test_a_planted_crash_is_cut_to_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing: an election that raises needs a topic and somebody who dies, no more."""
    monkeypatch.setattr(ELECTION, trip)
    plan = next(
        plan
        for plan in (draw_plan(seed, safety_ms=10_000) for seed in range(100))
        if len(plan.steps) >= 8 and run_plan(plan).verdict is Verdict.CRASHED
    )

    def still_fails(candidate: Plan) -> bool:
        return run_plan(candidate).verdict is Verdict.CRASHED

    short = shrink(plan, still_fails)

    assert still_fails(short)
    assert len(short.steps) <= 4
    assert "create_topic" in {step.kind for step in short.steps}
    assert replace(short, steps=(), character=plan.character) == replace(plan, steps=())
