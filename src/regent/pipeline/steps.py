"""What each record says of each partition: the ground that timelines stand on.

Most records name one partition. Three kinds speak of a whole topic, because a failover is
journalled compactly: what was loaded, how the partition machine started, and that the topic is
gone. Here each becomes one step for each partition that it is about.

A step sets some of three things, `state`, `leadership` and `assignment`, and leaves the others
null: as they were.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.model.states import PartitionState
from regent.pipeline import schemas

#: Kinds that write a leadership, their own controller's or one that they found.
LED: Final = (
    "leader_elected",
    "isr_shrunk",
    "isr_altered",
    "leadership_learned",
    "leader_epoch_raised",
)
MOVED: Final = "partition_moved"
ASSIGNED: Final = "assignment_changed"
LOADED: Final = "topic_loaded"
STARTED: Final = "partitions_started"
FORGOTTEN: Final = "topic_forgotten"

POSITION: Final = (
    "cluster",
    "controller_epoch",
    "sequence",
    "at_ms",
    "controller_id",
    "cause",
    "kind",
    "file",
    "line",
)


def partition_steps(transitions: DataFrame) -> DataFrame:
    """What records say of partitions; null where a record says nothing.

    Grain: (cluster, topic, partition, controller_epoch, sequence).
    """
    return _named_steps(transitions).unionByName(_topic_steps(transitions))


def _named_steps(transitions: DataFrame) -> DataFrame:
    """From the records that name their partition."""
    kind = F.col("kind")
    state = (
        F.when(kind == "leader_elected", F.lit(PartitionState.ONLINE))
        .when(kind == MOVED, F.col("after"))
        .alias("state")
    )
    assignment = F.when(kind == ASSIGNED, _assignment()).alias("assignment")
    return transitions.filter(kind.isin(*LED, MOVED, ASSIGNED)).select(
        *POSITION,
        "topic",
        "partition",
        state,
        F.when(kind.isin(*LED), _leadership()).alias("leadership"),
        assignment,
        F.coalesce(F.col("unclean"), F.lit(False)).alias("unclean"),
    )


def _topic_steps(transitions: DataFrame) -> DataFrame:
    """From the records about whole topics."""
    loads = transitions.filter(F.col("kind") == LOADED).withColumn("members", F.col("partitions"))
    steps = loads.unionByName(after_loading(transitions, STARTED, FORGOTTEN))
    partition = F.col("one.partition")
    kind = F.col("kind")
    state = F.when(kind == FORGOTTEN, F.lit(PartitionState.NON_EXISTENT)).when(
        kind == STARTED, state_when_started(partition)
    )
    return steps.withColumn("one", F.explode("members")).select(
        *POSITION,
        "topic",
        partition.alias("partition"),
        state.alias("state"),
        F.when(kind == LOADED, _leadership("one.")).alias("leadership"),
        F.when(kind == LOADED, _assignment("one.")).alias("assignment"),
        F.lit(False).alias("unclean"),
    )


def state_when_started(partition: Column) -> Column:
    """The state in which the partition machine started a partition of its topic."""
    return (
        F.when(F.array_contains("new", partition), F.lit(PartitionState.NEW))
        .when(F.array_contains("offline", partition), F.lit(PartitionState.OFFLINE))
        .otherwise(F.lit(PartitionState.ONLINE))
    )


def after_loading(transitions: DataFrame, *kinds: str) -> DataFrame:
    """Records of these kinds with the partitions that their topic had been loaded with.

    Grain: one record and one load of its topic that came before it in the same reign. They are
    joined per topic, before anything is exploded; the partitions are in `members`.
    """
    reign_and_topic = ["cluster", "controller_epoch", "controller_id", "topic"]
    loads = transitions.filter(F.col("kind") == LOADED).select(
        *reign_and_topic,
        F.col("sequence").alias("loaded_sequence"),
        F.col("partitions").alias("members"),
    )
    return (
        transitions.filter(F.col("kind").isin(*kinds))
        .join(loads, on=reign_and_topic, how="inner")
        .filter(F.col("loaded_sequence") < F.col("sequence"))
        .drop("loaded_sequence")
    )


def _leadership(of: str = "") -> Column:
    """Who leads; a loaded partition that nobody ever led has nobody, not an unknown leader."""
    nobody = F.array().cast(T.ArrayType(T.IntegerType()))
    return F.struct(
        F.coalesce(F.col(f"{of}leader"), F.lit(schemas.NO_LEADER)).alias("leader"),
        F.coalesce(F.col(f"{of}leader_epoch"), F.lit(-1)).alias("leader_epoch"),
        F.coalesce(F.col(f"{of}isr"), nobody).alias("isr"),
        F.coalesce(F.col(f"{of}recovering"), F.lit(False)).alias("recovering"),
    )


def _assignment(of: str = "") -> Column:
    return F.struct(
        *(F.col(f"{of}{name}").alias(name) for name in ("replicas", "adding", "removing"))
    )
