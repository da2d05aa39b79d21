"""Incidents: findings that belong together, told as one story.

Findings that begin close together are one incident. Within such a storm, a broker that fails when
all that the others had broken is whole again begins another: it is another cause. An incident is
named after its first failure; when nothing failed, after what an operator had just asked for; and
when nobody asked for anything, after the harm itself.

Grouping is by time, because closeness in time is what makes a storm. What came first within one is
a matter of order, and is read from the controller epochs and sequences.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from regent.pipeline.incident_findings import (
    FAILURES,
    ISR_COLLAPSED,
    LEADERLESS,
    OFFLINE,
    OPERATOR,
    RULE_BROKEN,
    UNDER_MIN_ISR,
    UNKNOWN,
    VIOLATION,
    finding_rows,
)
from regent.pipeline.incident_stories import story_of, title_of
from regent.pipeline.settings import DEFAULTS, Settings

INCIDENT: Final = ("cluster", "began_ms")
EVIDENCE_MAX: Final = 20
#: Brokers that fail within this part of the gap of each other fail together: a rack, a switch.
TOGETHER: Final = 10
#: The end of a finding that has not ended.
NEVER: Final = 2**62


def incidents(  # noqa: PLR0913, PLR0917 - an incident is made of all that is known
    transitions: DataFrame,
    violations: DataFrame,
    outages: DataFrame,
    controller_reigns: DataFrame,
    broker_lives: DataFrame,
    elections: DataFrame,
    settings: Settings = DEFAULTS,
) -> DataFrame:
    """Storms of findings with their cause, harm, story and evidence, ranked by harm.

    Grain: (cluster, incident_id).
    """
    findings = finding_rows(
        transitions, violations, outages, controller_reigns, broker_lives, settings
    )
    told = (
        findings.transform(with_incident, settings)
        .transform(with_election, elections)
        .transform(with_refusals, transitions)
        .transform(with_place)
        .transform(per_partition, settings)
        .transform(per_incident)
        .transform(with_elector, controller_reigns)
        .transform(with_cause, settings)
    )
    return told.select(
        "cluster",
        F.row_number().over(_by_time()).cast("int").alias("incident_id"),
        F.row_number().over(_by_harm()).cast("int").alias("rank"),
        F.col("began_ms").alias("start_ms"),
        F.when(F.col("end_ms") < NEVER, F.col("end_ms")).alias("end_ms"),
        "cause",
        "first_failure.broker_id",
        title_of().alias("title"),
        story_of().alias("story"),
        "findings",
        "partitions_hit",
        "leaderless_ms",
        "evidence",
    )


# --- what belongs together --------------------------------------------------------------------


def with_incident(rows: DataFrame, settings: Settings) -> DataFrame:
    """Keep the findings, each with when its incident `began_ms`, and what was `asked` before it.

    Windows are over moments: what happens at the same millisecond is never parted.
    """
    start, what = F.col("start_ms"), F.col("what")
    earlier = _in_time().rangeBetween(Window.unboundedPreceding, -1)
    so_far = _in_time().rangeBetween(Window.unboundedPreceding, 0)
    now = _in_time().rangeBetween(0, 0)

    is_finding = what != OPERATOR
    failing = F.when(what.isin(*FAILURES), F.col("broker_id"))
    seen = {
        "last_ms": F.max(F.when(is_finding, start)).over(earlier),
        "open_until_ms": F.max(F.when(is_finding, F.coalesce("end_ms", F.lit(NEVER)))).over(
            earlier
        ),
        "failed_ms": F.max(F.when(failing.isNotNull(), start)).over(earlier),
        "failed_last": F.last(failing, ignorenulls=True).over(earlier),
        "failing": F.collect_set(failing).over(now),
        "asked": F.last(F.when(~is_finding, F.struct("start_ms", "detail")), ignorenulls=True).over(
            so_far
        ),
    }
    begins = is_finding & _begins(settings)
    began = F.max(F.when(F.col("begins"), start)).over(so_far)
    return (
        rows.withColumns(seen)
        .withColumn("begins", begins)
        .withColumn("began_ms", began)
        .filter(is_finding)
        .drop(*(name for name in seen if name != "asked"), "begins")
    )


def _begins(settings: Settings) -> Column:
    """Whether a moment begins an incident: the first, after a gap, or with another cause."""
    start = F.col("start_ms")
    is_after_gap = start - F.col("last_ms") > settings.incident_gap_ms
    is_another_cause = (
        (F.size("failing") > 0)
        & ~F.array_contains("failing", F.col("failed_last"))
        & (start - F.col("failed_ms") > settings.incident_gap_ms // TOGETHER)
        & (F.col("open_until_ms") < start)
    )
    return F.col("last_ms").isNull() | is_after_gap | F.coalesce(is_another_cause, F.lit(False))


def _in_time() -> WindowSpec:
    return Window.partitionBy("cluster").orderBy("start_ms")


# --- what else is known of a finding ----------------------------------------------------------


def with_election(findings: DataFrame, elections: DataFrame) -> DataFrame:
    """Add the election that ended a time without a leader, null where none did."""
    elected = (
        elections.groupBy("cluster", "topic", "partition", F.col("at_ms").alias("end_ms"))
        .agg(
            F.max("controller_epoch").alias("elector_epoch"),
            F.bool_or("unclean").alias("unclean"),
        )
        .withColumn("what", F.lit(LEADERLESS))
    )
    return findings.join(
        elected, on=["cluster", "topic", "partition", "end_ms", "what"], how="left"
    )


def with_refusals(findings: DataFrame, transitions: DataFrame) -> DataFrame:
    """Add why nobody could be elected, as far as a partition's record says."""
    is_election = (F.col("kind") == "move_refused") & F.col("broker_id").isNull()
    one = F.struct("reason", "first_ms", "last_ms")
    refusals = (
        transitions.filter(is_election)
        .groupBy("cluster", "topic", "partition", "reason")
        .agg(F.min("at_ms").alias("first_ms"), F.max("at_ms").alias("last_ms"))
        .groupBy("cluster", "topic", "partition")
        .agg(F.array_sort(F.collect_list(one)).alias("refusals"))
    )
    within = F.filter(
        "refusals",
        lambda refused: (
            (refused["first_ms"] < F.coalesce("end_ms", F.lit(NEVER)))
            & (refused["last_ms"] >= F.col("start_ms"))
        ),
    )
    return (
        findings.join(refusals, on=["cluster", "topic", "partition"], how="left")
        .withColumn("refused", F.get(within, 0)["reason"])
        .drop("refusals")
    )


