"""What Kafka's system tests show on real clusters, shown on simulated ones."""

from collections.abc import Sequence

import pytest

from regent.broker.broker_config import IsrMode
from regent.model.facts import BrokerDown, IsrAltered, LeaderElected, ReassignmentAdvanced
from regent.sim.character import Character, TopicPlan
from regent.sim.checkers import all_checkers
from regent.sim.observer import Acked, Observer
from regent.sim.plan import Plan, Step
from regent.sim.run import RunOutcome, Verdict, run
from regent.sim.world import World


def play(
    steps: Sequence[Step], *observers: Observer, latency_us: int = 500, safety_ms: int = 40_000
) -> RunOutcome:
    """Three brokers, one topic with three replicas, a client that appends, and these steps."""
    character = Character(
        broker_count=3,
        latency_us=latency_us,
        session_timeout_ms=2_000,
        replica_lag_ms=2_000,
        min_isr=2,
        isr_mode=IsrMode.BY_REQUEST,
        append_interval_ms=20,
        safety_ms=safety_ms,
        faults=(),
        fault_interval_ms=1,
        break_per_mille=0,
        lose_answer_per_mille=0,
        late_per_mille=0,
        stall_per_mille=0,
        topics=(TopicPlan("orders", 1_500, ((1, 2, 3), (2, 3, 1), (3, 1, 2))),),
    )
    created = Step(1_500, "create_topic", topic="orders")
    return run(Plan(1, character, (created, *steps)), [*all_checkers(), *observers])


@pytest.mark.behaviour("int-046")
@pytest.mark.requirement("B2", "B3", "B4", "S1")
@pytest.mark.parametrize("kind", ["crash", "bounce", "shut_down"])
def test_every_acknowledged_record_outlives_five_losses_of_its_leader(kind: str) -> None:
    """Killed, back before anybody could notice, or stopped in order: a new leader each time."""
    ms = {"crash": 4_000, "bounce": 20, "shut_down": 1_000}[kind]
    steps = [Step(5_000 + 6_000 * i, kind, (1 + i % 3,), ms) for i in range(5)]

    outcome = play(steps)

    assert (outcome.verdict, outcome.message) == (Verdict.HELD, "")
    assert outcome.counts[kind] == 5
    elected = [r for r in outcome.records if isinstance(r.fact, LeaderElected)]
    assert len(elected) >= 3 + 5
    assert outcome.counts["records_acked"] > 100


@pytest.mark.behaviour("int-049")
def test_the_work_goes_on_over_slow_links() -> None:
    """Latency on every link slows the client down and changes nothing else."""
    pairs = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]

    outcome = play([Step(4_000, "slow_link", pair, 150) for pair in pairs], latency_us=5_000)

    assert (outcome.verdict, outcome.message) == (Verdict.HELD, "")
    assert outcome.counts["slow_link"] == len(pairs)
    assert outcome.counts["records_acked"] > 100


@pytest.mark.behaviour("int-050")
def test_a_follower_that_is_cut_off_leaves_the_isr_and_comes_back() -> None:
    """It stays registered all the time: it is the leaders who notice, not ZooKeeper."""
    cuts = [Step(6_000, "cut_two_way", pair, 10_000) for pair in ((3, 1), (3, 2))]

    outcome = play(cuts)

    assert (outcome.verdict, outcome.message) == (Verdict.HELD, "")
    isrs = [r.fact.isr for r in outcome.records if isinstance(r.fact, IsrAltered)]
    assert any(3 not in isr for isr in isrs)
    assert any(sorted(isr) == [1, 2, 3] for isr in isrs)
    assert not any(isinstance(r.fact, BrokerDown) for r in outcome.records)


@pytest.mark.behaviour("rsg-030")
@pytest.mark.requirement("A3")
def test_clients_go_on_while_a_replica_is_being_added() -> None:
    """It is not needed for acks until it is in the ISR, however long that takes."""
    acked_ms: list[int] = []

    class Clerk(Observer):
        def record_acked(self, _world: World, acked: Acked) -> None:
            acked_ms.append(acked.at_ms)

    slow_copy = [
        Step(3_000, "reassign", (1, 2), 0, "orders"),
        Step(7_900, "stall_replication", (3,), 8_000),
        Step(8_000, "reassign", (1, 3), 0, "orders"),
    ]

    outcome = play(slow_copy, Clerk())

    assert (outcome.verdict, outcome.message) == (Verdict.HELD, "")
    phases = {
        record.fact.phase: record.at_ms
        for record in outcome.records
        if isinstance(record.fact, ReassignmentAdvanced)
    }
    started, ended = phases["A"], phases["B"]
    assert ended - started > 5_000
    assert sum(started < at_ms < ended for at_ms in acked_ms) > 50
