"""Moves of partitions and replicas: legal ones only, and each from where its thing was."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from regent.model.states import PartitionState, ReplicaState
from regent.pipeline.audit.rule import (
    POSITION,
    REIGN,
    WHERE,
    Rule,
    Severity,
    listed,
    nothing_against,
    record_of,
    sentence,
)
from regent.pipeline.replica_timelines import (
    REPLICA_MOVED,
    REPLICAS_STARTED,
    replica_state_when_started,
)
from regent.pipeline.schemas import INT, STRING
from regent.pipeline.settings import Settings
from regent.pipeline.steps import LED, MOVED, STARTED, after_loading, state_when_started

ELECTED: Final = "leader_elected"
#: A partition's own moves have no broker; in a key that would be null, and null equals nothing.
OF_PARTITION: Final = -1

#: From which states each state can be reached. A test holds this equal to the machines' tables.
# fmt: off
LEGAL_BEFORE: Final[Mapping[PartitionState, tuple[PartitionState, ...]]] = {
    PartitionState.NEW:          (PartitionState.NON_EXISTENT,),
    PartitionState.ONLINE:       (PartitionState.NEW, PartitionState.ONLINE,
                                  PartitionState.OFFLINE),
    PartitionState.OFFLINE:      (PartitionState.NEW, PartitionState.ONLINE,
                                  PartitionState.OFFLINE),
    PartitionState.NON_EXISTENT: (PartitionState.OFFLINE,),
}
LEGAL_REPLICA_BEFORE: Final[Mapping[ReplicaState, tuple[ReplicaState, ...]]] = {
    ReplicaState.NEW:                 (ReplicaState.NON_EXISTENT,),
    ReplicaState.ONLINE:              (ReplicaState.NEW, ReplicaState.ONLINE,
                                       ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE),
    ReplicaState.OFFLINE:             (ReplicaState.NEW, ReplicaState.ONLINE,
                                       ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE),
    ReplicaState.DELETION_STARTED:    (ReplicaState.OFFLINE,),
    ReplicaState.DELETION_SUCCESSFUL: (ReplicaState.DELETION_STARTED,),
    ReplicaState.DELETION_INELIGIBLE: (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED),
    ReplicaState.NON_EXISTENT:        (ReplicaState.DELETION_SUCCESSFUL,),
}
# fmt: on


# --- the rows ---------------------------------------------------------------------------------


def moves(transitions: DataFrame) -> DataFrame:
    """Every move and every leadership that was written or found.

    Grain: one record. `state_before` and `state_after` are of the partition or of the replica.
    """
    kind = F.col("kind")
    return transitions.filter(kind.isin(*LED, MOVED, REPLICA_MOVED)).select(
        *WHERE,
        *(name for name in POSITION if name != "record"),
        record_of().alias("record"),
        "source",
        "kind",
        F.coalesce("replica_before", "before").alias("state_before"),
        F.when(kind == ELECTED, F.lit(PartitionState.ONLINE.value))
        .otherwise(F.coalesce("replica_after", "after"))
        .alias("state_after"),
        "leader",
        "leader_before",
        "isr",
        "unclean",
        nothing_against().alias("against"),
    )


def chains(transitions: DataFrame) -> DataFrame:
    """Every move beside what its controller had last said of the state of the same thing.

    Grain: one record about one thing. A new controller starts from what it finds, so the first it
    says, by a move or by how its machines started, follows nothing.
    """
    of_thing = Window.partitionBy(
        *REIGN, "topic", "partition", F.coalesce("broker_id", F.lit(OF_PARTITION))
    ).orderBy("sequence")
    started = _started(transitions)
    moved = moves(transitions).filter(F.col("kind").isin(MOVED, ELECTED, REPLICA_MOVED))
    last_said = F.lag(F.struct("state_after", "kind", "record")).over(of_thing)
    return (
        moved.select(*started.columns)
        .unionByName(started)
        .withColumn("last", last_said)
        .withColumn("against", F.array("last.record"))
    )


def _started(transitions: DataFrame) -> DataFrame:
    """How the machines of a new controller started what it had loaded; these are no moves.

    Grain: one record and one partition, or one replica.
    """
    kind = F.col("kind")
    nothing = F.lit(None).cast(STRING)
    brokers = F.when(kind == REPLICAS_STARTED, F.col("one.replicas")).otherwise(
        F.array(F.lit(None).cast(INT))
    )
    state = F.when(kind == STARTED, state_when_started(F.col("one.partition"))).when(
        kind == REPLICAS_STARTED, replica_state_when_started(F.col("broker_id"))
    )
    return (
        after_loading(transitions, STARTED, REPLICAS_STARTED)
        .withColumn("one", F.explode("members"))
        .withColumn("broker_id", F.explode(brokers))
        .select(
            "cluster",
            "topic",
            "one.partition",
            "broker_id",
            *(name for name in POSITION if name != "record"),
            record_of().alias("record"),
            "source",
            "kind",
            nothing.alias("state_before"),
            state.alias("state_after"),
        )
    )


# --- what must not be -------------------------------------------------------------------------


def _is_illegal(
    legal: Mapping[PartitionState, Sequence[str]] | Mapping[ReplicaState, Sequence[str]],
) -> Column:
    before, after = F.col("state_before"), F.col("state_after")
    pairs = [(after == to) & before.isin(list(origins)) for to, origins in legal.items()]
    return ~reduce(or_, pairs)


def _is_illegal_partition_move(_: Settings) -> Column:
    return F.col("kind").isin(MOVED, ELECTED) & _is_illegal(LEGAL_BEFORE)


def _is_illegal_replica_move(_: Settings) -> Column:
    return (F.col("kind") == REPLICA_MOVED) & _is_illegal(LEGAL_REPLICA_BEFORE)


def _illegal_move(_: Settings) -> Column:
    return sentence(
        F.when(
            F.col("kind") == REPLICA_MOVED, sentence("the replica on ", F.col("broker_id"))
        ).otherwise(F.lit("the partition")),
        " went from ",
        F.col("state_before"),
        " to ",
        F.col("state_after"),
        ", which no machine allows",
    )


def _is_broken_chain(*, is_replica: bool) -> Column:
    # What was forgotten with its topic starts anew without a move that says so.
    gone = (PartitionState.NON_EXISTENT.value, ReplicaState.NON_EXISTENT.value)
    before = F.col("state_before")
    is_kind = (F.col("kind") == REPLICA_MOVED) == F.lit(is_replica)
    return is_kind & (before != F.col("last.state_after")) & ~before.isin(*gone)


def _broken_chain(_: Settings) -> Column:
    return sentence(
        F.when(
            F.col("kind") == REPLICA_MOVED, sentence("the replica on ", F.col("broker_id"))
        ).otherwise(F.lit("the partition")),
        " left ",
        F.col("state_before"),
        " for ",
        F.col("state_after"),
        F.when(
            F.col("last.kind").isin(STARTED, REPLICAS_STARTED),
            F.lit(", but its controller had started it in "),
        ).otherwise(F.lit(", but its last move had ended in ")),
        F.col("last.state_after"),
    )


def _is_leader_outside_isr(_: Settings) -> Column:
    isr = F.col("isr")
    return (
        F.col("kind").isin(*LED)
        & (F.col("leader") >= 0)
        & (F.size(isr) > 0)
        & ~F.array_contains(isr, F.col("leader"))
    )


def _is_empty_isr(_: Settings) -> Column:
    return F.col("kind").isin(*LED) & (F.size("isr") == 0)


def _is_unclean(_: Settings) -> Column:
    return (F.col("kind") == ELECTED) & F.col("unclean")


# --- the rules --------------------------------------------------------------------------------

RULES: Final = (
    Rule(
        name="illegal_partition_move",
        severity=Severity.ERROR,
        meaning="A partition went from one state to another that cannot follow it.",
        requirements=("P1", "Q4"),
        look=moves,
        is_broken=_is_illegal_partition_move,
        detail=_illegal_move,
        holds_for_logs=True,
    ),
    Rule(
        name="illegal_replica_move",
        severity=Severity.ERROR,
        meaning="A replica went from one state to another that cannot follow it.",
        requirements=("R1", "Q4"),
        look=moves,
        is_broken=_is_illegal_replica_move,
        detail=_illegal_move,
        holds_for_logs=True,
    ),
    Rule(
        name="leader_outside_isr",
        severity=Severity.ERROR,
        meaning="A leader is not in sync with itself: the ISR that was written lacks it.",
        requirements=("S1", "R4", "Q4"),
        look=moves,
        is_broken=_is_leader_outside_isr,
        detail=lambda _: sentence(
            "broker ", F.col("leader"), " leads, and the ISR is ", listed(F.col("isr"))
        ),
        holds_for_logs=True,
    ),
    Rule(
        name="empty_isr",
        severity=Severity.ERROR,
        meaning="An ISR has no members, so nobody is known to have the data.",
        requirements=("R4",),
        look=moves,
        is_broken=_is_empty_isr,
        detail=lambda _: sentence("leader ", F.col("leader"), ", and the ISR is empty"),
    ),
    Rule(
        name="unclean_election",
        severity=Severity.WARNING,
        meaning="A replica that was not in sync became leader, and what only others had is lost.",
        requirements=("S1", "Q4"),
        look=moves,
        is_broken=_is_unclean,
        detail=lambda _: sentence(
            "broker ",
            F.col("leader"),
            " took over from ",
            F.col("leader_before"),
            " without being in sync",
        ),
        holds_for_logs=True,
    ),
    Rule(
        name="partition_chain_broken",
        severity=Severity.ERROR,
        meaning="A partition left a state that it was not in.",
        requirements=("P1", "J1"),
        look=chains,
        is_broken=lambda _: _is_broken_chain(is_replica=False),
        detail=_broken_chain,
        needs_whole_reign=True,
    ),
    Rule(
        name="replica_chain_broken",
        severity=Severity.ERROR,
        meaning="A replica left a state that it was not in.",
        requirements=("R1", "J1"),
        look=chains,
        is_broken=lambda _: _is_broken_chain(is_replica=True),
        detail=_broken_chain,
        needs_whole_reign=True,
    ),
)
