"""The transcript: every fact has words, and columns stay where they are."""

from typing import get_args

from regent.journal.fact_words import WORDS
from regent.journal.transcript import HEADER, KINDS, Line
from regent.model.facts import Fact, LeaderElected
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.sim.plan import Step, draw_plan
from regent.sim.run import run
from regent.sim.steps import STEPS
from regent.sim.trace import Trace, describe_step


def test_every_fact_has_words() -> None:
    """A fact that comes to the vocabulary must come to the transcript."""
    assert set(WORDS) == set(get_args(Fact))
    assert {kind for kind, _ in WORDS.values()} <= set(KINDS)


def test_every_step_is_told_with_its_kind() -> None:
    """Whoever looks for a fault in a transcript looks for its name."""
    for kind in STEPS:
        told = describe_step(Step(1_000, kind, (1, 2), 500, "orders"))
        assert told.startswith(kind)


def test_an_election_is_one_line_in_fixed_columns() -> None:
    """The legend in the documents shows this line."""
    fact = LeaderElected(
        topic="topic0",
        partition=1,
        strategy="OfflinePartitionLeaderElectionStrategy",
        before=PartitionState.OFFLINE,
        leader_before=BrokerId(2),
        leader=BrokerId(3),
        leader_epoch=LeaderEpoch(4),
        isr=(BrokerId(3), BrokerId(1)),
        zk_version=ZkVersion(7),
    )
    kind, describe = WORDS[LeaderElected]

    line = str(Line(6_017_900, kind, describe(fact), 2, 1))

    assert line == (
        "    6.017      2     1  election    topic0-1 leader 2→3 isr 3,1 epoch 4 (OfflinePartition)"
    )
    assert line.index("election") == HEADER.index("kind")
    assert line.index("topic0") == HEADER.index("what")


def test_lines_come_in_the_order_of_time_and_a_death_after_its_cause() -> None:
    """A transcript is read from the top."""
    trace = Trace()
    run(next(p for p in map(draw_plan, range(99)) if "crash" in p.character.faults), [trace])

    times = [line.at_us for line in trace.lines]
    assert times == sorted(times)
    before = {
        line.what.split()[0]
        for line, after in zip(trace.lines, trace.lines[1:], strict=False)
        if after.what.startswith("dies") and line.at_us == after.at_us
    }
    assert "crash" in before


def test_a_transcript_is_the_same_each_time() -> None:
    """It can be compared, line by line."""
    one, other = Trace(), Trace()
    run(draw_plan(2), [one])
    run(draw_plan(2), [other])

    assert list(map(str, one.lines)) == list(map(str, other.lines))
