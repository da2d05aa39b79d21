"""Snapshots of a cluster's metadata as transitions; many of them make a history.

A snapshot says what is, as a controller finds it when it takes office: `broker_up`, `topic_loaded`
and `partitions_started`. Of each later snapshot only what differs from the one before it is told,
also that a broker or a topic is no longer there. What happened in between, and when, nobody knows:
a change has the time of the first snapshot that shows it.

The epoch is the highest that any leadership names, and never goes back. Files that are no snapshots
are left out here, and told by `snapshots_quarantine`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql import types as T

from regent.pipeline import schemas
from regent.pipeline.sources.journal import CORRUPT, directory_of, plain_path

SNAPSHOT_VERSION: Final = 1
#: What a snapshot's file is called; what else lies in a directory is none.
NAMES: Final = "*.json*"
#: A snapshot does not say who was controller.
NO_CONTROLLER: Final = -1
#: How many sequence numbers there are for a millisecond: more than a snapshot can have rows.
ROWS_PER_MS: Final = 1_000_000

#: The kinds of rows in the order in which a snapshot tells them, and what each says.
SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "broker_down": ("broker_id", "broker_epoch", "bounced"),
    "broker_up": ("broker_id", "broker_epoch", "rack", "loaded"),
    "topic_forgotten": ("topic",),
    "topic_loaded": ("topic", "topic_id", "partitions"),
    "partitions_started": ("topic", "new", "offline"),
}

_CONFIGS: Final = T.MapType(schemas.STRING, schemas.STRING)

SNAPSHOT_LEADERSHIP: Final = schemas.table(
    ("leader", schemas.INT),
    ("isr", schemas.BROKERS),
    ("leader_epoch", schemas.INT),
    ("controller_epoch", schemas.INT),
    ("zk_version", schemas.INT),
    ("recovering", schemas.BOOLEAN),
)
SNAPSHOT_PARTITION: Final = schemas.table(
    ("partition", schemas.INT),
    ("replicas", schemas.BROKERS),
    ("adding", schemas.BROKERS),
    ("removing", schemas.BROKERS),
    ("leadership", SNAPSHOT_LEADERSHIP),
)
SNAPSHOT_TOPIC: Final = schemas.table(
    ("name", schemas.STRING),
    ("partitions", T.ArrayType(SNAPSHOT_PARTITION)),
    ("id", schemas.STRING),
    ("configs", _CONFIGS),
    ("deleting", schemas.BOOLEAN),
)
SNAPSHOT_BROKER: Final = schemas.table(
    ("id", schemas.INT), ("rack", schemas.STRING), ("epoch", schemas.LONG)
)
#: A whole file, as `regent snapshot` writes it; addresses of brokers are not read.
SNAPSHOT: Final = schemas.table(
    ("version", schemas.INT),
    ("brokers", T.ArrayType(SNAPSHOT_BROKER)),
    ("topics", T.ArrayType(SNAPSHOT_TOPIC)),
    ("broker_defaults", _CONFIGS),
    ("at_ms", schemas.LONG),
    ("cluster", schemas.STRING),
)


# --- files --------------------------------------------------------------------------------------


def read_snapshots(spark: SparkSession, *paths: str, cluster: str | None = None) -> DataFrame:
    """Transitions of the histories that the snapshots at these paths make; files or directories.

    Grain: one thing that a snapshot shows and the one before it did not.
    """
    files = read_snapshot_files(spark, *paths, cluster=cluster)
    return files.filter(F.col("reason").isNull()).transform(snapshot_transitions)


def snapshots_quarantine(spark: SparkSession, *paths: str, cluster: str | None = None) -> DataFrame:
    """The files at these paths that are no snapshots.

    Grain: (file).
    """
    files = read_snapshot_files(spark, *paths, cluster=cluster)
    return files.filter(F.col("reason").isNotNull()).select(
        "cluster",
        "file",
        F.lit(None).cast(schemas.LONG).alias("line"),
        "reason",
        F.lit(None).cast(schemas.STRING).alias("text"),
    )


def read_snapshot_files(spark: SparkSession, *paths: str, cluster: str | None = None) -> DataFrame:
    """Every file at these paths, parsed; `reason` says why it cannot be used, null if it can.

    Grain: (file). What it does not say of itself is filled in: `at_ms` from the time of its last
    change, `cluster` from its directory. Spark does not see files of no length.
    """
    there = _files(spark.read.format("binaryFile")).load(list(paths))
    listed = there.select(
        plain_path(F.col("path")).alias("file"),
        F.unix_millis("modificationTime").alias("modified_ms"),
    )
    # As text, so that a file that cannot be unpacked whole is not there at all, and so that a
    # wrong value is noticed in whichever field it is: Spark's JSON reader skips unused fields.
    texts = (
        _files(spark.read)
        .option("ignoreCorruptFiles", value=True)
        .text(list(paths), wholetext=True)
    )
    with_corrupt = T.StructType([*SNAPSHOT.fields, T.StructField(CORRUPT, schemas.STRING)])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    parsed = texts.select(
        plain_path(F.col("_metadata.file_path")).alias("file"),
        F.from_json("value", with_corrupt, options).alias("parsed"),
    ).select("file", "parsed.*")
    named = F.coalesce(F.col("cluster"), directory_of(F.col("file")))
    return listed.join(parsed, on="file", how="left").select(
        "file",
        (F.lit(cluster) if cluster else named).alias("cluster"),
        F.coalesce(F.col("at_ms"), F.col("modified_ms")).alias("at_ms"),
        "brokers",
        "topics",
        "broker_defaults",
        _reason().alias("reason"),
    )


def _files(reader: DataFrameReader) -> DataFrameReader:
    return reader.option("pathGlobFilter", NAMES).option("recursiveFileLookup", value=True)


def _reason() -> Column:
    version = F.col("version")
    is_partial = F.exists("topics", lambda topic: topic["name"].isNull()) | F.exists(
        "topics", lambda topic: F.coalesce(F.exists(topic["partitions"], _is_partial), F.lit(True))
    )
    return (
        F.when(F.col(CORRUPT).isNotNull(), "not a snapshot: it is not JSON of the right form")
        .when(
            version != SNAPSHOT_VERSION,
            F.format_string(
                f"version %d of the format, and this Regent reads version {SNAPSHOT_VERSION}",
                version,
            ),
        )
        .when(
            version.isNull() | F.col("brokers").isNull() | F.col("topics").isNull(),
            "not a snapshot: it is damaged, or lacks `version`, `brokers` or `topics`",
        )
        .when(is_partial, "not a snapshot: a topic or partition in it is not complete")
    )


def _is_partial(partition: Column) -> Column:
    return partition["partition"].isNull() | partition["replicas"].isNull()


# --- histories ----------------------------------------------------------------------------------


def snapshot_transitions(files: DataFrame) -> DataFrame:
    """What each snapshot shows that the one before it, of the same cluster, did not.

    Grain: one thing shown.
    """
    heads = snapshot_heads(files)
    shown = _as_rows(broker_changes(files, heads)).unionByName(
        _as_rows(topic_changes(files, heads))
    )
    within = Window.partitionBy("cluster", "at_ms", "file").orderBy("rank", "broker_id", "topic")
    sequence = F.col("at_ms") * ROWS_PER_MS + F.row_number().over(within)
    return shown.withColumn("sequence", sequence).select(*schemas.TRANSITIONS.fieldNames())


def snapshot_heads(files: DataFrame) -> DataFrame:
    """The snapshots of each cluster in order of time, numbered from 1.

    Grain: (cluster, ordinal). `controller_epoch` is the highest of any leadership so far, and
    `following` names the next snapshot, null for the last.
    """
    epochs = F.flatten(
        F.transform(
            "topics",
            lambda topic: F.transform(
                topic["partitions"], lambda each: each["leadership"]["controller_epoch"]
            ),
        )
    )
    heads = files.select(
        "cluster",
        "file",
        "at_ms",
        F.coalesce(F.array_max(epochs), F.lit(0)).alias("highest_epoch"),
    )
    in_order = Window.partitionBy("cluster").orderBy("at_ms", "file")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return heads.select(
        "cluster",
        "file",
        "at_ms",
        F.row_number().over(in_order).alias("ordinal"),
        F.max("highest_epoch").over(so_far).alias("controller_epoch"),
    ).withColumn("following", F.lead(F.struct("file", "at_ms", "controller_epoch")).over(in_order))


def broker_changes(files: DataFrame, heads: DataFrame) -> DataFrame:
    """Brokers that came and went.

    Grain: (cluster, broker_id, event); a new life of a broker is both.
    """
    brokers = files.select("file", F.explode("brokers").alias("broker")).select(
        "file",
        F.col("broker.id").alias("broker_id"),
        F.coalesce(F.col("broker.epoch"), F.lit(0)).cast(schemas.LONG).alias("broker_epoch"),
        F.col("broker.rack").alias("rack"),
        F.lit(True).alias("loaded"),
    )
    life = Window.partitionBy("cluster", "broker_id").orderBy("ordinal")
    epoch = F.col("broker_epoch")
    seen = brokers.join(heads, on="file", how="inner").withColumns(
        {
            "came": ~epoch.eqNullSafe(_right_before(epoch, life)),
            "went": ~epoch.eqNullSafe(_right_after(epoch, life)),
            "bounced": _right_after(epoch, life).isNotNull(),
        }
    )
    return seen.withColumn(
        "event",
        _events(
            F.when(F.col("went"), _event("broker_down", F.col("following"))),
            F.when(F.col("came"), _event("broker_up")),
        ),
    )


def topic_changes(files: DataFrame, heads: DataFrame) -> DataFrame:
    """Topics that are new, or not as they were, or gone.

    Grain: (cluster, topic, event). What is gone ends in the epoch in which it was last loaded, as
    does whatever a controller knew.
    """
    live = F.transform("brokers", lambda broker: broker["id"])
    topics = files.select("file", live.alias("live"), F.explode("topics").alias("of")).select(
        "file",
        F.col("of.name").alias("topic"),
        F.col("of.id").alias("topic_id"),
        F.transform("of.partitions", _loaded_partition).alias("partitions"),
        _indexes(_was_never_led).alias("new"),
        _indexes(_is_led_by_nobody).alias("offline"),
    )
    life = Window.partitionBy("cluster", "topic").orderBy("ordinal")
    so_far = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    content = F.struct("topic_id", "partitions", "new", "offline")
    seen = (
        topics.join(heads, on="file", how="inner")
        .withColumn("is_news", ~content.eqNullSafe(_right_before(content, life)))
        .withColumns(
            {
                "is_last": _right_after(F.col("ordinal"), life).isNull(),
                "loaded_epoch": F.last(
                    F.when(F.col("is_news"), F.col("controller_epoch")), ignorenulls=True
                ).over(so_far),
            }
        )
    )
    end = F.col("following").withField("controller_epoch", F.col("loaded_epoch"))
    return seen.withColumn(
        "event",
        _events(
            F.when(F.col("is_last"), _event("topic_forgotten", end)),
            F.when(F.col("is_news"), _event("topic_loaded")),
            F.when(F.col("is_news"), _event("partitions_started")),
        ),
    )


def _right_before(column: Column, life: WindowSpec) -> Column:
    """A value in the snapshot right before; null when it was not in that one."""
    was_there = F.lag("ordinal").over(life) == F.col("ordinal") - 1
    return F.when(was_there, F.lag(column).over(life))


def _right_after(column: Column, life: WindowSpec) -> Column:
    """A value in the snapshot right after; null when it is not in that one."""
    is_there = F.lead("ordinal").over(life) == F.col("ordinal") + 1
    return F.when(is_there, F.lead(column).over(life))


def _was_never_led(partition: Column) -> Column:
    return partition["leadership"].isNull()


def _is_led_by_nobody(partition: Column) -> Column:
    """Whether its leader is -1, or not registered."""
    leader = partition["leadership"]["leader"]
    return leader.isNotNull() & ~F.array_contains(F.col("live"), leader)


def _indexes(condition: Callable[[Column], Column]) -> Column:
    return F.transform(
        F.filter("of.partitions", condition), lambda partition: partition["partition"]
    )


def _loaded_partition(partition: Column) -> Column:
    """A partition as the journal's `topic_loaded` has it; only a leadership can lack epochs."""
    led = partition["leadership"]
    nobody = F.array().cast(schemas.BROKERS)
    said: Mapping[str, Column] = {
        "adding": F.coalesce(partition["adding"], nobody),
        "removing": F.coalesce(partition["removing"], nobody),
        "leader": led["leader"],
        "isr": F.when(led.isNotNull(), F.coalesce(led["isr"], nobody)),
        "recovering": F.coalesce(led["recovering"], F.lit(False)),
        **{
            name: F.when(led.isNotNull(), F.coalesce(led[name], F.lit(0)))
            for name in ("leader_epoch", "controller_epoch", "zk_version")
        },
    }
    return F.struct(
        *(
            said.get(name, partition[name]).alias(name)
            for name in schemas.LOADED_PARTITION.fieldNames()
        )
    )


