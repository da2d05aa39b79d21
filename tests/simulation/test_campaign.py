"""What many runs add up to."""

from collections import Counter

import msgspec
import pytest

from regent.journal.record import SCHEMA_VERSION, Record
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.sim.campaign import (
    SOMETIMES,
    SeedSummary,
    add_up,
    count_facts,
    run_plan,
    run_seed,
    worst,
)
from regent.sim.character import FAULTS
from regent.sim.observer import Observer
from regent.sim.plan import draw_plan
from regent.sim.run import Verdict
from regent.sim.world import World

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)


def record(fact: facts.Fact, *, epoch: int = 1) -> Record:
    """A fact in an envelope that does not matter."""
    return Record(SCHEMA_VERSION, 1, 0, B1, ControllerEpoch(epoch), "", fact)


def altered(*isr: BrokerId, leader_epoch: int = 0) -> facts.IsrAltered:
    """A leader's change of the ISR of t-0."""
    return facts.IsrAltered("t", 0, B1, B1, LeaderEpoch(leader_epoch), isr, ZkVersion(1))


def elected(*isr: BrokerId, unclean: bool = False) -> facts.LeaderElected:
    """An election of t-0."""
    return facts.LeaderElected(
        "t", 0, "S", PartitionState.OFFLINE, B2, B1, LeaderEpoch(0), isr, ZkVersion(0), unclean
    )


def test_changes_by_the_leader_are_told_from_those_by_the_controller() -> None:
    """An election also shortens the ISR; only the leader does so within its epoch."""
    seen = count_facts(
        record(fact)
        for fact in (
            facts.ControllerElected(),
            elected(B1, B2, unclean=True),
            altered(B1),
            altered(B1, B2, B3),
            altered(B1, leader_epoch=1),
            facts.BrokerDown(B2, BrokerEpoch(5), bounced=True),
            facts.BrokerDown(B3, BrokerEpoch(6)),
        )
    )

    assert seen == Counter(
        failovers=1,
        elections=1,
        unclean_election=1,
        isr_shrunk_by_leader=1,
        isr_grown_by_leader=1,
        bounce_seen=1,
    )


def test_a_new_reign_compares_with_what_it_loaded_itself() -> None:
    """What an earlier controller knew says nothing about who changed it since."""
    seen = count_facts([record(elected(B1, B2)), record(altered(B1), epoch=2)])

    assert seen["isr_shrunk_by_leader"] == 0


def test_every_fault_and_every_rare_path_has_its_count_even_when_it_is_zero() -> None:
    """A path that is never taken must be seen not to be."""
    report = add_up([SeedSummary(1, Verdict.HELD, "", "", 10, 2_000, {"lose_answer": 3})], 0.5)

    assert tuple(report.faults) == FAULTS
    assert tuple(report.sometimes) == SOMETIMES
    assert not any(report.sometimes.values())
    assert (report.simulated_s, report.simulated_per_real_s) == (2.0, 4.0)


def test_rates_are_counted_by_what_they_did() -> None:
    """A chance of losing answers is no answer lost."""
    counts = {"answer_lost_after_applied": 4, "connection_reset": 2}
    report = add_up([SeedSummary(1, Verdict.HELD, "", "", 0, 0, counts)], 1.0)

    assert report.faults["lose_answer"] == 4
    assert report.faults["deliver_late"] == 2
    assert report.sometimes["answer_lost_after_applied"] == 4


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Verdict.HELD),
        ([Verdict.HELD, Verdict.HELD], Verdict.HELD),
        ([Verdict.STUCK, Verdict.HELD], Verdict.STUCK),
        ([Verdict.STUCK, Verdict.UNSAFE], Verdict.UNSAFE),
        ([Verdict.UNSAFE, Verdict.CRASHED, Verdict.STUCK], Verdict.CRASHED),
    ],
)
def test_a_crash_is_worse_than_a_broken_promise_and_that_than_no_rest(
    verdicts: list[Verdict], expected: Verdict
) -> None:
    """One exit code has to stand for all runs."""
    assert worst(verdicts) is expected


def test_a_summary_travels_as_bytes_and_without_records() -> None:
    """It comes from another process, many times."""
    summary = run_seed(4)

    packed = msgspec.json.encode(summary)
    assert msgspec.json.decode(packed, type=SeedSummary) == summary
    assert len(packed) < 4_000


def test_a_checker_that_trips_is_a_finding_of_its_seed() -> None:
    """The other seeds must go on, and nobody must take it for a run that held."""

    class Clumsy(Observer):
        def at_rest(self, world: World) -> None:
            raise KeyError(world.plan.seed)

    outcome = run_plan(draw_plan(4), [Clumsy()])

    assert (outcome.verdict, outcome.checker) == (Verdict.CRASHED, "simulator")
    assert outcome.message == "KeyError: 4"