def with_place(findings: DataFrame) -> DataFrame:
    """Add `place`, by which failures come first and then all else in order.

    Only the first findings of an incident keep their evidence: a storm has thousands.
    """
    order = F.struct(
        (~F.col("what").isin(*FAILURES)).alias("is_harm"),
        "controller_epoch",
        "sequence",
        "start_ms",
    )
    nth = F.row_number().over(Window.partitionBy(*INCIDENT).orderBy("place"))
    return (
        findings.withColumn("place", order)
        .withColumn("nth", nth)
        .withColumn("evidence", F.when(F.col("nth") <= EVIDENCE_MAX, F.col("evidence")))
    )


# --- what an incident was ---------------------------------------------------------------------


def per_partition(findings: DataFrame, settings: Settings) -> DataFrame:
    """What an incident was for each partition, and, where both are null, for none of them.

    Grain: (cluster, began_ms, topic, partition). A partition that is offline is without a leader
    too; whichever lasted longer is its harm.
    """
    what, lasted = F.col("what"), F.col("duration_ms")
    is_leaderless, is_violation = what == LEADERLESS, what == VIOLATION
    is_long = is_leaderless & (lasted >= settings.offline_longer_than_ms)
    elected = is_leaderless & F.col("elector_epoch").isNotNull()
    failure = F.struct(
        "place", "what", "start_ms", "broker_id", F.col("controller_epoch").alias("epoch"), "detail"
    )
    return findings.groupBy(*INCIDENT, "topic", "partition").agg(
        F.max(F.coalesce("end_ms", F.lit(NEVER))).alias("end_ms"),
        F.count(F.lit(1)).alias("findings"),
        F.count_if(is_violation & F.col("is_error")).alias("errors"),
        F.count_if(is_violation & ~F.col("is_error")).alias("warnings"),
        F.collect_set(F.when(is_violation, F.col("detail"))).alias("rules"),
        F.collect_list(F.when(what.isin(*FAILURES), failure)).alias("failures"),
        F.min_by("asked", "start_ms").alias("asked"),
        F.greatest(
            F.sum(F.when(is_leaderless, lasted)), F.sum(F.when(what == OFFLINE, lasted))
        ).alias("leaderless_ms"),
        F.max(F.when(is_leaderless | (what == OFFLINE), lasted)).alias("longest_ms"),
        F.sum(F.when(what == UNDER_MIN_ISR, lasted)).alias("under_min_isr_ms"),
        F.collect_list(F.when(elected, lasted)).alias("elected_after"),
        F.collect_set(F.when(elected, F.col("elector_epoch"))).alias("electors"),
        F.count_if(F.col("unclean")).alias("elected_unclean"),
        F.max(F.when(is_long, lasted)).alias("long_ms"),
        F.bool_or(is_long & F.col("end_ms").isNull()).alias("long_lasts"),
        F.max(F.when(is_long, F.col("refused"))).alias("refused"),
        F.flatten(
            F.collect_list(
                F.transform("evidence", lambda one: F.struct(F.col("nth"), one.alias("record")))
            )
        ).alias("evidence"),
    )


