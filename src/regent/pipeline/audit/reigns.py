"""Controllers: one for each epoch, acting only while in office, and nothing that they said missing.

All of it is about few rows: a reign's records are summed up before they are compared.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.pipeline.audit.leaderships import WRITTEN
from regent.pipeline.audit.rule import (
    JOURNAL,
    POSITION,
    REIGN,
    Rule,
    Severity,
    no_partition,
    nothing_against,
    record_of,
    sentence,
)
from regent.pipeline.replica_timelines import REPLICA_MOVED
from regent.pipeline.settings import Settings
from regent.pipeline.steps import ASSIGNED, MOVED

IN_OFFICE: Final = "controller_elected"
RESIGNED: Final = "controller_resigned"
SNAPSHOT: Final = "snapshot"
#: What only a controller in office may do.
DECISIONS: Final = (*WRITTEN, MOVED, REPLICA_MOVED, ASSIGNED)


# --- the rows ---------------------------------------------------------------------------------


def reigns(transitions: DataFrame) -> DataFrame:
    """Each reign with its first record, and the reigns that it can be compared with.

    Grain: (cluster, controller_epoch, controller_id). `rival` is the controller before it in the
    same epoch; `epoch_before` the last epoch before this one of which anything is known. A snapshot
    says who was controller, but not by that controller's own word.
    """
    first = F.min(F.struct("sequence", "at_ms", "kind", "source", record_of().alias("record")))
    wins = F.count(F.when(F.col("kind") == IN_OFFICE, True))
    last_win = F.max(
        F.when(F.col("kind") == IN_OFFICE, F.struct("sequence", record_of().alias("record")))
    )
    known = (
        _in_office(transitions)
        .groupBy(*REIGN)
        .agg(first.alias("first"), wins.alias("wins"), last_win.alias("last_win"))
    )
    in_epoch = Window.partitionBy("cluster", "controller_epoch").orderBy("controller_id")
    in_cluster = Window.partitionBy("cluster").orderBy("controller_epoch", "controller_id")
    beside = known.withColumns(
        {
            "rival": F.lag(F.struct("controller_id", "first")).over(in_epoch),
            "epoch_before": F.lag("controller_epoch").over(in_cluster),
        }
    )
    return beside.select(
        "cluster",
        *no_partition(),
        "controller_id",
        "controller_epoch",
        "first.sequence",
        "first.at_ms",
        "first.record",
        "first.source",
        "first.kind",
        "wins",
        "rival",
        "epoch_before",
        F.array("rival.first.record").alias("of_rival"),
        F.array("last_win.record").alias("of_last_win"),
        nothing_against().alias("against"),
    )


def _in_office(transitions: DataFrame) -> DataFrame:
    """What controllers that have won an epoch say of themselves.

    What a broker's log says of a controller may name an epoch that the broker only remembered.
    """
    return transitions.filter(
        (F.col("controller_epoch") > 0)
        & (F.col("controller_id") == F.col("reporter_id"))
        & (F.col("source") != SNAPSHOT)
    )


def segments(transitions: DataFrame) -> DataFrame:
    """The epochs within each file of a journal, each beside the next lower one there.

    Grain: (cluster, file, controller_id, controller_epoch). A file is written by one process, whose
    sequence numbers grow, and so must its epochs.
    """
    where = F.struct("sequence", "at_ms", record_of().alias("record"))
    spans = (
        _in_office(transitions)
        .filter(F.col("source") == JOURNAL)
        .groupBy(*REIGN, "source", "file")
        .agg(F.min(where).alias("first"), F.max(where).alias("last"))
    )
    in_file = Window.partitionBy("cluster", "file", "controller_id").orderBy("controller_epoch")
    lower = F.struct("controller_epoch", "last")
    return spans.withColumn("lower", F.lag(lower).over(in_file)).select(
        "cluster",
        *no_partition(),
        "controller_id",
        "controller_epoch",
        "first.sequence",
        "first.at_ms",
        "first.record",
        "source",
        "lower",
        F.struct(
            "controller_id",
            F.col("lower.controller_epoch").alias("controller_epoch"),
            F.col("lower.last.sequence").alias("sequence"),
            F.col("lower.last.at_ms").alias("at_ms"),
            F.col("lower.last.record").alias("record"),
        ).alias("offender"),
        F.array("first.record").alias("against"),
    )


def out_of_office(transitions: DataFrame) -> DataFrame:
    """Every decision of a controller of which it is known when it was elected or resigned.

    Grain: one record.
    """
    journal = _in_office(transitions).filter(F.col("source") == JOURNAL)
    signs = journal.filter(F.col("kind").isin(IN_OFFICE, RESIGNED))
    sign = F.struct("sequence", record_of().alias("record"))
    offices = signs.groupBy(*REIGN).agg(
        F.min(F.when(F.col("kind") == IN_OFFICE, sign)).alias("began"),
        F.min(F.when(F.col("kind") == RESIGNED, sign)).alias("ended"),
    )
    decisions = journal.filter(F.col("kind").isin(*DECISIONS)).select(
        "cluster",
        "topic",
        "partition",
        "broker_id",
        *(name for name in POSITION if name != "record"),
        record_of().alias("record"),
        "source",
        "kind",
    )
    return decisions.join(F.broadcast(offices), on=list(REIGN), how="inner").select(
        "*", F.array("began.record").alias("beginning"), F.array("ended.record").alias("against")
    )


# --- what is missing --------------------------------------------------------------------------


def gaps(transitions: DataFrame) -> DataFrame:
    """The first record after each gap in a reign's sequence numbers.

    Grain: (cluster, controller_epoch, controller_id, sequence). Numbers are dense, so a bitmap says
    which thousands of them have a gap, and only those are sorted. A number that stands in the same
    file under another epoch is not lost: one process wrote both.
    """
    holes = _sparse_buckets(transitions).filter("is_sparse")
    process = ["cluster", "controller_id", "bucket"]
    in_reign = Window.partitionBy(*process, "controller_epoch").orderBy("sequence")
    in_file = Window.partitionBy(*process, "record.file").orderBy("sequence")
    records = (
        _numbered(transitions)
        .join(F.broadcast(holes.select(*process).distinct()), on=process, how="left_semi")
        .join(
            F.broadcast(holes.select(*REIGN, "bucket", "last_of_previous")),
            on=[*REIGN, "bucket"],
            how="left",
        )
    )
    of_reign = F.coalesce(F.lag("sequence").over(in_reign), F.col("last_of_previous"))
    return (
        records.withColumn("of_reign", of_reign)
        .withColumn("of_file", F.lag("sequence").over(in_file))
        .filter(F.col("of_reign").isNotNull())
        .withColumn("previous", F.greatest("of_reign", "of_file"))
        .filter(F.col("sequence") > F.col("previous") + 1)
        .select(
            "cluster",
            *no_partition(),
            "controller_id",
            "controller_epoch",
            "sequence",
            "at_ms",
            "record",
            "source",
            "previous",
            nothing_against().alias("against"),
        )
    )


def incomplete_reigns(transitions: DataFrame) -> DataFrame:
    """The reigns of which records are lost: the beginning, or something in between.

    Grain: (cluster, controller_epoch, controller_id).
    """
    return (
        _sparse_buckets(transitions)
        .groupBy(*REIGN)
        .agg(
            F.bool_or("is_sparse").alias("has_gap"),
            F.bool_or("has_election").alias("has_election"),
        )
        .filter(F.col("has_gap") | ~F.col("has_election"))
        .select(*REIGN)
    )


def _numbered(transitions: DataFrame) -> DataFrame:
    journal = _in_office(transitions).filter(F.col("source") == JOURNAL)
    return journal.select(
        *REIGN,
        "sequence",
        "at_ms",
        "source",
        "kind",
        record_of().alias("record"),
        F.bitmap_bucket_number("sequence").alias("bucket"),
    )


def _sparse_buckets(transitions: DataFrame) -> DataFrame:
    """Some thousands of sequence numbers each, and whether some within or just before are missing.

    Grain: (cluster, controller_epoch, controller_id, bucket).
    """
    sequence = F.col("sequence")
    seen = F.bitmap_count(F.bitmap_construct_agg(F.bitmap_bit_position(sequence)))
    buckets = (
        _numbered(transitions)
        .groupBy(*REIGN, "bucket")
        .agg(
            F.min(sequence).alias("first_of_bucket"),
            F.max(sequence).alias("last_of_bucket"),
            F.bool_or(F.col("kind") == IN_OFFICE).alias("has_election"),
            seen.alias("seen"),
        )
    )
    in_reign = Window.partitionBy(*REIGN).orderBy("bucket")
    last_of_previous = F.lag("last_of_bucket").over(in_reign)
    has_hole = F.col("seen") <= F.col("last_of_bucket") - F.col("first_of_bucket")
    starts_late = F.col("first_of_bucket") > F.col("last_of_previous") + 1
    return buckets.withColumn("last_of_previous", last_of_previous).withColumn(
        "is_sparse", has_hole | F.coalesce(starts_late, F.lit(False))
    )


# --- what must not be -------------------------------------------------------------------------


def _went_back(_: Settings) -> Column:
    return F.col("lower.last.sequence") > F.col("sequence")


def _is_number_missing(_: Settings) -> Column:
    return F.col("epoch_before") < F.col("controller_epoch") - 1


def _missing_epochs(_: Settings) -> Column:
    first, last = F.col("epoch_before") + 1, F.col("controller_epoch") - 1
    return sentence(
        "nothing is known of controller epoch ",
        F.when(first == last, first.cast(T.StringType())).otherwise(sentence(first, " to ", last)),
    )


# --- the rules --------------------------------------------------------------------------------

RULES: Final = (
    Rule(
        name="two_controllers_in_one_epoch",
        severity=Severity.ERROR,
        meaning="Two controllers acted under the same controller epoch.",
        requirements=("E5", "Q4"),
        look=reigns,
        is_broken=lambda _: F.col("rival").isNotNull(),
        detail=lambda _: sentence(
            "controllers ",
            F.col("rival.controller_id"),
            " and ",
            F.col("controller_id"),
            " both acted in epoch ",
            F.col("controller_epoch"),
        ),
        against="of_rival",
        holds_for_logs=True,
    ),
    Rule(
        name="epoch_won_twice",
        severity=Severity.ERROR,
        meaning="A controller was elected more than once into the same controller epoch.",
        requirements=("E5",),
        look=reigns,
        is_broken=lambda _: F.col("wins") > 1,
        detail=lambda _: sentence(
            "epoch ", F.col("controller_epoch"), " was won ", F.col("wins"), " times"
        ),
        against="of_last_win",
    ),
    Rule(
        name="beginning_lost",
        severity=Severity.WARNING,
        meaning="What a controller recorded from its election on is missing from its journal.",
        requirements=("J1", "J2"),
        look=reigns,
        is_broken=lambda _: F.col("wins") == 0,
        detail=lambda _: sentence(
            "the first known record of epoch ",
            F.col("controller_epoch"),
            " is number ",
            F.col("sequence"),
            ", a ",
            F.col("kind"),
            ", and not the election",
        ),
    ),
    Rule(
        name="epoch_unknown",
        severity=Severity.NOTE,
        meaning="A controller epoch was won of which nothing is known: its controller died at "
        "once, or its records are missing.",
        requirements=("E5", "J1"),
        look=reigns,
        is_broken=_is_number_missing,
        detail=_missing_epochs,
        holds_for_logs=True,
    ),
    Rule(
        name="controller_epoch_went_back",
        severity=Severity.ERROR,
        meaning="A controller recorded something under an epoch that it had left behind.",
        requirements=("E5", "J1"),
        look=segments,
        is_broken=_went_back,
        detail=lambda _: sentence(
            "record ",
            F.col("lower.last.sequence"),
            " is of epoch ",
            F.col("lower.controller_epoch"),
            ", and record ",
            F.col("sequence"),
            " had been of epoch ",
            F.col("controller_epoch"),
        ),
        offender="offender",
    ),
    Rule(
        name="acted_before_elected",
        severity=Severity.ERROR,
        meaning="A controller decided something before it was elected.",
        requirements=("E6",),
        look=out_of_office,
        is_broken=lambda _: F.col("sequence") < F.col("began.sequence"),
        detail=lambda _: sentence(
            F.col("kind"),
            " is record ",
            F.col("sequence"),
            ", and the election record ",
            F.col("began.sequence"),
        ),
        against="beginning",
    ),
    Rule(
        name="acted_after_resigning",
        severity=Severity.ERROR,
        meaning="A controller decided something after it had resigned.",
        requirements=("E7", "Q4"),
        look=out_of_office,
        is_broken=lambda _: F.col("sequence") > F.col("ended.sequence"),
        detail=lambda _: sentence(
            F.col("kind"),
            " is record ",
            F.col("sequence"),
            ", and the resignation record ",
            F.col("ended.sequence"),
        ),
    ),
    Rule(
        name="records_lost",
        severity=Severity.WARNING,
        meaning="Records of a controller are missing from its journal.",
        requirements=("J1", "J2"),
        look=gaps,
        is_broken=lambda _: F.lit(True),
        detail=lambda _: sentence(
            F.col("sequence") - F.col("previous") - 1,
            " records are missing between ",
            F.col("previous"),
            " and ",
            F.col("sequence"),
        ),
    ),
)
