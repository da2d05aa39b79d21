"""Work that takes its time: outages, reassignments and deletions that do not end, or collide."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.model.states import ReplicaState
from regent.pipeline.audit.rule import (
    JOURNAL,
    POSITION,
    REIGN,
    Rule,
    Severity,
    listed,
    nothing_against,
    record_of,
    sentence,
)
from regent.pipeline.replica_timelines import REPLICA_MOVED
from regent.pipeline.schemas import INT
from regent.pipeline.settings import Settings
from regent.pipeline.steps import ASSIGNED, LOADED
from regent.pipeline.words import duration_in_words

DELETION: Final = "deletion_advanced"
#: Phases in which brokers are told to delete.
UNDER_WAY: Final = ("started", "retried")
LEADERLESS: Final = "leaderless"
ASSIGNMENT: Final = ("replicas", "adding", "removing")


# --- work that lasts too long -----------------------------------------------------------------


def leaderless_times(outages: DataFrame) -> DataFrame:
    """Every time in which nobody led a partition.

    Grain: (cluster, topic, partition, controller_epoch, sequence).
    """
    return outages.filter(F.col("kind") == LEADERLESS).select(
        "cluster",
        "topic",
        "partition",
        F.col("leader_before").alias("broker_id"),
        F.lit(None).cast(INT).alias("controller_id"),
        F.col("start_epoch").alias("controller_epoch"),
        F.col("start_sequence").alias("sequence"),
        F.col("start_ms").alias("at_ms"),
        F.struct("file", "line", F.col("start_sequence").alias("sequence")).alias("record"),
        "end_ms",
        "duration_ms",
        nothing_against().alias("against"),
    )


def stalled_reassignments(reassignments: DataFrame, transitions: DataFrame) -> DataFrame:
    """Every reassignment that made no progress for too long.

    Grain: (cluster, topic, partition, controller_epoch, sequence).
    """
    stalled = reassignments.filter("is_stalled").select(
        "cluster",
        "topic",
        "partition",
        F.col("start_epoch").alias("controller_epoch"),
        F.col("start_sequence").alias("sequence"),
        F.col("start_ms").alias("at_ms"),
        "longest_pause_ms",
        "outcome",
        "added",
        "removed",
    )
    return _with_record(stalled, transitions)


def stalled_deletions(deletions: DataFrame, transitions: DataFrame) -> DataFrame:
    """Every deletion that made no progress for too long.

    Grain: (cluster, topic, controller_epoch, sequence).
    """
    stalled = deletions.filter("is_stalled").select(
        "cluster",
        "topic",
        F.lit(None).cast(INT).alias("partition"),
        F.col("start_epoch").alias("controller_epoch"),
        F.col("start_sequence").alias("sequence"),
        F.col("queued_ms").alias("at_ms"),
        "duration_ms",
        "end_ms",
        "reasons",
    )
    return _with_record(stalled, transitions)


def _with_record(starts: DataFrame, transitions: DataFrame) -> DataFrame:
    """Add who began a piece of work and where that stands; few rows meet many, once."""
    keys = ["cluster", "controller_epoch", "sequence"]
    records = (
        transitions.join(F.broadcast(starts.select(*keys).distinct()), on=keys, how="left_semi")
        .groupBy(*keys)
        .agg(F.min(F.struct("controller_id", record_of().alias("record"))).alias("start"))
    )
    return starts.join(records, on=keys, how="left").select(
        *starts.columns,
        F.lit(None).cast(INT).alias("broker_id"),
        "start.controller_id",
        "start.record",
        nothing_against().alias("against"),
    )


# --- work that must not meet ------------------------------------------------------------------


def deletions_under_way(transitions: DataFrame) -> DataFrame:
    """Each time a deletion went ahead, with the assignment of each partition of its topic.

    Grain: (cluster, controller_epoch, controller_id, topic, partition, sequence).
    """
    starts = transitions.filter(
        (F.col("kind") == DELETION) & F.col("phase").isin(*UNDER_WAY) & (F.col("source") == JOURNAL)
    ).select("topic", *REIGN, "sequence", "at_ms", record_of().alias("record"), "source", "phase")
    topics = starts.select(*REIGN, "topic").distinct()
    histories = _assignments(transitions.join(topics, on=[*REIGN, "topic"], how="left_semi"))
    return (
        starts.join(histories, on=[*REIGN, "topic"], how="inner")
        .withColumn("assignment", _latest())
        .select(
            "cluster",
            "topic",
            "partition",
            F.lit(None).cast(INT).alias("broker_id"),
            *POSITION,
            "source",
            "phase",
            "assignment",
            F.array("assignment.record").alias("against"),
        )
    )


def replicas_given_up(transitions: DataFrame) -> DataFrame:
    """Each replica that a broker was told to delete while its topic stayed.

    Grain: one record, with the `assignment` known at that time.
    """
    journal = transitions.filter(F.col("source") == JOURNAL)
    going = journal.filter(F.col("kind") == DELETION).select(*REIGN, "topic").distinct()
    told = (
        journal.filter(
            (F.col("kind") == REPLICA_MOVED)
            & (F.col("replica_after") == ReplicaState.DELETION_STARTED.value)
        )
        .join(going, on=[*REIGN, "topic"], how="left_anti")
        .select(
            *REIGN,
            "topic",
            "partition",
            "broker_id",
            "sequence",
            "at_ms",
            record_of().alias("record"),
            "source",
        )
    )
    topics = told.select(*REIGN, "topic").distinct()
    histories = _assignments(journal.join(topics, on=[*REIGN, "topic"], how="left_semi"))
    return (
        told.join(histories, on=[*REIGN, "topic", "partition"], how="inner")
        .withColumn("assignment", _latest())
        .drop("history")
        .withColumn("against", F.array("assignment.record"))
    )


def _assignments(transitions: DataFrame) -> DataFrame:
    """All assignments of each partition under one controller.

    Grain: (cluster, controller_epoch, controller_id, topic, partition).
    """
    position: list[Column | str] = [*REIGN, "topic", "sequence", record_of().alias("record")]
    named = transitions.filter(F.col("kind") == ASSIGNED).select(
        *position, "partition", *ASSIGNMENT
    )
    loaded = (
        transitions.filter(F.col("kind") == LOADED)
        .withColumn("found", F.explode("partitions"))
        .select(*position, *(F.col(f"found.{name}") for name in ("partition", *ASSIGNMENT)))
    )
    assignment = F.struct("sequence", *ASSIGNMENT, "record")
    return (
        named.unionByName(loaded)
        .groupBy(*REIGN, "topic", "partition")
        .agg(F.collect_list(assignment).alias("history"))
    )


def _latest() -> Column:
    """The assignment in `history` that was in force at this sequence number."""
    return F.array_max(F.filter("history", lambda each: each["sequence"] < F.col("sequence")))


# --- what must not be -------------------------------------------------------------------------


def _is_too_long(settings: Settings) -> Column:
    return F.col("duration_ms") > settings.offline_longer_than_ms


def _too_long(_: Settings) -> Column:
    return sentence(
        "nobody led it for ",
        duration_in_words(F.col("duration_ms")),
        F.when(F.col("end_ms").isNull(), F.lit(", to the end of what is known")).otherwise(
            F.lit("")
        ),
    )


def _is_moving(_: Settings) -> Column:
    return F.size(F.concat("assignment.adding", "assignment.removing")) > 0


def _is_still_assigned(_: Settings) -> Column:
    return F.array_contains(F.col("assignment.replicas"), F.col("broker_id"))


# --- the rules --------------------------------------------------------------------------------

RULES: Final = (
    Rule(
        name="leaderless_too_long",
        severity=Severity.WARNING,
        meaning="Nobody led a partition for longer than the limit (30 s unless set).",
        requirements=("Q4",),
        look=leaderless_times,
        needs=("outages",),
        is_broken=_is_too_long,
        detail=_too_long,
        holds_for_logs=True,
    ),
    Rule(
        name="reassignment_stuck",
        severity=Severity.WARNING,
        meaning="A reassignment showed no progress for longer than the limit (10 min unless set).",
        requirements=("A4", "Q4"),
        look=stalled_reassignments,
        needs=("reassignments", "transitions"),
        is_broken=lambda _: F.lit(True),
        detail=lambda _: sentence(
            "adding ",
            listed(F.col("added")),
            " and removing ",
            listed(F.col("removed")),
            " stood still for ",
            duration_in_words(F.col("longest_pause_ms")),
            "; it is ",
            F.col("outcome"),
        ),
        holds_for_logs=True,
    ),
    Rule(
        name="deletion_stuck",
        severity=Severity.WARNING,
        meaning="The deletion of a topic showed no progress for longer than the limit (10 min "
        "unless set).",
        requirements=("T3", "Q4"),
        look=stalled_deletions,
        needs=("deletions", "transitions"),
        is_broken=lambda _: F.lit(True),
        detail=lambda _: sentence(
            "the deletion took ",
            duration_in_words(F.col("duration_ms")),
            F.when(F.col("end_ms").isNull(), F.lit(" so far")).otherwise(F.lit("")),
            F.when(
                F.size("reasons") > 0, sentence("; in the way: ", F.array_join("reasons", ", "))
            ).otherwise(F.lit("")),
        ),
        holds_for_logs=True,
    ),
    Rule(
        name="deleted_while_reassigning",
        severity=Severity.ERROR,
        meaning="A topic's deletion went ahead while one of its partitions was being reassigned.",
        requirements=("T3",),
        look=deletions_under_way,
        is_broken=_is_moving,
        detail=lambda _: sentence(
            "the deletion was ",
            F.col("phase"),
            " while ",
            listed(F.col("assignment.adding")),
            " were being added and ",
            listed(F.col("assignment.removing")),
            " removed",
        ),
        needs_whole_reign=True,
    ),
    Rule(
        name="assigned_replica_deleted",
        severity=Severity.ERROR,
        meaning="A broker was told to delete a replica that it was still assigned, of a topic "
        "that nobody wanted to delete.",
        requirements=("A4", "R5"),
        look=replicas_given_up,
        is_broken=_is_still_assigned,
        detail=lambda _: sentence(
            "the replica on ",
            F.col("broker_id"),
            " was to be deleted, and assigned were ",
            listed(F.col("assignment.replicas")),
        ),
        needs_whole_reign=True,
    ),
)
