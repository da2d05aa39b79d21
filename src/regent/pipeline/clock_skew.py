"""How far the clocks of brokers are apart, from the requests that controllers sent them.

A request is sent, then received, then answered. The controller's clock shows when it was sent and
when the answer came, the broker's when it was received. So for every exchange

    sent <= received - offset <= answered

where `offset` is how far the broker's clock is ahead. All exchanges together give bounds; the
estimate is their middle, and when they leave no room the clock was set in between.

Only what is certain is paired. An answer belongs to a receipt by its correlation id. A sending is
paired with a receipt by correlation id where the log has one (0.8), or because both name the same
partition under the same leader epoch; where it was told more than once, the first counts. The lines
that only count partitions are paired in their order, if both nodes have equally many of them in a
reign and they agree on every count. And a channel carries one request at a time, so a request left
after the answer to the one before it.

The reference of a cluster is the node that sent most requests. A node that never had to do with it
is tied to it through one other node; through more than one is not tried.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from regent.pipeline import schemas

#: What a controller says when it sends, and a broker when it receives.
SENT: Final = ("request_sent", "leadership_told", "stop_told")
RECEIVED: Final = (
    "request_received",
    "leadership_heard",
    "stop_heard",
    "metadata_cached",
    "metadata_updated",
)
#: Of these, one line for each request.
COUNTED: Final = ("request_received", "metadata_updated")
ANSWERED: Final = "request_answered"

#: Between which nodes, in whose reign, and which request.
EXCHANGE: Final = ("cluster", "controller_id", "controller_epoch", "broker_id", "correlation_id")
CHANNEL: Final = EXCHANGE[:-1]
CONTENT: Final = (*CHANNEL, "api", "topic", "partition", "leader_epoch")


def clock_offsets(transitions: DataFrame) -> DataFrame:
    """How far each node's clock is ahead of its cluster's reference, within bounds.

    Grain: (cluster, reporter_id), for all nodes that can be tied to the reference, and itself.
    """
    logs = transitions.filter(F.col("source") == "log")
    direct = _both_ways(_bounds(_exchanges(logs)))
    reference = _references(logs)
    near = direct.join(reference, on="cluster", how="inner").filter(
        F.col("other_id") == F.col("reference_id")
    )
    found = near.unionByName(_chained(direct, near, reference)).unionByName(_itself(reference))
    low, high = F.col("low_ms"), F.col("high_ms")
    return found.select(
        "cluster",
        F.col("node_id").alias("reporter_id"),
        "reference_id",
        F.when(low <= high, (low + high) / 2).alias("offset_ms"),
        "low_ms",
        "high_ms",
        "pairs",
        F.coalesce(low <= high, F.lit(True)).alias("is_consistent"),
    )


def with_corrected_times(transitions: DataFrame, offsets: DataFrame) -> DataFrame:
    """`at_ms` as the reference's clock would have shown it.

    Grain: as before. A time is changed only when the bounds say that the clock is off: where they
    allow for no offset at all, or contradict each other, or one is missing, it stays.
    """
    is_off = (F.col("low_ms") > 0) | (F.col("high_ms") < 0)
    corrections = offsets.filter(is_off & F.col("is_consistent")).select(
        "cluster", "reporter_id", F.round("offset_ms").cast("long").alias("offset_ms")
    )
    corrected = F.when(
        F.col("source") == "log", F.col("at_ms") - F.coalesce(F.col("offset_ms"), F.lit(0))
    ).otherwise(F.col("at_ms"))
    return (
        transitions.join(F.broadcast(corrections), on=["cluster", "reporter_id"], how="left")
        .withColumn("at_ms", corrected)
        .select(*transitions.columns)
    )


# --- exchanges --------------------------------------------------------------------------------


def _exchanges(logs: DataFrame) -> DataFrame:
    """When a request was sent, received and answered; null where no line says.

    Grain: (cluster, controller_id, controller_epoch, broker_id, correlation_id).
    """
    receipts = logs.filter(F.col("kind").isin(*RECEIVED) & _is_complete("reporter_id"))
    receipts = receipts.filter(F.col("reporter_id") != F.col("controller_id")).withColumn(
        "broker_id", F.col("reporter_id")
    )
    received = receipts.groupBy(*EXCHANGE).agg(F.min("at_ms").alias("received_ms"))
    return (
        received.join(_answers(logs), on=list(EXCHANGE), how="left")
        .join(_sent_by_number(logs), on=list(EXCHANGE), how="left")
        .join(_sent_by_content(logs, receipts), on=list(EXCHANGE), how="left")
        .join(_sent_by_order(logs, receipts), on=list(EXCHANGE), how="left")
        .select(
            *EXCHANGE,
            F.greatest("sent_ms", "told_ms", "ordered_ms", "previous_ms").alias("sent_ms"),
            "received_ms",
            "answered_ms",
        )
    )


def _answers(logs: DataFrame) -> DataFrame:
    """When an answer came, and when the one before it on the same channel did.

    Grain: (cluster, controller_id, controller_epoch, broker_id, correlation_id).
    """
    answers = (
        logs.filter((F.col("kind") == ANSWERED) & _is_complete("broker_id"))
        .groupBy(*EXCHANGE)
        .agg(F.min("at_ms").alias("answered_ms"), F.min("sequence").alias("sequence"))
    )
    channel = Window.partitionBy(*CHANNEL).orderBy("sequence", "correlation_id")
    return answers.withColumn("previous_ms", F.lag("answered_ms").over(channel)).drop("sequence")


def _sent_by_number(logs: DataFrame) -> DataFrame:
    """When a request was sent, in the releases that say its number then.

    Grain: (cluster, controller_id, controller_epoch, broker_id, correlation_id).
    """
    sent = logs.filter(F.col("kind").isin(*SENT) & _is_complete("broker_id"))
    return sent.groupBy(*EXCHANGE).agg(F.min("at_ms").alias("sent_ms"))


def _sent_by_content(logs: DataFrame, receipts: DataFrame) -> DataFrame:
    """When that was first sent which a request was seen to hold.

    Grain: (cluster, controller_id, controller_epoch, broker_id, correlation_id).
    """
    told = logs.filter(F.col("kind").isin(*SENT) & F.col("broker_id").isNotNull())
    told = told.groupBy(*CONTENT).agg(F.min("at_ms").alias("told_ms"))
    return (
        receipts.select(*CONTENT, "correlation_id")
        .join(told, on=list(CONTENT), how="inner")
        .groupBy(*EXCHANGE)
        .agg(F.max("told_ms").alias("told_ms"))
    )


def _sent_by_order(logs: DataFrame, receipts: DataFrame) -> DataFrame:
    """When a request was sent, from the lines that only count its partitions.

    Grain: (cluster, controller_id, controller_epoch, broker_id, correlation_id).
    """
    requests = [*CHANNEL, "api"]
    sent = _numbered(
        logs.filter((F.col("kind") == "request_sent") & F.col("broker_id").isNotNull()), "sequence"
    ).select(
        *requests,
        "place",
        "places",
        F.col("partition_count").alias("sent_count"),
        F.col("at_ms").alias("ordered_ms"),
    )
    received = _numbered(receipts.filter(F.col("kind").isin(*COUNTED)), "correlation_id")
    agree = F.min((F.col("sent_count") == F.col("partition_count")).cast("int"))
    return (
        received.join(sent, on=[*requests, "place", "places"], how="inner")
        .withColumn("agree", agree.over(Window.partitionBy(*requests)))
        .filter("agree = 1")
        .groupBy(*EXCHANGE)
        .agg(F.min("ordered_ms").alias("ordered_ms"))
    )


def _numbered(lines: DataFrame, order: str) -> DataFrame:
    """Add which request of its channel and name a line is about, and of how many."""
    requests = Window.partitionBy(*CHANNEL, "api")
    return lines.withColumns(
        {
            "place": F.row_number().over(requests.orderBy(order)),
            "places": F.count(F.lit(1)).over(requests),
        }
    )


def _is_complete(broker: str) -> Column:
    """Whether a line says which request of whom to whom it is about."""
    return (
        F.col("correlation_id").isNotNull()
        & F.col("controller_epoch").isNotNull()
        & F.col("controller_id").isNotNull()
        & F.col(broker).isNotNull()
    )


# --- bounds -----------------------------------------------------------------------------------


def _bounds(exchanges: DataFrame) -> DataFrame:
    """How far the clock of `node_id` is ahead of that of `other_id`.

    Grain: (cluster, node_id, other_id).
    """
    return (
        exchanges.groupBy(
            "cluster", F.col("broker_id").alias("node_id"), F.col("controller_id").alias("other_id")
        )
        .agg(
            F.max(F.col("received_ms") - F.col("answered_ms")).alias("low_ms"),
            F.min(F.col("received_ms") - F.col("sent_ms")).alias("high_ms"),
            F.count(F.coalesce("answered_ms", "sent_ms")).alias("pairs"),
        )
        .filter("pairs > 0")
    )


def _both_ways(bounds: DataFrame) -> DataFrame:
    """The same seen from the other node, and both together where each was controller once.

    Grain: (cluster, node_id, other_id).
    """
    mirrored = bounds.select(
        "cluster",
        F.col("other_id").alias("node_id"),
        F.col("node_id").alias("other_id"),
        (-F.col("high_ms")).alias("low_ms"),
        (-F.col("low_ms")).alias("high_ms"),
        "pairs",
    )
    return _intersected(bounds.unionByName(mirrored), "cluster", "node_id", "other_id")


def _intersected(bounds: DataFrame, *of: str) -> DataFrame:
    return bounds.groupBy(*of).agg(
        F.max("low_ms").alias("low_ms"),
        F.min("high_ms").alias("high_ms"),
        F.sum("pairs").alias("pairs"),
    )


def _references(logs: DataFrame) -> DataFrame:
    """The node that sent most requests; the smallest id of several.

    Grain: (cluster).
    """
    sent = logs.filter(F.col("kind").isin(*SENT)).groupBy("cluster", "reporter_id").count()
    return sent.groupBy("cluster").agg(
        F.max_by("reporter_id", F.struct("count", -F.col("reporter_id"))).alias("reference_id")
    )


def _chained(direct: DataFrame, near: DataFrame, reference: DataFrame) -> DataFrame:
    """Nodes that had to do with the reference only through another one.

    Grain: (cluster, node_id).
    """
    through = near.select(
        "cluster",
        F.col("node_id").alias("other_id"),
        F.col("low_ms").alias("other_low_ms"),
        F.col("high_ms").alias("other_high_ms"),
    )
    hops = (
        direct.join(through, on=["cluster", "other_id"], how="inner")
        .join(reference, on="cluster", how="inner")
        .filter(F.col("node_id") != F.col("reference_id"))
        .join(near.select("cluster", "node_id"), on=["cluster", "node_id"], how="left_anti")
        .withColumn("low_ms", F.col("low_ms") + F.col("other_low_ms"))
        .withColumn("high_ms", F.col("high_ms") + F.col("other_high_ms"))
    )
    return _intersected(hops, "cluster", "node_id", "reference_id").withColumn(
        "other_id", F.col("reference_id")
    )


def _itself(reference: DataFrame) -> DataFrame:
    """The reference's clock agrees with itself."""
    here = F.col("reference_id")
    nothing = F.lit(0).cast(schemas.LONG)
    return reference.select(
        "cluster",
        here.alias("node_id"),
        here.alias("other_id"),
        nothing.alias("low_ms"),
        nothing.alias("high_ms"),
        nothing.alias("pairs"),
        "reference_id",
    )
