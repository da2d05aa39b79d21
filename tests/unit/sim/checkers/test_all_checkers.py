"""The checkers have nothing to say about runs in which nothing is wrong."""

from pathlib import Path

import pytest

from regent.broker.broker_config import IsrMode
from regent.sim import checkers
from regent.sim.checkers import all_checkers
from regent.sim.plan import draw_plan
from regent.sim.run import run
from tests.unit.sim.checkers.stage import quiet_plan


@pytest.mark.parametrize("isr_mode", IsrMode)
def test_a_quiet_run_breaks_nothing(isr_mode: IsrMode) -> None:
    """A checker that cries in peace would be switched off."""
    outcome = run(quiet_plan(isr_mode), all_checkers())

    assert (outcome.verdict, outcome.message) == (0, "")
    assert outcome.counts["records_acked"] > 10


@pytest.mark.parametrize("seed", [0, 1, 5, 19, 27])
def test_a_stormy_run_breaks_nothing(seed: int) -> None:
    """These seeds lose disks, elect uncleanly, depose controllers and revive them."""
    outcome = run(draw_plan(seed), all_checkers())

    assert (outcome.verdict, outcome.checker, outcome.message) == (0, "", "")


def test_checkers_are_made_afresh() -> None:
    """One that remembered another run would judge this one by it."""
    one, other = all_checkers(), all_checkers()

    assert not {id(checker) for checker in one} & {id(checker) for checker in other}


def test_every_checker_has_a_sentence_and_a_test() -> None:
    """A checker that nobody has seen fail is a decoration."""
    here = Path(__file__).parent

    for checker in all_checkers():
        module = type(checker).__module__
        assert (type(checker).__doc__ or "").startswith("Forbids ")
        assert module.startswith(checkers.__name__)
        assert (here / f"test_{module.rpartition('.')[2]}.py").exists(), module
