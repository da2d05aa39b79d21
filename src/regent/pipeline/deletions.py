"""Topics that are deleted: how long it takes, and what keeps it back.

A deletion is queued, started when nothing stands against it, found ineligible for a reason and
retried, and finished. Each successor queues again what it finds marked, before it says its first
word to a broker. One that a successor does not queue was over: its controller did not live to
write that down, or somebody took the mark away.

Signs of progress are that it is started or retried, and each replica that is gone.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.model.states import ReplicaState
from regent.pipeline.controller_reigns import REIGN, first_words
from regent.pipeline.durations import elapsed_ms
from regent.pipeline.long_work import (
    longest_pause_ms,
    pauses,
    position,
    until_here,
    with_pause,
    with_segment,
)
from regent.pipeline.observed import observed_until
from regent.pipeline.settings import DEFAULTS, Settings

TOPIC: Final = ("cluster", "topic")
WORD: Final = (*TOPIC, "controller_epoch", "sequence", "controller_id", "kind", "at_ms")

ADVANCED: Final = "deletion_advanced"
FORGOTTEN: Final = "topic_forgotten"
MOVED: Final = "replica_moved"
#: No record's kind: a successor did not queue the deletion again.
NOT_QUEUED: Final = "deletion_not_queued"


def deletions(transitions: DataFrame, settings: Settings = DEFAULTS) -> DataFrame:
    """Each deletion of a topic, over as many reigns as it took.

    Grain: (cluster, topic, start_epoch, start_sequence).
    """
    end_ms = F.col("end_ms")
    until_ms = F.coalesce(end_ms, F.col("observed_until_ms"))
    work = (
        deletion_words(transitions)
        .transform(with_segment, TOPIC)
        .transform(only_queued)
        .transform(per_deletion)
        .join(F.broadcast(observed_until(transitions)), on="cluster", how="left")
    )
    return work.select(
        *TOPIC,
        F.col("first.controller_epoch").alias("start_epoch"),
        F.col("first.sequence").alias("start_sequence"),
        "queued_ms",
        "started_ms",
        "end_ms",
        elapsed_ms(F.col("first.at_ms"), until_ms).alias("duration_ms"),
        "obstacles",
        F.col("reasons").cast(T.ArrayType(T.StringType())).alias("reasons"),
        "retries",
        (longest_pause_ms(until_ms) > settings.stuck_after_ms).alias("is_stalled"),
    )


# --- what is said -----------------------------------------------------------------------------


def deletion_words(transitions: DataFrame) -> DataFrame:
    """All that is said of topics that ever were to be deleted.

    Grain: (cluster, topic, controller_epoch, sequence, kind), and for replicas each of them.
    """
    kind = F.col("kind")
    is_word = kind.isin(ADVANCED, FORGOTTEN) | (
        (kind == MOVED) & (F.col("replica_after") == ReplicaState.DELETION_SUCCESSFUL)
    )
    said = transitions.filter(is_word).select(*WORD, "phase", "reason", "source")
    queued = said.filter((kind == ADVANCED) & (F.col("phase") != "finished"))
    to_delete = queued.groupBy(*TOPIC).agg(F.min("controller_epoch").alias("first_epoch"))
    words = said.join(to_delete, on=list(TOPIC), how="left_semi").drop("source")
    ends = kind.isin(FORGOTTEN, NOT_QUEUED) | F.col("phase").eqNullSafe("finished")
    return words.unionByName(not_queued_again(queued, transitions)).withColumn("ends", ends)


def not_queued_again(queued: DataFrame, transitions: DataFrame) -> DataFrame:
    """The successors that did not queue a deletion, where each had loaded everything.

    Only a journal tells all that a controller queued.
    """
    journal = F.col("source") == "journal"
    words = first_words(transitions.filter(journal))
    known = (
        queued.filter(journal).groupBy(*TOPIC).agg(F.min("controller_epoch").alias("first_epoch"))
    )
    again = (
        queued.select(*TOPIC, *REIGN[1:], F.col("sequence").alias("queued_at"))
        .join(words.drop("at_ms"), on=list(REIGN), how="inner")
        .filter(F.col("queued_at") < F.col("sequence"))
        .select(*REIGN, "topic")
    )
    nothing = F.lit(None).cast(T.StringType())
    return (
        known.join(words, on="cluster", how="inner")
        .filter(F.col("controller_epoch") > F.col("first_epoch"))
        .join(again, on=[*REIGN, "topic"], how="left_anti")
        .withColumn("kind", F.lit(NOT_QUEUED))
        .select(*WORD, nothing.alias("phase"), nothing.alias("reason"))
    )


# --- which deletion it is said of -------------------------------------------------------------


def only_queued(words: DataFrame) -> DataFrame:
    """Drop what was said while the topic was not to be deleted."""
    opens = (F.col("kind") == ADVANCED) & ~F.col("ends")
    opened = F.count_if(opens).over(until_here(*TOPIC, "segment"))
    return (
        words.withColumns({"opened": opened, "opens": opens})
        .filter(F.col("opened") > 0)
        .withColumn("is_first", F.col("opens") & (F.col("opened") == 1))
    )


def per_deletion(words: DataFrame) -> DataFrame:
    """One row for each deletion.

    Grain: (cluster, topic, segment).
    """
    key = (*TOPIC, "segment")
    phase = F.col("phase")
    is_attempt = F.coalesce(phase.isin("started", "retried"), F.lit(False))
    is_sign = F.col("is_first") | F.col("ends") | (F.col("kind") == MOVED) | is_attempt
    return (
        words.withColumn("is_sign", is_sign)
        .transform(with_pause, key)
        .groupBy(*key)
        .agg(
            F.min_by(F.struct("controller_epoch", "sequence", "at_ms"), position()).alias("first"),
            F.min_by("at_ms", F.when(phase == "queued", position())).alias("queued_ms"),
            F.min_by("at_ms", F.when(phase == "started", position())).alias("started_ms"),
            F.max_by("at_ms", F.when(F.col("ends"), position())).alias("end_ms"),
            F.count_if(phase == "ineligible").alias("obstacles"),
            F.array_sort(F.collect_set("reason")).alias("reasons"),
            F.count_if(phase == "retried").alias("retries"),
            *pauses(),
        )
    )
