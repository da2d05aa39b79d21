"""All rules of the audit as data, and the table of what they find.

`docs/audit.md` is made from this.
"""

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.pipeline.audit import brokers, leaderships, long_work, moves, reigns
from regent.pipeline.audit.reigns import incomplete_reigns
from regent.pipeline.audit.rule import JOURNAL, REIGN, Rule, judge
from regent.pipeline.schemas import VIOLATIONS
from regent.pipeline.settings import DEFAULTS, Settings

RULES: Final[tuple[Rule, ...]] = (
    *moves.RULES,
    *leaderships.RULES,
    *reigns.RULES,
    *brokers.RULES,
    *long_work.RULES,
)


def violations(  # noqa: PLR0913 - a parameter for each table that some rule needs
    transitions: DataFrame,
    outages: DataFrame,
    reassignments: DataFrame,
    deletions: DataFrame,
    broker_flapping: DataFrame,
    *,
    settings: Settings = DEFAULTS,
    rules: tuple[Rule, ...] = RULES,
) -> DataFrame:
    """What these rules find. Transitions must have no duplicates.

    Grain: a finding of one rule.
    """
    tables = {
        "transitions": transitions,
        "outages": outages,
        "reassignments": reassignments,
        "deletions": deletions,
        "broker_flapping": broker_flapping,
    }
    # Rules that look at the same rows judge them together: the rows are made once.
    by_look: dict[Callable[..., DataFrame], list[Rule]] = {}
    for rule in rules:
        by_look.setdefault(rule.look, []).append(rule)
    found = [
        judge(look(*(tables[name] for name in together[0].needs)), together, settings)
        for look, together in by_look.items()
    ]
    findings = reduce(DataFrame.unionByName, found)
    return findings.transform(only_proven, transitions).select(*VIOLATIONS.fieldNames())


def only_proven(findings: DataFrame, transitions: DataFrame) -> DataFrame:
    """Drop what may only look wrong because records of its reign are lost.

    Logs have no numbers that could show a loss; their rules do without.
    """
    incomplete = incomplete_reigns(transitions.filter(F.col("source") == JOURNAL))
    doubtful = F.broadcast(incomplete.withColumn("is_doubtful", F.lit(True)))
    is_doubtful = F.col("needs_whole_reign") & F.coalesce("is_doubtful", F.lit(False))
    return findings.join(doubtful, on=list(REIGN), how="left").filter(~is_doubtful)
