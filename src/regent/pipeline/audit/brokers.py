"""Brokers: dead ones lead nothing, and none should die again and again."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.pipeline.audit.moves import ELECTED
from regent.pipeline.audit.rule import (
    JOURNAL,
    POSITION,
    REIGN,
    Rule,
    Severity,
    record_of,
    sentence,
)
from regent.pipeline.schemas import INT, STRING
from regent.pipeline.settings import Settings
from regent.pipeline.words import duration_in_words

UP: Final = "broker_up"
DOWN: Final = "broker_down"


# --- the rows ---------------------------------------------------------------------------------


def elections(transitions: DataFrame) -> DataFrame:
    """Every election with the last that its controller had seen of the new leader.

    Grain: one record. `last_seen` is null when this controller never mentioned that broker;
    `knows_all` says whether it listed all live brokers when it took office.
    """
    elected = transitions.filter((F.col("kind") == ELECTED) & (F.col("leader") >= 0)).select(
        "cluster",
        "topic",
        "partition",
        F.col("leader").alias("broker_id"),
        *(name for name in POSITION if name != "record"),
        record_of().alias("record"),
        "source",
    )
    news = transitions.filter(F.col("kind").isin(UP, DOWN))
    is_up = F.col("kind") == UP
    sight = F.struct("sequence", is_up.alias("is_up"), record_of().alias("record"))
    seen = news.groupBy(*REIGN, "broker_id").agg(F.collect_list(sight).alias("sights"))
    listing = news.groupBy(*REIGN).agg(
        F.bool_or((F.col("source") == JOURNAL) & F.col("loaded")).alias("knows_all")
    )
    last_seen = F.array_max(F.filter("sights", lambda sight: sight["sequence"] < F.col("sequence")))
    return (
        elected.join(seen, on=[*REIGN, "broker_id"], how="left")
        .join(listing, on=list(REIGN), how="left")
        .withColumn("last_seen", last_seen)
        .drop("sights")
        .withColumn("against", F.array("last_seen.record"))
    )


def flapping(broker_flapping: DataFrame, transitions: DataFrame) -> DataFrame:
    """Every time in which a broker flapped, with the records that show it.

    Grain: (cluster, broker_id, start_ms). A death that only a new controller noticed has no record
    of its own; where no other has, the broker's returns tell.
    """
    news = transitions.filter(F.col("kind").isin(UP, DOWN)).select(
        "cluster",
        "broker_id",
        "kind",
        F.struct(
            "controller_epoch", "sequence", "at_ms", "controller_id", record_of().alias("record")
        ).alias("sign"),
    )
    is_within = F.col("sign.at_ms").between(F.col("start_ms"), F.col("end_ms"))
    spells = broker_flapping.select("cluster", "broker_id", "start_ms", "end_ms", "deaths")
    deaths, returns = (
        F.array_sort(F.collect_list(F.when(is_within & (F.col("kind") == kind), F.col("sign"))))
        for kind in (DOWN, UP)
    )
    return (
        spells.join(news, on=["cluster", "broker_id"], how="left")
        .groupBy(*spells.columns)
        .agg(deaths.alias("down"), returns.alias("up"))
        .withColumn("found", F.when(F.size("down") > 0, F.col("down")).otherwise(F.col("up")))
        .withColumn("first", F.try_element_at("found", F.lit(1)))
        .select(
            "cluster",
            F.lit(None).cast(STRING).alias("topic"),
            F.lit(None).cast(INT).alias("partition"),
            "broker_id",
            "first.controller_id",
            "first.controller_epoch",
            "first.sequence",
            F.col("start_ms").alias("at_ms"),
            "first.record",
            "start_ms",
            "end_ms",
            "deaths",
            F.slice("found.record", 2, F.size("found")).alias("against"),
        )
    )


# --- what must not be -------------------------------------------------------------------------


def _is_dead(_: Settings) -> Column:
    is_unlisted = F.col("last_seen").isNull() & F.col("knows_all") & (F.col("source") == JOURNAL)
    return F.coalesce(~F.col("last_seen.is_up"), is_unlisted)


def _dead(_: Settings) -> Column:
    return sentence(
        "broker ",
        F.col("broker_id"),
        " was elected, ",
        F.when(
            F.col("last_seen").isNull(), F.lit("which its controller had never seen alive")
        ).otherwise(sentence("which had gone with record ", F.col("last_seen.sequence"))),
    )


# --- the rules --------------------------------------------------------------------------------

RULES: Final = (
    Rule(
        name="leader_on_dead_broker",
        severity=Severity.ERROR,
        meaning="An election was won by a broker that its controller knew to be dead.",
        requirements=("S1", "B2", "Q4"),
        look=elections,
        is_broken=_is_dead,
        detail=_dead,
        holds_for_logs=True,
        needs_whole_reign=True,
    ),
    Rule(
        name="flapping_broker",
        severity=Severity.WARNING,
        meaning="A broker died again and again within a short time.",
        requirements=("Q4",),
        look=flapping,
        needs=("broker_flapping", "transitions"),
        is_broken=lambda _: F.lit(True),
        detail=lambda _: sentence(
            "broker ",
            F.col("broker_id"),
            " died ",
            F.col("deaths"),
            " times within ",
            duration_in_words(F.greatest(F.col("end_ms") - F.col("start_ms"), F.lit(0))),
        ),
        holds_for_logs=True,
    ),
)