def per_incident(partitions: DataFrame) -> DataFrame:
    """All partitions of an incident together. Grain: (cluster, began_ms)."""
    is_partition = F.col("partition").isNotNull()
    is_long = F.col("long_ms").isNotNull()
    return partitions.groupBy(*INCIDENT).agg(
        F.max("end_ms").alias("end_ms"),
        F.sum("findings").alias("findings"),
        F.sum("errors").alias("errors"),
        F.sum("warnings").alias("warnings"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("rules")))).alias("rules"),
        F.array_sort(F.flatten(F.collect_list("failures"))).alias("failures"),
        F.min("asked").alias("asked"),
        F.count_if(is_partition).alias("partitions_hit"),
        F.coalesce(F.sum("leaderless_ms"), F.lit(0)).alias("leaderless_ms"),
        F.count("longest_ms").alias("lost_leader"),
        F.max("longest_ms").alias("longest_leaderless_ms"),
        F.max_by("topic", F.struct("leaderless_ms", "topic")).alias("worst_topic"),
        F.count("under_min_isr_ms").alias("under_min_isr"),
        F.coalesce(F.sum("under_min_isr_ms"), F.lit(0)).alias("under_min_isr_ms"),
        F.max("under_min_isr_ms").alias("longest_under_min_isr_ms"),
        F.flatten(F.collect_list("elected_after")).alias("elected_after"),
        F.array_distinct(F.flatten(F.collect_list("electors"))).alias("electors"),
        F.sum("elected_unclean").alias("elected_unclean"),
        F.count("long_ms").alias("long_count"),
        F.count_distinct(F.when(is_long, F.col("topic"))).alias("long_topics"),
        F.max_by("topic", F.struct("long_ms", "topic")).alias("long_topic"),
        F.max("long_ms").alias("long_ms"),
        F.bool_or("long_lasts").alias("long_lasts"),
        F.mode("refused", deterministic=True).alias("long_because"),
        F.slice(
            F.array_distinct(F.array_sort(F.flatten(F.collect_list("evidence")))["record"]),
            1,
            EVIDENCE_MAX,
        ).alias("evidence"),
    )


def with_elector(table: DataFrame, reigns: DataFrame) -> DataFrame:
    """Add who elected, when it was one controller, and how long elections took."""
    controllers = reigns.groupBy("cluster", F.col("controller_epoch").alias("elector_epoch")).agg(
        F.min("controller_id").alias("elector_id")
    )
    in_order = F.array_sort("elected_after")
    middle = F.floor((F.size(in_order) - 1) / 2).cast("int")
    return (
        table.withColumn("elected", F.size("elected_after"))
        .withColumn("median_ms", F.get(in_order, middle))
        .withColumn("last_ms", F.array_max("elected_after"))
        .withColumn("elector_epoch", F.array_min("electors"))
        .join(controllers, on=["cluster", "elector_epoch"], how="left")
    )


def with_cause(table: DataFrame, settings: Settings) -> DataFrame:
    """Add what the incident is named after."""
    asked_just_now = F.col("began_ms") - F.col("asked.start_ms") <= settings.incident_gap_ms
    cause = (
        F.when(F.col("first_failure").isNotNull(), F.col("first_failure.what"))
        .when(asked_just_now, F.lit(OPERATOR))
        .when(F.col("lost_leader") > 0, F.lit(UNKNOWN))
        .when(F.col("under_min_isr") > 0, F.lit(ISR_COLLAPSED))
        .otherwise(F.lit(RULE_BROKEN))
    )
    return table.withColumn("first_failure", F.get("failures", 0)).withColumn("cause", cause)


def _by_time() -> WindowSpec:
    return Window.partitionBy("cluster").orderBy("began_ms")


def _by_harm() -> WindowSpec:
    return Window.partitionBy("cluster").orderBy(
        F.desc("leaderless_ms"),
        F.desc("under_min_isr_ms"),
        F.desc("errors"),
        F.desc("findings"),
        "began_ms",
    )
