"""How long brokers take to answer what the controller tells them.

A broker is told one thing at a time and answers in order, so where requests carry no ids an answer
belongs to the oldest request of its kind that is unanswered. What still waits when a broker's life
ends is dropped: the next life begins with an empty queue. An answer that was on its way then may be
read only after the next life began. If it does not say to which life's request it is, it is taken
for one of the new life, and the answer that finds the queue empty later is passed over. So one
request of the old life counts as unanswered and one lag of the new life is too short, but what
comes after is right again.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from regent.pipeline.durations import elapsed_ms

CHANNEL: Final = ("cluster", "controller_epoch", "controller_id", "broker_id")
SENT: Final = "request_sent"
ANSWERED: Final = "request_answered"
LIFE_CHANGES: Final = ("broker_up", "broker_down")
#: What makes a request and its answer one exchange: an id, or the place in a life's queue.
EXCHANGE: Final = ("correlation_id", "broker_epoch", "life", "place")


def channel_lag(transitions: DataFrame) -> DataFrame:
    """How many requests each broker was sent and answered in each reign, and how soon.

    Grain: (cluster, controller_epoch, controller_id, broker_id, api). Percentiles are exact.
    """
    lag = elapsed_ms(F.col("sent_ms"), F.col("answered_ms"))
    is_answered = F.col("answered_ms").isNotNull()
    lags = (
        exchanges(transitions)
        .withColumn("lag_ms", lag)
        .groupBy(*CHANNEL, "api")
        .agg(
            F.count(F.lit(1)).alias("sent"),
            F.count_if(is_answered).alias("answered"),
            F.count_if(is_answered & (F.col("error") != 0)).alias("refused"),
            F.percentile("lag_ms", F.array(F.lit(0.5), F.lit(0.99))).alias("lags_ms"),
            F.max("lag_ms").alias("max_ms"),
        )
    )
    return lags.select(
        *CHANNEL,
        "api",
        "sent",
        "answered",
        "refused",
        (F.col("sent") - F.col("answered")).alias("unanswered"),
        F.round(F.col("lags_ms")[0]).cast("long").alias("p50_ms"),
        F.round(F.col("lags_ms")[1]).cast("long").alias("p99_ms"),
        "max_ms",
    )


def exchanges(transitions: DataFrame) -> DataFrame:
    """Each request with its answer.

    Grain: (cluster, controller_epoch, controller_id, broker_id, api) and what makes an exchange.
    Answers whose request is not known are left out.
    """
    is_sent = F.col("kind") == SENT
    first_answer = F.when(~is_sent, F.col("sequence"))
    return (
        transitions.filter(F.col("kind").isin(SENT, ANSWERED, *LIFE_CHANGES))
        .transform(with_life)
        .filter(F.col("kind").isin(SENT, ANSWERED))
        .transform(with_place)
        .groupBy(*CHANNEL, "api", *EXCHANGE)
        .agg(
            F.min(F.when(is_sent, F.col("at_ms"))).alias("sent_ms"),
            F.min_by("at_ms", first_answer).alias("answered_ms"),
            F.min_by("error", first_answer).alias("error"),
        )
        .filter(F.col("sent_ms").isNotNull())
    )


def with_life(transitions: DataFrame) -> DataFrame:
    """Say to which life of the broker each record belongs, by its epoch or without one by number.

    Answers do not say it: theirs is the life that was last spoken of.
    """
    in_order = Window.partitionBy(*CHANNEL).orderBy("sequence", "kind")
    until_here = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    changes = F.count_if(F.col("kind").isin(*LIFE_CHANGES)).over(until_here)
    epoch = F.last("broker_epoch", ignorenulls=True).over(until_here)
    return transitions.select(
        *CHANNEL,
        "sequence",
        "at_ms",
        "kind",
        "api",
        "error",
        "correlation_id",
        epoch.alias("broker_epoch"),
        F.when(epoch.isNull(), changes).alias("life"),
    )


def with_place(requests: DataFrame) -> DataFrame:
    """Say which request of its queue each one is, and each answer answers.

    An answer that finds the queue empty is a stray, and has the place of the answer before it. The
    number of strays is the greatest lead that answers ever had over requests. Where requests have
    ids, these say it all.
    """
    of_kind = Window.partitionBy(*CHANNEL, "api")
    in_order = Window.partitionBy(*CHANNEL, "api", "broker_epoch", "life").orderBy(
        "sequence", F.col("kind").desc()
    )
    until_here = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_sent = F.col("kind") == SENT
    has_ids = F.max(is_sent & F.col("correlation_id").isNotNull()).over(of_kind)
    counted = requests.withColumns(
        {
            "has_ids": has_ids,
            "sent": F.count_if(is_sent).over(until_here),
            "answered": F.count_if(~is_sent).over(until_here),
        }
    )
    lead = F.greatest(F.col("answered") - F.col("sent"), F.lit(0))
    numbered = counted.withColumn("strays", F.max(lead).over(until_here))
    place = F.when(is_sent, F.col("sent")).otherwise(F.col("answered") - F.col("strays"))
    return numbered.select(
        *CHANNEL,
        "api",
        "sequence",
        "at_ms",
        "kind",
        "error",
        F.when(F.col("has_ids"), F.col("correlation_id")).alias("correlation_id"),
        F.when(~F.col("has_ids"), F.col("broker_epoch")).alias("broker_epoch"),
        F.when(~F.col("has_ids"), F.col("life")).alias("life"),
        F.when(~F.col("has_ids"), place).alias("place"),
    )
