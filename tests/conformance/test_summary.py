"""What a run comes to."""

from tests.conformance.comparison import Verdict
from tests.conformance.explanations import EXPLANATIONS, Difference
from tests.conformance.steps import KillBroker, Scenario
from tests.conformance.summary import ConformanceSummary, Explained, summarize

KILL = KillBroker(1)
ROW = EXPLANATIONS[0]


def difference(scenario: str) -> Difference:
    return Difference(scenario, 0, KILL, "t", "0/leader", 1, 2)


def test_every_row_is_counted_and_names_its_scenarios_once() -> None:
    """Whoever doubts an explanation knows where to look."""
    scenarios = [Scenario("a", (KILL, KILL)), Scenario("b", (KILL,)), Scenario("c", (KILL,))]
    verdicts = [
        Verdict((difference("a"),), ((difference("a"), ROW), (difference("a"), ROW))),
        Verdict((), ((difference("b"), ROW),)),
        Verdict(),
    ]

    assert summarize(scenarios, verdicts, 7, 1.23) == ConformanceSummary(
        scenarios=3,
        steps=4,
        differences=1,
        explained=3,
        explanations={ROW.where: Explained(3, ["a", "b"])},
        unexplained=[difference("a")],
        seed=7,
        seconds=1.2,
    )