# --- rows ---------------------------------------------------------------------------------------


def _event(kind: str, where: Column | None = None) -> Column:
    """That something shows, here or in the snapshot that `where` names."""
    shown_in = F.struct("file", "at_ms", "controller_epoch") if where is None else where
    return F.struct(F.lit(kind).alias("kind"), shown_in.alias("shown_in"))


def _events(*perhaps: Column) -> Column:
    """One row for each of these that is; after the last snapshot nothing is known to have gone."""
    known = F.filter(
        F.array_compact(F.array(*perhaps)), lambda event: event["shown_in"].isNotNull()
    )
    return F.explode(known)


def _as_rows(changes: DataFrame) -> DataFrame:
    """Changes as transitions, with the `rank` of their kind instead of a sequence number."""
    kind = F.col("event.kind")
    said: dict[str, Column] = {
        "cluster": F.col("cluster"),
        "source": F.lit("snapshot"),
        "controller_epoch": F.col("event.shown_in.controller_epoch"),
        "at_ms": F.col("event.shown_in.at_ms"),
        "controller_id": F.lit(NO_CONTROLLER),
        "kind": kind,
        "file": F.col("event.shown_in.file"),
    }
    names = [name for name in changes.columns if name not in said]
    for name in names:
        kinds = [each for each, columns in SAID.items() if name in columns]
        said[name] = F.when(kind.isin(kinds), F.col(name))
    columns = [
        said.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
        for field in schemas.TRANSITIONS.fields
    ]
    rank = F.array_position(F.array(*map(F.lit, SAID)), kind)
    return changes.select(*columns, rank.alias("rank"))
