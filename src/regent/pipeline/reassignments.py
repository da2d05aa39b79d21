"""Partitions that move from some brokers to others: how long it takes, and where it stands still.

A reassignment is recorded (U) with its target, its replicas are added (A, and again by each
successor), and it is finished (B). The target may be changed while it runs, which begins another
one, or set back to the origin, which cancels it (C); a cancelled one is over with B too, when what
had come is gone again. What a controller did and did not live to write down shows in what the next
one loads: a partition with replicas that come or go is moving, another one is not.

Signs of progress are the phases and every change of the ISR. Being loaded again is none.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.pipeline.durations import elapsed_ms
from regent.pipeline.long_work import (
    in_order,
    longest_pause_ms,
    pauses,
    position,
    until_here,
    with_pause,
    with_segment,
)
from regent.pipeline.observed import observed_until
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.timelines import PARTITION

LOADED: Final = "topic_loaded"
FORGOTTEN: Final = "topic_forgotten"
ADVANCED: Final = "reassignment_advanced"
#: What may be said of a partition on the way, beside its phases.
ON_THE_WAY: Final = ("assignment_changed", "isr_altered", "isr_shrunk", "leadership_learned")

WORD: Final = ("controller_epoch", "sequence", "controller_id", "kind", "at_ms", "phase")
ASSIGNMENT: Final = ("replicas", "adding", "removing")


def reassignments(transitions: DataFrame, settings: Settings = DEFAULTS) -> DataFrame:
    """Each move of a partition from one set of replicas, or one order of them, to another.

    Grain: (cluster, topic, partition, start_epoch, start_sequence). A request for what is already
    so is no reassignment.
    """
    moves = (
        reassignment_words(transitions)
        .transform(with_meaning)
        .transform(with_replicas_before)
        .transform(with_segment, PARTITION)
        .transform(with_move)
        .transform(per_move)
    )
    end_ms = F.coalesce("ended.at_ms", "next_start_ms")
    until_ms = F.coalesce(end_ms, F.col("observed_until_ms"))
    pause = longest_pause_ms(until_ms)
    return moves.join(F.broadcast(observed_until(transitions)), on="cluster", how="left").select(
        *PARTITION,
        "first.start_epoch",
        "first.start_sequence",
        "first.start_ms",
        end_ms.alias("end_ms"),
        _outcome().alias("outcome"),
        "replicas_before",
        F.col("first.target").alias("replicas_after"),
        F.array_except("first.target", "replicas_before").alias("added"),
        F.array_except("replicas_before", "first.target").alias("removed"),
        elapsed_ms(F.col("first.start_ms"), until_ms).alias("duration_ms"),
        pause.alias("longest_pause_ms"),
        (pause > settings.stuck_after_ms).alias("is_stalled"),
    )


def _outcome() -> Column:
    """How a move ended."""
    ended_by = F.col("ended.kind")
    is_there = F.array_sort("ended.replicas") == F.array_sort("first.target")
    return (
        F.when(ended_by == FORGOTTEN, "abandoned")
        .when(F.col("is_cancelled"), "cancelled")
        .when(ended_by == ADVANCED, "finished")
        .when(ended_by == LOADED, F.when(is_there, "finished").otherwise("cancelled"))
        .when(F.col("next_start_ms").isNotNull(), "replaced")
        .otherwise(F.lit("running"))
    )


# --- what is said -----------------------------------------------------------------------------


def reassignment_words(transitions: DataFrame) -> DataFrame:
    """All that is said of the partitions that ever moved, `replicas` null where not said.

    Grain: (cluster, topic, partition, controller_epoch, sequence).
    """
    kind = F.col("kind")
    loads = transitions.filter(kind == LOADED)
    found = loads.transform(_found, F.col("partitions"))
    named = transitions.filter(kind.isin(ADVANCED, *ON_THE_WAY)).select(
        *PARTITION, *WORD, *ASSIGNMENT
    )
    moving = F.filter("partitions", lambda one: _is_moving(one["adding"], one["removing"]))
    ever_moved = (
        named.filter(F.col("phase").isin("U", "A"))
        .select(*PARTITION)
        .unionByName(loads.transform(_found, moving).select(*PARTITION))
        .distinct()
    )
    forgotten = (
        transitions.filter(kind == FORGOTTEN)
        .select("cluster", "topic", *WORD)
        .join(ever_moved, on=["cluster", "topic"], how="inner")
        .select(
            *PARTITION,
            *WORD,
            *(F.lit(None).cast(T.ArrayType(T.IntegerType())).alias(name) for name in ASSIGNMENT),
        )
    )
    said = named.unionByName(found).join(ever_moved, on=list(PARTITION), how="left_semi")
    return said.unionByName(forgotten)


def _found(loads: DataFrame, partitions: Column) -> DataFrame:
    """Partitions as a controller loaded them, one row each."""
    return loads.withColumn("one", F.explode(partitions)).select(
        "cluster",
        "topic",
        F.col("one.partition").alias("partition"),
        *WORD,
        *(F.col(f"one.{name}").alias(name) for name in ASSIGNMENT),
    )


def with_meaning(words: DataFrame) -> DataFrame:
    """Say which words are of a move that goes on, which end one, and what the target is."""
    is_load = F.col("kind") == LOADED
    is_moving = _is_moving(F.col("adding"), F.col("removing"))
    is_phase = F.coalesce(F.col("phase").isin("U", "A"), F.lit(False))
    opens = is_phase | (is_load & is_moving)
    is_cancel = F.col("phase").eqNullSafe("C")
    ends = F.col("phase").eqNullSafe("B") | (is_load & ~is_moving) | (F.col("kind") == FORGOTTEN)
    target = _without(F.col("replicas"), F.col("removing"))
    return words.withColumns(
        {
            "opens": opens,
            "is_cancel": is_cancel,
            "ends": ends,
            "aim": F.when(opens | is_cancel, F.struct(target.alias("target"))),
        }
    )


def with_replicas_before(words: DataFrame) -> DataFrame:
    """Add where the partition was before its assignment became what it is now.

    A record of a move says who was there before, but not in which order: that is known if the
    assignment before is.
    """
    said = F.when(
        F.col("replicas").isNotNull(),
        F.struct("replicas", _or_none(F.col("adding")).alias("adding"), "removing"),
    )
    earlier = in_order(*PARTITION).rowsBetween(Window.unboundedPreceding, -1)
    changed = F.col("said").isNotNull() & ~F.col("said").eqNullSafe(F.col("said_before"))
    origin = _without(F.col("replicas"), F.col("adding"))
    origin_before = _without(F.col("last.replicas"), F.col("last.adding"))
    is_same = F.array_sort(origin) == F.array_sort(origin_before)
    return (
        words.withColumn("said", said)
        .withColumn("said_before", F.last("said", ignorenulls=True).over(earlier))
        .withColumn("last", F.when(changed, F.col("said_before")))
        .withColumn("last", F.last("last", ignorenulls=True).over(until_here(*PARTITION)))
        .withColumn("replicas_before", F.when(is_same, origin_before).otherwise(origin))
        .drop("said", "said_before", "last")
    )


# --- which move it is said of -----------------------------------------------------------------


def with_move(words: DataFrame) -> DataFrame:
    """Number the moves of a segment, each with its own target; words before the first are dropped.

    A cancelled move is still the same move, whose target is now its origin.
    """
    key = (*PARTITION, "segment")
    earlier = in_order(*key).rowsBetween(Window.unboundedPreceding, -1)
    last_aim = F.last("aim", ignorenulls=True).over(earlier)
    return (
        words.withColumn("last_aim", last_aim)
        .withColumn("begins", F.col("opens") & ~F.col("aim").eqNullSafe(F.col("last_aim")))
        .withColumn("move", F.count_if(F.col("begins")).over(until_here(*key)))
        .filter(F.col("move") > 0)
        .drop("last_aim")
    )


def per_move(words: DataFrame) -> DataFrame:
    """One row for each move: its first word, how it ended, and its pauses.

    Grain: (cluster, topic, partition, segment, move).
    """
    key = (*PARTITION, "segment", "move")
    is_sign = (F.col("kind") != LOADED) | F.col("ends") | F.col("begins")
    first = F.struct(
        F.col("controller_epoch").alias("start_epoch"),
        F.col("sequence").alias("start_sequence"),
        F.col("at_ms").alias("start_ms"),
        "replicas_before",
        "aim.target",
    )
    moves = (
        words.withColumn("is_sign", is_sign)
        .transform(with_pause, key)
        .groupBy(*key)
        .agg(
            F.min_by(first, position()).alias("first"),
            F.max_by(
                F.struct("kind", "replicas", "at_ms"), F.when(F.col("ends"), position())
            ).alias("ended"),
            F.max("is_cancel").alias("is_cancelled"),
            *pauses(),
        )
    )
    # A move that replaces another one starts from where that one did.
    one_by_one = Window.partitionBy(*PARTITION, "segment").orderBy("move")
    return moves.withColumns(
        {
            "replicas_before": F.first("first.replicas_before").over(one_by_one),
            "next_start_ms": F.lead("first.start_ms").over(one_by_one),
        }
    )


# --- assignments ------------------------------------------------------------------------------


def _is_moving(adding: Column, removing: Column) -> Column:
    """Whether data has to move; a pure change of order is done at once."""
    return (F.size(_or_none(adding)) > 0) | (F.size(_or_none(removing)) > 0)


def _without(replicas: Column, others: Column) -> Column:
    return F.array_except(replicas, _or_none(others))


def _or_none(replicas: Column) -> Column:
    return F.coalesce(replicas, F.array().cast(T.ArrayType(T.IntegerType())))
