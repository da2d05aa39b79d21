"""Finished tables made by hand, with names that would break a careless page."""

from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from regent.model.states import PartitionState
from regent.pipeline.output import Counts, Manifest
from regent.pipeline.report.figures import SCHEMAS

HOSTILE: Final = "</script><script>alert(1)</script><img src=x onerror=alert(2)>`&amp;"
EVIDENCE_TEXT: Final = "[2024-05-01] INFO <b>leader</b> </code><script>alert(3)</script>"

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE


def finished(rows: int = 1) -> Manifest:
    """What a run says of tables that have so many rows each."""
    return Manifest(
        finished=True,
        options={"limits": {"min_isr": 2}},
        counts=Counts(10, 9, 1),
        tables=dict.fromkeys(SCHEMAS, rows),
    )


def tables_of(spark: SparkSession, rows: dict[str, list[dict[str, Any]]]) -> dict[str, DataFrame]:
    """All tables of a report; those without rows are empty."""
    tables = {}
    for name, schema in SCHEMAS.items():
        names = schema.fieldNames()
        made = [tuple(row.get(column) for column in names) for row in rows.get(name, [])]
        tables[name] = spark.createDataFrame(made, schema)
    return tables


def hostile_rows(log: Path) -> dict[str, list[dict[str, Any]]]:
    """A little of everything; the evidence is in line 2 of a log."""
    log.write_text(f"a line\n{EVIDENCE_TEXT}\nanother\n", encoding="utf-8")
    evidence = [(log.as_uri(), 2, 7), (str(log.with_name("gone.log")), 1, 8)]
    at = {"cluster": HOSTILE, "topic": HOSTILE, "partition": 0}
    return {
        "availability": [_available("cluster"), _available("topic"), _available("partition")],
        "timelines": [
            {**at, **interval}
            for interval in (
                _interval(1, 1_000, 2_000, ONLINE, 1, [1, 2, 3]),
                # Only the leader epoch changed: to the eye it is one stretch.
                _interval(2, 2_000, 3_000, ONLINE, 1, [1, 2, 3]),
                _interval(3, 3_000, 4_000, ONLINE, 1, [1, 2]),
                _interval(4, 4_000, 5_000, ONLINE, 1, [1]),
                _interval(5, 5_000, None, OFFLINE, -1, [1]),
            )
        ],
        "controller_reigns": [
            {
                "cluster": HOSTILE,
                "controller_epoch": 1,
                "controller_id": 1,
                "elected_ms": 900,
                "last_record_ms": 9_000,
                "resigned_because": HOSTILE,
            }
        ],
        "election_latency": [
            {"cluster": HOSTILE, "strategy": HOSTILE, "elections": 2, "after_failure": 1}
        ],
        "elections": [
            {**at, "strategy": HOSTILE, "unclean": True, "latency_ms": latency_ms}
            for latency_ms in (0, 120, 130, None)
        ],
        "outages": [
            {**at, "kind": "leaderless", "start_ms": 5_000, "duration_ms": 4_000, "cause": HOSTILE}
        ],
        "violations": [
            {
                **at,
                "rule": HOSTILE,
                "severity": severity,
                "at_ms": 5_000,
                "detail": HOSTILE,
                "evidence": evidence,
            }
            for severity in ("note", "error")
        ],
        "incidents": [
            {
                "cluster": HOSTILE,
                "rank": 1,
                "start_ms": 5_000,
                "title": HOSTILE,
                "story": f"1 partition of `{HOSTILE}` lost its leader.",
                "partitions_hit": 1,
                "leaderless_ms": 4_000,
                "evidence": evidence,
            }
        ],
        "balance": [
            {"cluster": HOSTILE, "at_ms": at_ms, "broker_id": broker, "leaders": leaders,
             "preferred": 1, "leader_gini": 0.5}
            for at_ms, broker, leaders in (
                (0, 1, 0), (0, 2, 0), (1, 1, 3), (1, 2, 0), (9, 1, 1), (9, 2, 2),
            )
        ],
        "isr_churn": [
            {**at, "broker_id": 3, "left": 2, "joined": 1, "out_ms": 6_000},
        ],
        "broker_flapping": [
            {"cluster": HOSTILE, "broker_id": 3, "start_ms": 0, "end_ms": 9, "deaths": 4}
        ],
        "reassignments": [{**at, "outcome": HOSTILE, "is_stalled": True, "duration_ms": 5}],
        "deletions": [{**at, "duration_ms": 5, "reasons": [HOSTILE]}],
        "blast_radius": [
            {"cluster": HOSTILE, "scope": "broker", "a": "1", "offline": 1, "under_min_isr": 0},
            {"cluster": HOSTILE, "scope": "broker", "a": "10", "offline": 2, "under_min_isr": 0},
            {"cluster": HOSTILE, "scope": "pair", "a": "1", "b": "10", "offline": 3,
             "under_min_isr": 5},
            {"cluster": HOSTILE, "scope": "rack", "a": HOSTILE, "offline": 3, "under_min_isr": 5},
        ],
        "quarantine": [
            {"cluster": HOSTILE, "file": HOSTILE, "line": 3, "reason": HOSTILE, "text": HOSTILE}
        ],
    }  # fmt: skip


def _available(scope: str) -> dict[str, Any]:
    return {
        "cluster": HOSTILE,
        "scope": scope,
        "topic": None if scope == "cluster" else HOSTILE,
        "partition": 0 if scope == "partition" else None,
        "partitions": 1,
        "total_ms": 8_000,
        "leaderless_ms": 4_000,
        "under_min_isr_ms": 1_000,
        "under_replicated_ms": 2_000,
        "outages": 1,
        "longest_outage_ms": 4_000,
        "availability": 0.5,
        "nines": 0.3,
    }


def _interval(  # noqa: PLR0913, PLR0917 - the columns that matter, in a row
    sequence: int, start_ms: int, end_ms: int | None, state: str, leader: int, isr: list[int]
) -> dict[str, Any]:
    return {
        "start_epoch": 1,
        "start_sequence": sequence,
        "start_ms": start_ms,
        "end_ms": end_ms,
        "state": state,
        "leader": leader,
        "isr": isr,
        "replicas": [1, 2, 3],
    }
