"""When brokers lived and died, as controllers saw it.

A broker's epoch names a life of it, and a controller that finds the broker alive as it takes office
continues that life. What happens while nobody is controller shows afterwards: a broker that the
next controller does not find has died, and one that it finds with another epoch has died and come
back. Where no epochs are known, as in logs, a life lasts until the broker is seen to go.

A deposed controller goes on seeing for a while, so the order of records is not that of lives: the
epochs of a broker only rise, and where they are known they tell.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from regent.pipeline.controller_reigns import REIGN
from regent.pipeline.durations import elapsed_ms
from regent.pipeline.sources.state_change_log import LOG

BROKER: Final = ("cluster", "broker_id")
#: Where a sighting stands in the order of things. One line of a log can tell that a broker went and
#: came back, in this order.
POSITION: Final = ("controller_epoch", "sequence", "controller_id", "is_up")


def broker_lives(transitions: DataFrame) -> DataFrame:
    """One life of a broker, from when it was first seen.

    Grain: (cluster, broker_id, broker_epoch), or (cluster, broker_id, up_ms) without epochs.
    """
    seen = broker_sightings(transitions)
    lives = seen.transform(with_life).transform(only_changes).transform(per_life)
    in_order = Window.partitionBy(*BROKER).orderBy("broker_epoch", "first")
    ended = (
        lives.join(roll_calls(seen, transitions), on="cluster", how="left")
        .withColumn("missed", _next_roll_call())
        .withColumn("next", F.lead(F.struct("first", "up_ms", "was_found")).over(in_order))
        .withColumns({"down_ms": _down_ms(), "bounced": _is_bounced()})
    )
    last_down_ms = F.lag("down_ms").over(in_order)
    return ended.select(
        *BROKER,
        "broker_epoch",
        "rack",
        "up_ms",
        "down_ms",
        "bounced",
        elapsed_ms(F.col("up_ms"), F.col("down_ms")).alias("lived_ms"),
        elapsed_ms(last_down_ms, F.col("up_ms")).alias("was_away_ms"),
    )


# --- what controllers saw ---------------------------------------------------------------------


def broker_sightings(transitions: DataFrame) -> DataFrame:
    """Each time that a controller saw a broker come or go, or found it as it took office.

    Grain: (cluster, broker_id, controller_epoch, sequence, controller_id, is_up). A log has the
    epochs of brokers that were found and not of those that came, and would seem to tell of two.
    """
    kind = F.col("kind")
    return transitions.filter(kind.isin("broker_up", "broker_down")).select(
        *BROKER,
        "controller_epoch",
        "sequence",
        "controller_id",
        "at_ms",
        (kind == "broker_up").alias("is_up"),
        F.when(F.col("source") != LOG, F.col("broker_epoch")).alias("broker_epoch"),
        "rack",
        F.coalesce("bounced", F.lit(False)).alias("bounced"),
        F.coalesce("loaded", F.lit(False)).alias("loaded"),
    )


def roll_calls(sightings: DataFrame, transitions: DataFrame) -> DataFrame:
    """When the controllers of a cluster looked which brokers there were, as a list.

    Grain: (cluster). A controller whose last record is about a broker that it found may have found
    more, and is left out.
    """
    called = (
        sightings.filter(F.col("is_up") & F.col("loaded"))
        .groupBy(*REIGN)
        .agg(F.min_by("at_ms", "sequence").alias("at_ms"), F.max("sequence").alias("last_found"))
    )
    went_on = transitions.groupBy(*REIGN).agg(F.max("sequence").alias("last_record"))
    return (
        called.join(went_on, on=list(REIGN), how="inner")
        .filter(F.col("last_record") > F.col("last_found"))
        .groupBy("cluster")
        .agg(F.collect_list(F.struct("controller_epoch", "at_ms")).alias("roll_calls"))
    )


# --- how it ended -----------------------------------------------------------------------------


def _next_roll_call() -> Column:
    """The first roll call after a life was last seen: it was not found there."""
    last_epoch = F.col("last.controller_epoch")
    return F.array_min(F.filter("roll_calls", lambda call: call["controller_epoch"] > last_epoch))


def _down_ms() -> Column:
    """When a life was seen to be over, by itself, at a roll call or by the next life."""
    unseen = F.coalesce("missed.at_ms", "next.up_ms")
    return F.when(F.col("last.is_up"), unseen).otherwise(F.col("last.at_ms"))


def _is_bounced() -> Column:
    """Whether the next life was there when this one was seen to be over."""
    called = F.col("missed.controller_epoch")
    was_there = F.col("next.was_found") & (F.col("next.first.controller_epoch") == called)
    is_back = was_there | called.isNull()
    unseen = F.col("next").isNotNull() & F.coalesce(is_back, F.lit(False))
    return F.when(F.col("last.is_up"), unseen).otherwise(F.col("last.bounced"))


# --- which life it was ------------------------------------------------------------------------


def with_life(sightings: DataFrame) -> DataFrame:
    """Say of which life each sighting is: by `broker_epoch`, or without one by a number, `life`.

    Whoever comes in a later reign, and is not only found, begins a life: nobody saw the one before
    end.
    """
    in_order = Window.partitionBy(*BROKER).orderBy(*POSITION)
    until_here = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    was_up = F.lag("is_up", 1, False).over(in_order)
    seen_in = F.lag("controller_epoch").over(in_order)
    comes_anew = ~F.col("loaded") & (F.col("controller_epoch") > seen_in)
    comes_back = F.col("is_up") & (~was_up | F.coalesce(comes_anew, F.lit(False)))
    return (
        sightings.withColumn("comes_back", comes_back)
        .withColumn("life", F.count_if("comes_back").over(until_here))
        .withColumn("life", F.when(F.col("broker_epoch").isNull(), F.col("life")))
    )


def only_changes(sightings: DataFrame) -> DataFrame:
    """Drop the sightings that a broker which had gone is still away."""
    in_order = Window.partitionBy(*BROKER, "broker_epoch", "life").orderBy(*POSITION)
    is_known_to_be_gone = ~F.col("is_up") & ~F.lag("is_up", 1, True).over(in_order)
    return sightings.withColumn("is_old_news", is_known_to_be_gone).filter(~F.col("is_old_news"))


def per_life(sightings: DataFrame) -> DataFrame:
    """One row for each life, with its first and its last sighting."""
    position = F.struct(*POSITION)
    return sightings.groupBy(*BROKER, "broker_epoch", "life").agg(
        F.min(position).alias("first"),
        F.min_by("loaded", position).alias("was_found"),
        F.min_by("at_ms", F.when(F.col("is_up"), position)).alias("up_ms"),
        F.max_by("rack", F.when(F.col("rack").isNotNull(), position)).alias("rack"),
        F.max_by(F.struct("controller_epoch", "is_up", "at_ms", "bounced"), position).alias("last"),
    )
