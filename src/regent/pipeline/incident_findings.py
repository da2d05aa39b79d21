"""All that can be part of an incident, in one table: what failed, and what it did.

Failures (a broker died, a controller was lost, a disk failed) come from the records of lives and
reigns; harm comes from outages and from the audit. What operators asked for is no finding: it can
only be the reason for one.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.pipeline.schemas import BOOLEAN, EVIDENCE, INT, LONG, STRING, table
from regent.pipeline.settings import Settings
from regent.pipeline.words import counted, joined

BROKER_DIED: Final = "broker_died"
BROKER_SHUT_DOWN: Final = "broker_shut_down"
CONTROLLER_LOST: Final = "controller_lost"
DISK_FAILED: Final = "disk_failed"
OPERATOR: Final = "operator"
ISR_COLLAPSED: Final = "isr_collapsed"
RULE_BROKEN: Final = "rule_broken"
UNKNOWN: Final = "unknown"

#: Kinds of outages, and the findings of the audit.
LEADERLESS: Final = "leaderless"
OFFLINE: Final = "offline"
UNDER_MIN_ISR: Final = "under_min_isr"
VIOLATION: Final = "violation"

FAILURES: Final = (BROKER_DIED, BROKER_SHUT_DOWN, CONTROLLER_LOST, DISK_FAILED)
#: Findings of the audit that are worth an incident; a note is not.
SEVERITIES: Final = ("error", "warning")
#: After every record of a controller epoch, and before the next epoch's first.
LAST_SEQUENCE: Final = 2**63 - 1

#: Grain: one finding. `detail` is a clause about it.
FINDINGS: Final = table(
    ("cluster", STRING),
    ("what", STRING),
    ("start_ms", LONG),
    ("end_ms", LONG),  # null while it lasts
    ("duration_ms", LONG),
    ("controller_epoch", INT),
    ("sequence", LONG),
    ("broker_id", INT),
    ("topic", STRING),
    ("partition", INT),
    ("is_error", BOOLEAN),
    ("detail", STRING),
    ("evidence", EVIDENCE),
)


def finding_rows(  # noqa: PLR0913, PLR0917 - whatever can fail or suffer
    transitions: DataFrame,
    violations: DataFrame,
    outages: DataFrame,
    controller_reigns: DataFrame,
    broker_lives: DataFrame,
    settings: Settings,
) -> DataFrame:
    """Everything that failed, suffered, or was asked for.

    Grain: one finding, or one request of an operator. A finding whose time is not known can be in
    no incident and is left out.
    """
    parts = (
        broker_deaths(transitions, controller_reigns, broker_lives),
        controller_losses(transitions, controller_reigns),
        disk_failures(transitions),
        outage_findings(outages, settings),
        audit_findings(violations),
        operator_actions(transitions),
    )
    first, *others = parts
    for other in others:
        first = first.unionByName(other)
    return first.filter(F.col("start_ms").isNotNull())


def broker_deaths(transitions: DataFrame, reigns: DataFrame, lives: DataFrame) -> DataFrame:
    """Every end of a broker's life; one that had asked to go before was shut down.

    Grain: (cluster, broker_id, start_ms). A death that a new controller found has no record of its
    own; it takes its place from the reign in which it was found.
    """
    kind, at_ms = F.col("kind"), F.col("at_ms")
    place = F.struct("at_ms", "controller_epoch", _record().alias("record"))
    signs = (
        transitions.filter(kind.isin("broker_down", "shutdown_advanced"))
        .groupBy("cluster", "broker_id")
        .agg(
            F.collect_list(F.when(kind == "broker_down", place)).alias("downs"),
            F.collect_list(F.when(kind == "shutdown_advanced", at_ms)).alias("asked"),
        )
    )
    controllers = reigns.groupBy("cluster").agg(
        F.collect_list(F.struct("elected_ms", "controller_epoch")).alias("controllers")
    )
    down_ms = F.col("down_ms")
    was_asked = F.exists(
        "asked", lambda asked_ms: asked_ms.between(F.coalesce("up_ms", F.lit(0)), down_ms)
    )
    found_by = F.filter("controllers", lambda reign: reign["elected_ms"] <= down_ms)
    known = lives.filter(down_ms.isNotNull()).join(signs, on=["cluster", "broker_id"], how="left")
    return (
        known.join(controllers, on="cluster", how="left")
        .withColumn("death", F.get(F.filter("downs", lambda one: one["at_ms"] == down_ms), 0))
        .select(
            *_columns(
                what=F.when(was_asked, F.lit(BROKER_SHUT_DOWN)).otherwise(F.lit(BROKER_DIED)),
                start_ms=down_ms,
                end_ms=down_ms,
                controller_epoch=F.coalesce(
                    "death.controller_epoch", F.array_max(found_by["controller_epoch"])
                ),
                sequence=F.coalesce("death.record.sequence", F.lit(0)),
                broker_id=F.col("broker_id"),
                detail=F.when(F.col("bounced"), F.lit("it was back before anybody noticed")),
                evidence=F.when(F.col("death").isNotNull(), F.array("death.record")),
            )
        )
    )


def controller_losses(transitions: DataFrame, reigns: DataFrame) -> DataFrame:
    """Every end of a reign; whoever is still in office is not lost.

    Grain: (cluster, controller_epoch, controller_id). A controller that did not live to resign was
    lost, for all that anybody knew, when its successor was elected.
    """
    records = (
        transitions.filter(F.col("kind").isin("controller_resigned", "controller_elected"))
        .groupBy("cluster", F.col("at_ms").alias("start_ms"))
        .agg(F.max_by(_record(), F.col("kind")).alias("record"))  # resigned comes after elected
    )
    lost = reigns.withColumn("start_ms", F.coalesce("resigned_ms", "end_ms"))
    return (
        lost.filter(F.col("start_ms").isNotNull())
        .join(records, on=["cluster", "start_ms"], how="left")
        .select(
            *_columns(
                what=F.lit(CONTROLLER_LOST),
                start_ms=F.col("start_ms"),
                end_ms=F.col("start_ms"),
                controller_epoch=F.col("controller_epoch"),
                sequence=F.lit(LAST_SEQUENCE),
                broker_id=F.col("controller_id"),
                detail=F.coalesce(
                    "resigned_because",
                    F.when(F.col("resigned_ms").isNotNull(), F.lit("it resigned")),
                    F.lit("it died in office"),
                ),
                evidence=F.when(F.col("record").isNotNull(), F.array("record")),
            )
        )
    )


def disk_failures(transitions: DataFrame) -> DataFrame:
    """Replicas that a live broker could not serve any more, by broker and event.

    Grain: (cluster, controller_epoch, broker_id, start_ms).
    """
    failed = transitions.filter(
        (F.col("kind") == "log_dir_failed") & ~F.coalesce("loaded", F.lit(False))
    )
    return (
        failed.groupBy("cluster", "broker_id", F.col("at_ms").alias("start_ms"))
        .agg(
            F.min(F.struct("controller_epoch", "sequence", "file", "line")).alias("first"),
            F.count(F.lit(1)).alias("size"),
        )
        .select(
            *_columns(
                what=F.lit(DISK_FAILED),
                start_ms=F.col("start_ms"),
                end_ms=F.col("start_ms"),
                controller_epoch=F.col("first.controller_epoch"),
                sequence=F.col("first.sequence"),
                broker_id=F.col("broker_id"),
                detail=joined(counted(F.col("size"), "replica"), " could not be served any more"),
                evidence=F.array(F.struct("first.file", "first.line", "first.sequence")),
            )
        )
    )


def outage_findings(outages: DataFrame, settings: Settings) -> DataFrame:
    """Every outage but the moment that a new partition waits for its first leader.

    Grain: (cluster, kind, topic, partition, start_epoch, start_sequence).
    """
    is_first_wait = (
        (F.col("kind") == LEADERLESS)
        & F.col("leader_before").isNull()
        & (F.col("duration_ms") < settings.offline_longer_than_ms)
    )
    return outages.filter(~F.coalesce(is_first_wait, F.lit(False))).select(
        *_columns(
            what=F.col("kind"),
            start_ms=F.col("start_ms"),
            end_ms=F.col("end_ms"),
            duration_ms=F.greatest(F.col("duration_ms"), F.lit(0)),
            controller_epoch=F.col("start_epoch"),
            sequence=F.col("start_sequence"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            evidence=F.array(
                F.struct("file", "line", F.col("start_sequence").alias("sequence")),
            ),
        )
    )


def audit_findings(violations: DataFrame) -> DataFrame:
    """What the audit found to be wrong or at risk. Grain: one finding of a rule."""
    return violations.filter(F.col("severity").isin(*SEVERITIES)).select(
        *_columns(
            what=F.lit(VIOLATION),
            start_ms=F.col("at_ms"),
            end_ms=F.col("at_ms"),
            controller_epoch=F.col("controller_epoch"),
            sequence=F.col("sequence"),
            broker_id=F.col("broker_id"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            is_error=F.col("severity") == "error",
            detail=F.col("rule"),
            evidence=F.slice("evidence", 1, 3),
        )
    )


def operator_actions(transitions: DataFrame) -> DataFrame:
    """What people asked for, one row for each event that took it up.

    Grain: (cluster, controller_epoch, controller_id, cause, kind).
    """
    kind, size = F.col("kind"), F.col("size")
    moves = (kind == "reassignment_advanced") & (F.col("phase") == "U")
    deletions = (kind == "deletion_advanced") & (F.col("phase") == "queued")
    action = (
        F.when(
            kind == "reassignment_advanced",
            joined("the reassignment of ", counted(size, "partition"), " began"),
        )
        .when(size == 1, joined("the deletion of topic `", F.col("topic"), "` was asked for"))
        .otherwise(joined("the deletion of ", counted(size, "topic"), " was asked for"))
    )
    return (
        transitions.filter(moves | deletions)
        .groupBy("cluster", "controller_epoch", "controller_id", "cause", "kind")
        .agg(
            F.min("at_ms").alias("asked_ms"),
            F.min("sequence").alias("sequence"),
            F.count(F.lit(1)).alias("size"),
            F.min("topic").alias("topic"),
        )
        .select(
            *_columns(
                what=F.lit(OPERATOR),
                start_ms=F.col("asked_ms"),
                end_ms=F.col("asked_ms"),
                controller_epoch=F.col("controller_epoch"),
                sequence=F.col("sequence"),
                detail=action,
            )
        )
    )


def _record() -> Column:
    """Where a transition can be looked up."""
    return F.struct("file", "line", "sequence")


def _columns(**given: Column) -> list[Column]:
    """The columns of `FINDINGS`; what is not given took no time, is no error, or is not known."""
    defaults = {
        "cluster": F.col("cluster"),
        "is_error": F.lit(False),
        "duration_ms": F.lit(0),
    }
    values = {**defaults, **given}
    return [
        values.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
        for field in FINDINGS.fields
    ]
