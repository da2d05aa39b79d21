"""What was written of leaderships, each beside what was known before.

A partition's state znode has a version, which grows with every write, and a leader epoch, which
controllers alone raise. Both tell the true order of writes without any clock. That is how a write
of a deposed controller shows: in the order of the journal it comes before all of its successor,
and by its version it came after something that the successor had seen.

Only writes are evidence across reigns. A deposed controller may *read* as late as it likes, and
then knows what its successor wrote.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.model.states import PartitionState
from regent.pipeline.audit.moves import ELECTED
from regent.pipeline.audit.rule import (
    JOURNAL,
    POSITION,
    REIGN,
    Rule,
    Severity,
    listed,
    record_of,
    sentence,
)
from regent.pipeline.islands import life_of
from regent.pipeline.schemas import BROKERS, INT
from regent.pipeline.settings import Settings
from regent.pipeline.steps import ASSIGNED, LED, LOADED, MOVED
from regent.pipeline.timelines import PARTITION

LEARNED: Final = "leadership_learned"
ALTERED: Final = "isr_altered"
#: Kinds that the controller itself wrote to ZooKeeper.
WRITTEN: Final = tuple(kind for kind in LED if kind != LEARNED)
#: Of these, the ones in which it decided by itself who is in the ISR.
DECIDED: Final = tuple(kind for kind in WRITTEN if kind != ALTERED)

#: What a leadership consists of.
LEADERSHIP: Final = ("leader", "leader_epoch", "isr", "zk_version", "written_epoch")


# --- the rows ---------------------------------------------------------------------------------


def leaderships(transitions: DataFrame) -> DataFrame:
    """Every leadership that was written, loaded or learned, with what was known until then.

    Grain: (cluster, topic, partition, controller_epoch, sequence, controller_id). `before` is the
    last leadership of the same life of the partition, from whichever reign, null for the first.
    `assignment` is the one known in this reign.
    """
    steps = _named(transitions).unionByName(_loaded(transitions))
    return (
        steps.transform(_with_assignment)
        .transform(_with_life)
        .transform(_with_before)
        .filter(F.col("leader").isNotNull())
        .withColumns(
            {
                "against": F.array("before.record"),
                "seen": F.array("record"),
                "assigned": F.array("assignment.record"),
            }
        )
    )


def _named(transitions: DataFrame) -> DataFrame:
    """From the records that name their partition.

    In logs, what was learned is what brokers were told, often long after it was written.
    """
    kind = F.col("kind")
    is_led = kind.isin(*LED)
    gone = PartitionState.NON_EXISTENT.value
    is_birth = (kind == MOVED) & ((F.col("before") == gone) | (F.col("after") == gone))
    is_wanted = kind.isin(*WRITTEN, ASSIGNED) | is_birth
    is_wanted = is_wanted | ((kind == LEARNED) & (F.col("source") == JOURNAL))
    written_epoch = F.coalesce("written_epoch", "controller_epoch")
    leadership = F.when(is_led, F.struct(*LEADERSHIP[:-1], written_epoch.alias("written_epoch")))
    return transitions.filter(is_wanted).select(
        *_common(),
        "partition",
        *(leadership[name].alias(name) for name in LEADERSHIP),
        F.when(kind == ASSIGNED, F.col("replicas")).alias("replicas"),
        F.lit(None).cast(T.StringType()).alias("topic_id"),
        F.coalesce(is_birth, F.lit(False)).alias("is_birth"),
    )


def _loaded(transitions: DataFrame) -> DataFrame:
    """From the topics that controllers found."""
    loads = transitions.filter(F.col("kind") == LOADED)
    found = F.col("found")
    return loads.withColumn("found", F.explode("partitions")).select(
        *_common(),
        found["partition"].alias("partition"),
        *(found[name].alias(name) for name in LEADERSHIP[:-1]),
        found["controller_epoch"].alias("written_epoch"),
        found["replicas"].alias("replicas"),
        "topic_id",
        found["leader"].isNull().alias("is_birth"),
    )


def _common() -> list[Column | str]:
    return [
        "cluster",
        "topic",
        F.lit(None).cast(INT).alias("broker_id"),
        *(name for name in POSITION if name != "record"),
        record_of().alias("record"),
        "source",
        "kind",
        F.coalesce("unclean", F.lit(False)).alias("unclean"),
    ]


def _with_assignment(steps: DataFrame) -> DataFrame:
    """Add the assignment, and who was in it or in the one before.

    A reassignment ends by giving up the old replicas first and taking them out of the ISR then, one
    by one: in between, the ISR may have those of the assignment before.
    """
    earlier = life_of(PARTITION).rowsBetween(Window.unboundedPreceding, -1)
    until_here = life_of(PARTITION).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    replicas = F.col("replicas")
    assignment = F.when(replicas.isNotNull(), F.struct(*REIGN, "replicas", "record"))
    previous = F.last("assignment", ignorenulls=True).over(earlier)
    is_same = (F.col("kind") == ASSIGNED) & _is_of_this_reign("previous")
    either = F.when(is_same, F.array_union(replicas, "previous.replicas")).otherwise(replicas)
    known = F.struct("assignment.*", F.col("either"))
    return (
        steps.withColumn("assignment", assignment)
        .withColumn("previous", previous)
        .withColumn("either", either)
        .withColumn("assignment", F.when(replicas.isNotNull(), known))
        .withColumn("assignment", F.last("assignment", ignorenulls=True).over(until_here))
        .drop("previous", "either", "replicas")
    )


def _with_life(steps: DataFrame) -> DataFrame:
    """Add which life of the partition it is: a topic that was deleted can be created again.

    Topics have ids so that this can be told. Where one is loaded without, nobody can say whether it
    is the same, and what was known before proves nothing.
    """
    earlier = life_of(PARTITION).rowsBetween(Window.unboundedPreceding, -1)
    until_here = life_of(PARTITION).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last_id = F.last("topic_id", ignorenulls=True).over(earlier)
    is_another = (F.col("kind") == LOADED) & ~F.coalesce(
        F.col("topic_id") == F.col("last_id"), F.lit(False)
    )
    return (
        steps.withColumn("last_id", last_id)
        .withColumn("is_birth", F.col("is_birth") | is_another)
        .withColumn("life", F.sum(F.col("is_birth").cast(INT)).over(until_here))
        .drop("last_id", "topic_id", "is_birth")
    )


def _with_before(steps: DataFrame) -> DataFrame:
    earlier = life_of(PARTITION).rowsBetween(Window.unboundedPreceding, -1)
    said = F.struct(*POSITION, "cluster", "kind", "life", *LEADERSHIP)
    last_said = F.last(F.when(F.col("leader").isNotNull(), said), ignorenulls=True).over(earlier)
    return steps.withColumn("before", last_said).withColumn(
        "before", F.when(F.col("before.life") == F.col("life"), F.col("before"))
    )


# --- what must not be -------------------------------------------------------------------------


def _is_of_this_reign(known: str) -> Column:
    return (F.col(f"{known}.controller_epoch") == F.col("controller_epoch")) & (
        F.col(f"{known}.controller_id") == F.col("controller_id")
    )


def _is_leader_epoch_back(_: Settings) -> Column:
    return _is_of_this_reign("before") & (F.col("leader_epoch") < F.col("before.leader_epoch"))


def _are_two_leaders(_: Settings) -> Column:
    return (
        (F.col("leader_epoch") == F.col("before.leader_epoch"))
        & (F.col("leader_epoch") >= 0)
        & (F.col("leader") >= 0)
        & (F.col("before.leader") >= 0)
        & (F.col("leader") != F.col("before.leader"))
    )


def _is_version_back(_: Settings) -> Column:
    version, known = F.col("zk_version"), F.col("before.zk_version")
    is_write = F.col("kind").isin(*WRITTEN) & (F.col("source") == JOURNAL)
    is_stale = (version < known) | (is_write & (version == known))
    return _is_of_this_reign("before") & is_stale


def _acted_after_deposed(_: Settings) -> Column:
    """Old logs have no versions; there the leader epoch alone must tell."""
    version, known = F.col("zk_version"), F.col("before.zk_version")
    by_epoch = F.col("leader_epoch") < F.col("before.leader_epoch")
    return (
        F.col("before.kind").isin(*WRITTEN)
        & (F.col("before.controller_epoch") < F.col("controller_epoch"))
        & F.coalesce(version < known, by_epoch)
    )


def _is_overruled(_: Settings) -> Column:
    """Only controllers raise leader epochs, and nobody takes a controller's epoch back.

    A leader of old writes its ISR itself, under the controller epoch of the leadership that it was
    told: that may be an old one, but never older than that of the version it writes upon.
    """
    is_raised = F.col("leader_epoch") > F.col("before.leader_epoch")
    is_taken_back = (F.col("zk_version") > F.col("before.zk_version")) & (
        F.col("written_epoch") < F.col("before.written_epoch")
    )
    return (
        (F.col("kind") == LEARNED)
        & _is_of_this_reign("before")
        & (F.col("written_epoch") < F.col("controller_epoch"))
        & (is_raised | is_taken_back)
    )


def _is_promoted(_: Settings) -> Column:
    """Who leads or is in the ISR after a decision was in the ISR before it."""
    grown = F.size(F.array_except("isr", "before.isr")) > 0
    leads = (F.col("leader") >= 0) & ~F.array_contains(F.col("before.isr"), F.col("leader"))
    return (
        F.col("kind").isin(*DECIDED)
        & ~F.col("unclean")
        & _is_of_this_reign("before")
        & (grown | leads)
    )


def _is_not_assigned(_: Settings) -> Column:
    return (
        (F.col("kind") == ELECTED)
        & _is_of_this_reign("assignment")
        & ~F.array_contains(F.col("assignment.replicas"), F.col("leader"))
    )


def _strangers() -> Column:
    return F.array_except(F.coalesce("isr", F.array().cast(BROKERS)), "assignment.either")


def _is_isr_outside_assignment(_: Settings) -> Column:
    return _is_of_this_reign("assignment") & (F.size(_strangers()) > 0)


# --- the rules --------------------------------------------------------------------------------

RULES: Final = (
    Rule(
        name="leader_epoch_went_back",
        severity=Severity.ERROR,
        meaning="Under one controller, a partition's leader epoch became smaller.",
        requirements=("P4", "Q4"),
        look=leaderships,
        is_broken=_is_leader_epoch_back,
        detail=lambda _: sentence(
            "the leader epoch is ",
            F.col("leader_epoch"),
            ", and was ",
            F.col("before.leader_epoch"),
            " already",
        ),
        holds_for_logs=True,
        needs_whole_reign=True,
    ),
    Rule(
        name="two_leaders_in_one_epoch",
        severity=Severity.ERROR,
        meaning="Two brokers led a partition under the same leader epoch.",
        requirements=("P4", "Q4"),
        look=leaderships,
        is_broken=_are_two_leaders,
        detail=lambda _: sentence(
            "brokers ",
            F.col("before.leader"),
            " and ",
            F.col("leader"),
            " both led under leader epoch ",
            F.col("leader_epoch"),
        ),
        holds_for_logs=True,
        needs_whole_reign=True,
    ),
    Rule(
        name="zk_version_went_back",
        severity=Severity.ERROR,
        meaning="Under one controller, the version of a partition's state did not grow.",
        requirements=("P4", "E5"),
        look=leaderships,
        is_broken=_is_version_back,
        detail=lambda _: sentence(
            "the state's version is ",
            F.col("zk_version"),
            ", and was ",
            F.col("before.zk_version"),
            " already",
        ),
        holds_for_logs=True,
        needs_whole_reign=True,
    ),
    Rule(
        name="acted_after_deposed",
        severity=Severity.ERROR,
        meaning="A controller wrote a leadership after its successor had seen an older one.",
        requirements=("E5", "Q4"),
        look=leaderships,
        is_broken=_acted_after_deposed,
        detail=lambda _: sentence(
            "controller ",
            F.col("before.controller_id"),
            " of epoch ",
            F.col("before.controller_epoch"),
            " wrote leader epoch ",
            F.col("before.leader_epoch"),
            " as version ",
            F.col("before.zk_version"),
            " after controller ",
            F.col("controller_id"),
            " of epoch ",
            F.col("controller_epoch"),
            " had seen leader epoch ",
            F.col("leader_epoch"),
            ", version ",
            F.col("zk_version"),
        ),
        against="seen",
        offender="before",
        holds_for_logs=True,
        needs_whole_reign=True,
    ),
    Rule(
        name="overruled_by_deposed",
        severity=Severity.ERROR,
        meaning="A controller came upon a leadership that a deposed one wrote after it took over.",
        requirements=("E5", "Q4"),
        look=leaderships,
        is_broken=_is_overruled,
        detail=lambda _: sentence(
            "leader epoch ",
            F.col("leader_epoch"),
            ", version ",
            F.col("zk_version"),
            ", was written under controller epoch ",
            F.col("written_epoch"),
            " after epoch ",
            F.col("controller_epoch"),
            " had seen leader epoch ",
            F.col("before.leader_epoch"),
            ", version ",
            F.col("before.zk_version"),
        ),
        needs_whole_reign=True,
    ),
    Rule(
        name="out_of_sync_replica_trusted",
        severity=Severity.ERROR,
        meaning="A clean decision of the controller made somebody leader, or a member of the ISR, "
        "who had not been in it.",
        requirements=("S1", "S2", "S3", "S4"),
        look=leaderships,
        is_broken=_is_promoted,
        detail=lambda _: sentence(
            "leader ",
            F.col("leader"),
            " and ISR ",
            listed(F.col("isr")),
            " were decided, and the ISR had been ",
            listed(F.col("before.isr")),
        ),
        needs_whole_reign=True,
    ),
    Rule(
        name="leader_not_assigned",
        severity=Severity.ERROR,
        meaning="An election was won by a broker that has no replica of the partition.",
        requirements=("S1", "S2", "S3", "S4"),
        look=leaderships,
        is_broken=_is_not_assigned,
        detail=lambda _: sentence(
            "broker ",
            F.col("leader"),
            " was elected, and assigned are ",
            listed(F.col("assignment.replicas")),
        ),
        against="assigned",
        needs_whole_reign=True,
    ),
    Rule(
        name="isr_outside_assignment",
        severity=Severity.ERROR,
        meaning="An ISR has members that are assigned neither now nor by the assignment before.",
        requirements=("R4", "A4", "Q4"),
        look=leaderships,
        is_broken=_is_isr_outside_assignment,
        detail=lambda _: sentence(
            "the ISR is ",
            listed(F.col("isr")),
            ", assigned are ",
            listed(F.col("assignment.replicas")),
            ", and ",
            listed(_strangers()),
            " are in neither this assignment nor the one before",
        ),
        against="assigned",
        needs_whole_reign=True,
    ),
)
