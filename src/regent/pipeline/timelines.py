"""What every partition was, and from when to when.

A new controller starts from nothing and loads everything, which changes nothing here unless what
it finds is different. What it does not find any more is gone: a partition that the next controller
with a started partition machine did not load ended when that controller took office.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from regent.model.states import PartitionState
from regent.pipeline.islands import islands
from regent.pipeline.schemas import ASSIGNMENT, LEADERSHIP
from regent.pipeline.steps import LOADED, POSITION, STARTED, partition_steps

PARTITION: Final = ("cluster", "topic", "partition")


def timelines(transitions: DataFrame) -> DataFrame:
    """The intervals of every partition's life.

    Grain: (cluster, topic, partition, start_epoch, start_sequence). A partition that ceased to
    exist has no interval from then on.
    """
    steps = partition_steps(transitions).unionByName(vanished_partitions(transitions))
    return (
        steps.transform(islands, key=PARTITION, said=("state", "leadership", "assignment"))
        .filter(~F.col("state").eqNullSafe(PartitionState.NON_EXISTENT))
        .select(
            *PARTITION,
            F.col("controller_epoch").alias("start_epoch"),
            F.col("sequence").alias("start_sequence"),
            F.col("at_ms").alias("start_ms"),
            "end_ms",
            "state",
            "leadership.leader",
            "leadership.leader_epoch",
            "leadership.isr",
            "assignment.replicas",
            "assignment.adding",
            "assignment.removing",
            "leadership.recovering",
            "unclean",
            "kind",
            "cause",
            "controller_id",
            "file",
            "line",
        )
    )


# --- what a new controller did not find -------------------------------------------------------


def vanished_partitions(transitions: DataFrame) -> DataFrame:
    """A step out of existence for each partition that a later controller did not find.

    Grain: (cluster, topic, partition, controller_epoch), at the record that put that controller
    in office. A deletion that a controller finished and did not live to journal ends so.
    """
    reigns = started_reigns(transitions)
    loads = transitions.filter(F.col("kind") == LOADED).select(
        "cluster",
        "controller_epoch",
        "topic",
        "sequence",
        F.col("partitions.partition").alias("ids"),
    )
    known = _per_topic(loads)
    successors = (
        known.select("cluster", "controller_epoch")
        .distinct()
        .alias("known")
        .join(
            reigns.alias("reign"),
            on=(F.col("known.cluster") == F.col("reign.cluster"))
            & (F.col("reign.controller_epoch") > F.col("known.controller_epoch")),
            how="inner",
        )
        .groupBy(
            F.col("known.cluster").alias("cluster"),
            F.col("known.controller_epoch").alias("controller_epoch"),
        )
        .agg(F.min(F.col("reign.controller_epoch")).alias("next_epoch"))
    )
    found = _per_topic(
        loads.join(
            reigns.select("cluster", "controller_epoch", "started_sequence"),
            on=["cluster", "controller_epoch"],
            how="inner",
        ).filter(F.col("sequence") < F.col("started_sequence"))
    ).select(
        "cluster",
        F.col("controller_epoch").alias("next_epoch"),
        "topic",
        F.col("ids").alias("found"),
    )
    missing = (
        known.join(successors, on=["cluster", "controller_epoch"], how="inner")
        .join(found, on=["cluster", "next_epoch", "topic"], how="left")
        .select(
            "cluster",
            F.col("next_epoch").alias("controller_epoch"),
            "topic",
            F.explode(
                F.array_except("ids", F.coalesce(F.col("found"), F.array().cast("array<int>")))
            ).alias("partition"),
        )
        .distinct()
    )
    return missing.join(reigns, on=["cluster", "controller_epoch"], how="inner").select(
        *POSITION,
        "topic",
        "partition",
        F.lit(PartitionState.NON_EXISTENT).alias("state"),
        F.lit(None).cast(LEADERSHIP).alias("leadership"),
        F.lit(None).cast(ASSIGNMENT).alias("assignment"),
        F.lit(False).alias("unclean"),
    )


def started_reigns(transitions: DataFrame) -> DataFrame:
    """The controllers that finished loading, where they took office and where they had loaded.

    Grain: (cluster, controller_epoch). The first word to a broker, or the start of the partition
    machine, says that loading is over.
    """
    first_word = (
        transitions.filter(F.col("kind").isin(STARTED, "request_sent"))
        .groupBy("cluster", "controller_epoch")
        .agg(F.min("sequence").alias("started_sequence"))
    )
    elected = transitions.filter(F.col("kind") == "controller_elected").select(*POSITION)
    return elected.join(first_word, on=["cluster", "controller_epoch"], how="inner")


def _per_topic(loads: DataFrame) -> DataFrame:
    return loads.groupBy("cluster", "controller_epoch", "topic").agg(
        F.array_distinct(F.flatten(F.collect_list("ids"))).alias("ids")
    )
