"""What every replica was, and from when to when.

Most steps are one replica's. When a controller takes office it says per topic how the loaded
replicas stand, and what it loads of a partition says which replicas that has: any other that was
known before has ended there. With its partition a replica ends too.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.model.states import ReplicaState
from regent.pipeline.islands import islands
from regent.pipeline.schemas import BROKERS
from regent.pipeline.steps import FORGOTTEN, LOADED, POSITION, after_loading, partition_steps
from regent.pipeline.timelines import PARTITION, vanished_partitions

REPLICA: Final = (*PARTITION, "broker_id")
REPLICA_MOVED: Final = "replica_moved"
REPLICAS_STARTED: Final = "replicas_started"


def replica_timelines(transitions: DataFrame) -> DataFrame:
    """The intervals of every replica's life.

    Grain: (cluster, topic, partition, broker_id, start_epoch, start_sequence). A replica that
    ceased to exist has no interval from then on.
    """
    steps = replica_steps(transitions)
    ended = _ended(transitions, steps)
    return (
        steps.unionByName(ended)
        .transform(islands, key=REPLICA, said=("state",))
        .filter(F.col("state") != ReplicaState.NON_EXISTENT)
        .select(
            *REPLICA,
            F.col("controller_epoch").alias("start_epoch"),
            F.col("sequence").alias("start_sequence"),
            F.col("at_ms").alias("start_ms"),
            "end_ms",
            "state",
            "cause",
            "file",
            "line",
        )
    )


def replica_steps(transitions: DataFrame) -> DataFrame:
    """What records say of the state of replicas.

    Grain: (cluster, topic, partition, broker_id, controller_epoch, sequence).
    """
    moved = transitions.filter(F.col("kind") == REPLICA_MOVED).select(
        *POSITION, "topic", "partition", "broker_id", F.col("replica_after").alias("state")
    )
    started = (
        after_loading(transitions, REPLICAS_STARTED)
        .drop("partition", "broker_id")
        .withColumn("one", F.explode("members"))
        .withColumn("broker_id", F.explode("one.replicas"))
        .select(
            *POSITION,
            "topic",
            "one.partition",
            "broker_id",
            replica_state_when_started(F.col("broker_id")).alias("state"),
        )
    )
    return moved.unionByName(started)


def replica_state_when_started(broker_id: Column) -> Column:
    """The state in which the replica machine started a replica of its topic."""
    is_away = F.array_contains("offline_brokers", broker_id)
    return F.when(is_away, F.lit(ReplicaState.DELETION_INELIGIBLE)).when(
        ~is_away, F.lit(ReplicaState.ONLINE)
    )


def _ended(transitions: DataFrame, steps: DataFrame) -> DataFrame:
    """A step out of existence for replicas that a load does not name, or whose partition is gone.

    Grain: (cluster, topic, partition, broker_id, controller_epoch, sequence). For all that ever
    were replicas of the partition: ending twice changes nothing.
    """
    known = steps.groupBy(*PARTITION).agg(F.collect_set("broker_id").alias("known"))
    left = (
        partition_steps(transitions)
        .filter(F.col("kind").isin(LOADED, FORGOTTEN))
        .unionByName(vanished_partitions(transitions))
        .withColumn("left", F.coalesce(F.col("assignment.replicas"), F.array().cast(BROKERS)))
    )
    return left.join(known, on=list(PARTITION), how="inner").select(
        *POSITION,
        "topic",
        "partition",
        F.explode(F.array_except("known", "left")).alias("broker_id"),
        F.lit(ReplicaState.NON_EXISTENT).alias("state"),
    )
