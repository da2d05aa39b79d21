"""What a run comes to: counts, the differences that nothing explains, and who needed which row."""

from collections.abc import Sequence

from msgspec import Struct

from tests.conformance.comparison import Verdict
from tests.conformance.explanations import Difference
from tests.conformance.steps import Scenario


class Explained(Struct, frozen=True):
    """How many values one row of docs/differences.md explains, and in which scenarios."""

    values: int
    scenarios: list[str]


class ConformanceSummary(Struct, frozen=True):
    """All that is printed and kept."""

    scenarios: int
    steps: int
    #: How many values differ for no known reason, and how many for one.
    differences: int
    explained: int
    explanations: dict[str, Explained]
    unexplained: list[Difference]
    seed: int
    seconds: float


def summarize(
    scenarios: Sequence[Scenario], verdicts: Sequence[Verdict], seed: int, seconds: float
) -> ConformanceSummary:
    """One verdict for each scenario."""
    unexplained = [each for verdict in verdicts for each in verdict.unexplained]
    rows: dict[str, list[str]] = {}
    for verdict in verdicts:
        for difference, reason in verdict.explained:
            rows.setdefault(reason.where, []).append(difference.scenario)
    return ConformanceSummary(
        scenarios=len(scenarios),
        steps=sum(len(each.steps) for each in scenarios),
        differences=len(unexplained),
        explained=sum(map(len, rows.values())),
        explanations={
            where: Explained(len(names), list(dict.fromkeys(names)))
            for where, names in rows.items()
        },
        unexplained=unexplained,
        seed=seed,
        seconds=round(seconds, 1),
    )
