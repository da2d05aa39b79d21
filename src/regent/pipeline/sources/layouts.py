"""Where everything is at one moment: the latest snapshot, as plans and blast radii need it."""

from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.sources.snapshots import read_snapshot_files

MIN_ISR: Final = "min.insync.replicas"


def read_layout(spark: SparkSession, *paths: str) -> tuple[DataFrame, DataFrame]:
    """The partitions and the brokers of the latest snapshot at these paths.

    Unlike a history, a layout must not leave anything out: a file that is no snapshot is refused.
    """
    try:
        files = read_snapshot_files(spark, *paths)
        worst = files.select("file", "reason").orderBy(F.col("reason").isNull(), "file").head()
    except AnalysisException as error:
        raise BadInput(
            f"there is no snapshot at {', '.join(paths)}; `regent snapshot` writes one"
        ) from error
    if worst is None:
        raise BadInput(
            f"there is no snapshot at {', '.join(paths)}; its name must end in .json or .json.gz"
        )
    if worst["reason"] is not None:
        raise BadInput(
            f"{worst['file']}: {worst['reason']}; `regent what-if` says more about what is wrong"
        )
    latest = files.orderBy(F.desc("at_ms"), F.desc("file")).limit(1)
    return layout(latest), brokers(latest)


def layout(snapshot: DataFrame) -> DataFrame:
    """The partitions of a snapshot; topics that are being deleted are not among them.

    Grain: (cluster, topic, partition). A leader that is not registered leads nobody.
    """
    live = F.transform("brokers", lambda broker: broker["id"])
    topics = snapshot.select(
        "cluster", live.alias("live"), "broker_defaults", F.explode("topics").alias("topic")
    ).filter(~F.coalesce(F.col("topic.deleting"), F.lit(False)))
    partitions = topics.select(
        "cluster",
        "live",
        _min_isr().alias("min_isr"),
        F.col("topic.name").alias("topic"),
        F.explode("topic.partitions").alias("of"),
    )
    leader = F.col("of.leadership.leader")
    return partitions.select(
        "cluster",
        "topic",
        F.col("of.partition").alias("partition"),
        F.col("of.replicas").alias("replicas"),
        F.when(F.array_contains("live", leader), leader)
        .otherwise(F.lit(schemas.NO_LEADER))
        .alias("leader"),
        F.coalesce("of.leadership.isr", F.array().cast(schemas.BROKERS)).alias("isr"),
        "min_isr",
    )


def brokers(snapshot: DataFrame) -> DataFrame:
    """The brokers of a snapshot: those registered, and those that only hold replicas.

    Grain: (cluster, broker_id).
    """
    registered = snapshot.select("cluster", F.explode("brokers").alias("broker")).select(
        "cluster",
        F.col("broker.id").alias("broker_id"),
        F.col("broker.rack").alias("rack"),
        F.lit(True).alias("is_live"),
    )
    replicas = F.flatten(
        F.flatten(
            F.transform(
                "topics", lambda t: F.transform(t["partitions"], lambda each: each["replicas"])
            )
        )
    )
    holding = snapshot.select(
        "cluster", F.explode(F.array_distinct(replicas)).alias("broker_id")
    ).select(
        "cluster",
        "broker_id",
        F.lit(None).cast(schemas.STRING).alias("rack"),
        F.lit(False).alias("is_live"),
    )
    return (
        registered.unionByName(holding)
        .groupBy("cluster", "broker_id")
        .agg(F.max("rack").alias("rack"), F.max("is_live").alias("is_live"))
        .select("cluster", "broker_id", "rack", "is_live")
    )


def _min_isr() -> Column:
    """Of the topic, else of all brokers, else Kafka's own default."""
    said = F.coalesce(
        F.try_element_at("topic.configs", F.lit(MIN_ISR)),
        F.try_element_at("broker_defaults", F.lit(MIN_ISR)),
    )
    return F.coalesce(said.try_cast(schemas.INT), F.lit(1))
