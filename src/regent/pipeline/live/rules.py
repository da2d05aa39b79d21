"""The rules that a stream is held to: the audit's own, and what is news rather than a fault.

A rule has one name, one severity and one sentence, whether a finished history is audited or a
growing one is watched.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.pipeline.audit import leaderships, long_work, moves, reigns
from regent.pipeline.audit.rule import (
    JOURNAL,
    Judgement,
    Rule,
    Severity,
    judge,
    listed,
    nothing_against,
    sentence,
)
from regent.pipeline.live.hearing import REPEATED
from regent.pipeline.live.rows import SAID
from regent.pipeline.live.spells import LEADERLESS, UNDER_MIN_ISR
from regent.pipeline.schemas import ALERTS
from regent.pipeline.settings import Settings
from regent.pipeline.words import duration_in_words

RAISED: Final = "raised"
OVER: Final = "over"
#: Chains need every move of a partition and every replica: that is left to the batch.
LEFT_TO_BATCH: Final = frozenset({"partition_chain_broken", "replica_chain_broken"})


def parsed(said: DataFrame) -> DataFrame:
    """What the stream says, as rows for the rules.

    Grain: one record about one thing. `said` has one column, the row as JSON.
    """
    rows = said.select(F.from_json("said", SAID).alias("row")).select("row.*")
    return rows.withColumns(
        {
            "source": F.lit(JOURNAL),
            "unclean": F.coalesce("unclean", F.lit(False)),
            "is_over": F.coalesce("is_over", F.lit(False)),
            "against": F.array("before.record"),
            "seen": F.array("record"),
            "assigned": F.array("assignment.record"),
            "nothing": nothing_against(),
        }
    )


def judged(said: DataFrame, settings: Settings) -> DataFrame:
    """The alerts in what the stream says.

    Grain: an alert.
    """
    found = judge(parsed(said), LIVE_RULES, settings, keep=["is_over"])
    # A leadership is about a partition; that a broker asked for it is another rule's matter.
    is_leadership = F.col("rule").isin([rule.name for rule in leaderships.RULES])
    state = F.when(F.col("is_over"), F.lit(OVER)).otherwise(F.lit(RAISED))
    columns = {"broker_id": F.when(~is_leadership, F.col("broker_id")), "state": state}
    return found.withColumns(columns).select(*ALERTS.fieldNames())


def _named(rules: Iterable[Rule]) -> Mapping[str, Rule]:
    return {rule.name: rule for rule in rules}


def _audited() -> tuple[Rule, ...]:
    """The audit's rules, told where the stream keeps what they look at."""
    moved = [
        replace(rule, against="nothing") for rule in moves.RULES if rule.name not in LEFT_TO_BATCH
    ]
    lost = replace(
        _named(reigns.RULES)["records_lost"],
        is_broken=lambda _: F.col("previous").isNotNull(),
        against="nothing",
    )
    unled = _named(long_work.RULES)["leaderless_too_long"]
    unled = replace(
        unled,
        is_broken=lambda _: F.col("kind") == LEADERLESS,
        detail=_or_over(unled),
        against="nothing",
    )
    return (*moved, *leaderships.RULES, lost, unled)


def _or_over(rule: Rule) -> Judgement:
    """The rule's own sentence, or that it is over."""
    return lambda settings: F.when(
        F.col("is_over"), sentence("over after ", duration_in_words(F.col("duration_ms")))
    ).otherwise(rule.detail(settings))


def _news(name: str, kind: str, severity: Severity, meaning: str, detail: Judgement) -> Rule:
    """Something that is worth knowing at once, though nothing need be wrong."""
    return Rule(
        name=name,
        severity=severity,
        meaning=meaning,
        requirements=("Q8",),
        look=parsed,
        is_broken=lambda _: F.col("kind") == kind,
        detail=detail,
        against="nothing",
    )


# --- the rules --------------------------------------------------------------------------------

UNDER: Final = _news(
    "under_min_isr",
    UNDER_MIN_ISR,
    Severity.WARNING,
    "A partition is led and refuses writes that ask for all replicas.",
    lambda _: sentence("only ", listed(F.col("isr")), " are in sync"),
)

NEWS: Final = (
    replace(UNDER, detail=_or_over(UNDER)),
    _news(
        "controller_changed",
        "controller_elected",
        Severity.NOTE,
        "Another controller is in office.",
        lambda _: sentence(
            "controller ",
            F.col("controller_id"),
            " took office in epoch ",
            F.col("controller_epoch"),
        ),
    ),
    _news(
        "event_failed",
        "event_failed",
        Severity.ERROR,
        "Something unforeseen happened to a controller, which resigns.",
        lambda _: sentence("controller ", F.col("controller_id"), ": ", F.col("reason")),
    ),
    _news(
        "znode_isolated",
        "znode_isolated",
        Severity.WARNING,
        "A znode cannot be used, and what it describes is not served.",
        lambda _: sentence(F.col("path"), ": ", F.col("reason")),
    ),
    _news(
        "broker_died",
        "broker_down",
        Severity.WARNING,
        "A broker has gone.",
        lambda _: sentence(
            "broker ",
            F.col("broker_id"),
            F.when(F.col("bounced"), F.lit(" has gone and is back already")).otherwise(
                F.lit(" has gone")
            ),
        ),
    ),
    _news(
        "log_dir_failed",
        "log_dir_failed",
        Severity.WARNING,
        "A live broker cannot serve a replica.",
        lambda _: sentence(
            "broker ",
            F.col("broker_id"),
            F.when(F.col("is_over"), F.lit(" serves its replica again")).otherwise(
                F.lit(" cannot serve its replica")
            ),
        ),
    ),
    _news(
        "records_repeated",
        REPEATED,
        Severity.NOTE,
        "Records came a second time and were ignored.",
        lambda _: sentence(F.col("repeated"), " records came a second time, this one first"),
    ),
)

LIVE_RULES: Final = (*_audited(), *NEWS)
