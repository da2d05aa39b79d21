"""What a rule of the audit is, and how rules become findings.

A rule judges rows: one condition that must never hold (or that is worth knowing), and one sentence
with the figures. Several rules can judge the same rows, so that these are made once for all of
them; making them is a pure function of tables, as all of the pipeline is.

What is not known is never a finding: a condition that is null does not hold.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Final, TypeAlias

from msgspec import Struct
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.pipeline.schemas import EVIDENCE
from regent.pipeline.settings import Settings

JOURNAL: Final = "journal"

#: What every row that is judged has, beside what its rules look at: `source`, where it stands
#: (`record`) and the records that it contradicts (`against`, or what a rule names instead).
WHERE: Final = ("cluster", "topic", "partition", "broker_id")
POSITION: Final = ("controller_id", "controller_epoch", "sequence", "at_ms", "record")
#: A controller's time in office.
REIGN: Final = ("cluster", "controller_epoch", "controller_id")

Judgement: TypeAlias = Callable[[Settings], Column]


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(Struct, frozen=True, kw_only=True):
    """Something that a history must not show, or that whoever reads it should know."""

    name: str
    severity: Severity
    #: In one sentence, what a finding says.
    meaning: str
    #: The lines of `docs/requirements.md` that it holds a history to.
    requirements: tuple[str, ...]
    #: Makes the rows to judge from the tables in `needs`.
    look: Callable[..., DataFrame]
    needs: tuple[str, ...] = ("transitions",)
    is_broken: Judgement
    detail: Judgement
    #: The column with the records that are contradicted.
    against: str = "against"
    #: A structure that holds the position of the offending record, when that is not the row's own.
    offender: str | None = None
    #: Whether logs of Kafka tell enough to judge. Most rules need what only a journal has.
    holds_for_logs: bool = False
    #: Whether a reign of which records are lost proves nothing.
    needs_whole_reign: bool = False


def record_of(prefix: str = "") -> Column:
    """Where a record can be looked up."""
    return F.struct(
        *(F.col(f"{prefix}{name}").alias(name) for name in ("file", "line", "sequence"))
    )


def nothing_against() -> Column:
    """For rows that contradict no other record: they are wrong by themselves."""
    return F.array().cast(EVIDENCE)


def no_partition() -> list[Column]:
    """For rows about a controller: neither topic nor partition nor broker."""
    return [
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("int").alias("broker_id"),
    ]


def sentence(*parts: Column | str) -> Column:
    """One text of words and figures; a figure that is not known is said to be unknown."""
    words = "".join(p.replace("%", "%%") if isinstance(p, str) else "%s" for p in parts)
    unknown = F.lit("unknown")
    figures = (F.coalesce(p.cast("string"), unknown) for p in parts if not isinstance(p, str))
    return F.format_string(words, *figures)


def listed(brokers: Column) -> Column:
    """`[1, 2]`."""
    return F.concat(F.lit("["), F.array_join(brokers.cast("array<string>"), ", "), F.lit("]"))


def judge(
    rows: DataFrame, rules: Sequence[Rule], settings: Settings, *, keep: Sequence[str] = ()
) -> DataFrame:
    """The findings of these rules, which all look at these rows.

    Grain: a finding. The columns are those of violations, `needs_whole_reign`, and the columns of
    its row that are to be kept.
    """
    broken = [_is_broken(rule, settings) for rule in rules]
    found = F.array_compact(
        F.array(
            *(
                F.when(is_broken, _finding(rule, settings))
                for rule, is_broken in zip(rules, broken, strict=True)
            )
        )
    )
    return (
        rows.filter(reduce(or_, broken))
        .withColumn("finding", F.explode(found))
        .select(
            "finding.rule",
            "finding.severity",
            *WHERE,
            *(f"finding.{name}" for name in POSITION if name != "record"),
            "finding.detail",
            "finding.evidence",
            "finding.needs_whole_reign",
            *keep,
        )
    )


def _is_broken(rule: Rule, settings: Settings) -> Column:
    is_broken = F.coalesce(rule.is_broken(settings), F.lit(False))
    return is_broken if rule.holds_for_logs else is_broken & (F.col("source") == JOURNAL)


def _finding(rule: Rule, settings: Settings) -> Column:
    prefix = "" if rule.offender is None else f"{rule.offender}."
    record = F.col(f"{prefix}record")
    return F.struct(
        F.lit(rule.name).alias("rule"),
        F.lit(rule.severity.value).alias("severity"),
        *(F.col(f"{prefix}{name}").alias(name) for name in POSITION if name != "record"),
        rule.detail(settings).alias("detail"),
        F.array_compact(F.concat(F.array(record), F.col(rule.against)))
        .cast(EVIDENCE)
        .alias("evidence"),
        F.lit(rule.needs_whole_reign).alias("needs_whole_reign"),
    )
