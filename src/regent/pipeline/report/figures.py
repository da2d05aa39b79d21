"""What a report says, as plain values: the only place where results of Spark are collected.

Every question is a row of `QUESTIONS`: which tables it needs, how it is asked, and with how many
rows at most it is answered. Answers are small whatever the size of the tables, and both the
terminal and the page are made from them alone.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.output import Manifest, OutputFolder
from regent.pipeline.report import questions as ask
from regent.pipeline.report.wording import partition_name
from regent.pipeline.settings import Settings

Tables: TypeAlias = Mapping[str, DataFrame]
Rows: TypeAlias = list[dict[str, Any]]

#: The tables that a report reads; each may be absent, which its section then says.
SCHEMAS: Final[Mapping[str, T.StructType]] = {
    "availability": schemas.AVAILABILITY,
    "balance": schemas.BALANCE,
    "blast_radius": schemas.BLAST_RADIUS,
    "broker_flapping": schemas.BROKER_FLAPPING,
    "controller_reigns": schemas.CONTROLLER_REIGNS,
    "deletions": schemas.DELETIONS,
    "election_latency": schemas.ELECTION_LATENCY,
    "elections": schemas.ELECTIONS,
    "incidents": schemas.INCIDENTS,
    "isr_churn": schemas.ISR_CHURN,
    "outages": schemas.OUTAGES,
    "quarantine": schemas.QUARANTINE,
    "reassignments": schemas.REASSIGNMENTS,
    "timelines": schemas.TIMELINES,
    "violations": schemas.VIOLATIONS,
}


class Question(Struct, frozen=True):
    """Something to find out from some of the tables."""

    needs: tuple[str, ...]
    put: Callable[..., DataFrame]
    rows_max: int
    #: Whether `put` also takes the limits of the run.
    has_limits: bool = False


# fmt: off
QUESTIONS: Final[Mapping[str, Question]] = {
    "clusters":       Question(("availability",), ask.clusters, 50),
    "topics":         Question(("availability",), ask.worst_topics, 25),
    "timeline":       Question(("timelines", "availability", "controller_reigns"),
                               ask.worst_timelines, 5_000, has_limits=True),
    "reigns":         Question(("controller_reigns",), ask.reigns, 300),
    "elections":      Question(("election_latency",), ask.election_latency, 60),
    "latencies":      Question(("elections",), ask.latency_buckets, 500),
    "outages":        Question(("outages",), ask.outages_by_kind, 10),
    "longest":        Question(("outages",), ask.longest_outages, 20),
    "rules":          Question(("violations",), ask.findings_by_rule, 100),
    "findings":       Question(("violations",), ask.first_findings, 100),
    "incidents":      Question(("incidents",), ask.worst_incidents, 25),
    "shares":         Question(("balance",), ask.shares_before_and_after, 120),
    "ginis":          Question(("balance",), ask.gini_over_time, 2_000),
    "churn":          Question(("isr_churn",), ask.churn_by_broker, 25),
    "flapping":       Question(("broker_flapping",), ask.flapping, 25),
    "moves":          Question(("reassignments",), ask.reassignments, 50),
    "deletions":      Question(("deletions",), ask.deletions, 50),
    "blast":          Question(("blast_radius",), ask.blast_radius, 2_000),
    "reasons":        Question(("quarantine",), ask.quarantine_reasons, 20),
    "quarantined":    Question(("quarantine",), ask.quarantined_lines, 20),
}
# fmt: on


class ReportFigures(Struct, frozen=True):
    """All that a report says."""

    lines_in: int
    parsed: int
    quarantined: int
    files: tuple[str, ...]
    #: Rows by table; what is not here was not made.
    tables: dict[str, int]
    settings: Settings
    answers: dict[str, Rows]

    def rows(self, question: str) -> Rows:
        """The answer to a question; nothing when its tables were not made."""
        return self.answers.get(question, [])

    def partition_label(self, row: Mapping[str, Any]) -> str:
        """The name of a partition or topic, with its cluster when there are several."""
        name = partition_name(row)
        return f"{row['cluster']} · {name}" if self._has_clusters() else name

    def broker_label(self, row: Mapping[str, Any]) -> str:
        """The name of a broker, with its cluster when there are several."""
        broker = row["broker_id"]
        return f"{row['cluster']} · {broker}" if self._has_clusters() else f"broker {broker}"

    def _has_clusters(self) -> bool:
        return len(self.rows("clusters")) > 1

    def has(self, question: str) -> bool:
        """Whether all tables that a question needs were made."""
        return question in self.answers


def load_tables(spark: SparkSession, directory: Path) -> dict[str, DataFrame]:
    """The finished tables in a folder that a report can use."""
    folder = OutputFolder(directory)
    made = folder.finished().tables
    return {name: folder.read(spark, name, SCHEMAS[name]) for name in SCHEMAS if name in made}


def gather(tables: Tables, manifest: Manifest) -> ReportFigures:
    """Put all questions that the tables can answer."""
    settings = _settings_of(manifest)
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = {
            name: pool.submit(_answer, question, tables, settings)
            for name, question in QUESTIONS.items()
            if all(need in tables for need in question.needs)
        }
        answers = {name: future.result() for name, future in asked.items()}
    return ReportFigures(
        lines_in=manifest.counts.lines_in,
        parsed=manifest.counts.parsed,
        quarantined=manifest.counts.quarantined,
        files=tuple(file.path for file in manifest.inputs),
        tables=manifest.tables,
        settings=settings,
        answers=answers,
    )


def _answer(question: Question, tables: Tables, settings: Settings) -> Rows:
    extra = {"settings": settings} if question.has_limits else {}
    answer = question.put(*(tables[need] for need in question.needs), **extra)
    return [row.asDict(recursive=True) for row in answer.limit(question.rows_max).collect()]


def _settings_of(manifest: Manifest) -> Settings:
    """The limits that the tables were made with."""
    try:
        return msgspec.convert(manifest.options.get("limits", {}), Settings)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"the limits that these tables were made with cannot be read ({error}); make the tables"
            " again with `regent pipeline run`"
        ) from error
