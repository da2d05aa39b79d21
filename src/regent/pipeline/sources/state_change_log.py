"""`state-change.log` and `controller.log` of real Kafka brokers as transitions.

Each file is parsed by itself (`log_lines`). What a line leaves out, and only another file of the
same node says, is filled in here: the epoch of a controller whose `controller.log` was rotated, and
whether an election of the days before 1.0 was unclean, which stood in the other log.

`sequence` is made from the node's own clock, so the lines of its two logs are merged by that clock,
and no clock is ever compared with another node's. It orders what one controller says, and is unique
for it; what a broker says of a controller's requests has that controller's id and epoch, but is in
the order of the broker's clock. `reporter_id` tells them apart.
"""

import json
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.sources.log_clock import zone_of
from regent.pipeline.sources.log_files import find_logs
from regent.pipeline.sources.log_source import KafkaLogSource

#: A log does not say which cluster it is from.
CLUSTER: Final = "kafka"
LOG: Final = "log"

NOTED: Final = "noted"
RESIGNED: Final = "controller_resigned"
#: What only a controller in office says, and that it is none any more.
OF_OFFICE: Final = (
    "controller_elected",
    "controller_ready",
    "leader_elected",
    "leadership_told",
    "partition_moved",
    "replica_moved",
    "request_sent",
    RESIGNED,
)

EXPECTED: Final = (
    "[2024-11-05 07:45:59,003] INFO [Controller id=1 epoch=2] ... (state.change.logger)"
)


def read_state_change_log(
    spark: SparkSession, *paths: str, cluster: str = CLUSTER, timezone: str = "UTC"
) -> DataFrame:
    """Transitions of all logs at these paths: files, directories and patterns.

    Grain: one thing that a line says; most lines say one. `timezone` is what the brokers' clocks
    show. Lines that cannot be used are left out: see `log_quarantine`.
    """
    lines = read_log_lines(spark, paths, cluster=cluster, timezone=timezone)
    return lines.transform(log_transitions).transform(complete_from_other_files)


def log_quarantine(
    spark: SparkSession, *paths: str, cluster: str = CLUSTER, timezone: str = "UTC"
) -> DataFrame:
    """The lines of these logs that cannot be used.

    Grain: one line.
    """
    return read_log_lines(spark, paths, cluster=cluster, timezone=timezone).transform(bad_lines)


def log_line_counts(
    spark: SparkSession, *paths: str, cluster: str = CLUSTER, timezone: str = "UTC"
) -> DataFrame:
    """How many lines there are, and what became of them.

    Grain: one file.
    """
    return read_log_lines(spark, paths, cluster=cluster, timezone=timezone).transform(line_counts)


# --- one parse, several tables ----------------------------------------------------------------


def read_log_lines(
    spark: SparkSession, paths: Sequence[str], *, cluster: str = CLUSTER, timezone: str = "UTC"
) -> DataFrame:
    """Everything in these logs, good or not: `log_source.LOG_LINES`."""
    zone_of(timezone)
    files = find_logs(paths)
    spark.dataSource.register(KafkaLogSource)
    return (
        spark.read.format(KafkaLogSource.name())
        .option("files", json.dumps(files))
        .option("cluster", cluster)
        .option("zone", timezone)
        .load()
    )


def log_transitions(lines: DataFrame) -> DataFrame:
    """What the good lines say, as far as their own file tells.

    Grain: one thing that a line says.
    """
    return lines.filter("is_good").select(*schemas.TRANSITIONS.fieldNames())


def bad_lines(lines: DataFrame) -> DataFrame:
    """The lines that cannot be used.

    Grain: one line.
    """
    return lines.filter(~F.col("is_good")).select(
        "cluster", "file", "line", F.col("problem").alias("reason"), "text"
    )


def line_counts(lines: DataFrame) -> DataFrame:
    """Physical lines, and how many of them were parsed and quarantined.

    Grain: one file that has lines. A stack trace counts with the line that it follows.
    """
    return lines.groupBy("cluster", "file").agg(
        F.sum("lines").alias("lines"),
        F.sum(F.when(F.col("is_good"), F.col("lines")).otherwise(0)).alias("parsed"),
        F.sum(F.when(F.col("is_good"), 0).otherwise(F.col("lines"))).alias("quarantined"),
    )


def refuse_other_files(counts: DataFrame) -> None:
    """Say so when none of the files is a log of a controller: `counts` as from `line_counts`."""
    total = counts.agg(
        F.sum("lines").alias("lines"), F.sum("parsed").alias("parsed"), F.min("file").alias("file")
    ).head()
    assert total is not None, "an aggregate has one row"
    if total["lines"] and not total["parsed"]:
        raise BadInput(
            f"{total['file']}: none of its {total['lines']} lines, nor those of other files, is a"
            f" line of state-change.log or controller.log; they look like `{EXPECTED}`"
        )


# --- what only another file of the same node says ---------------------------------------------


def complete_from_other_files(transitions: DataFrame) -> DataFrame:
    """Fill in what a line of a log leaves out and another log of the same node says.

    Grain: as before. Needs all logs of a node at once; what is not from logs is left alone.
    """
    return (
        transitions.transform(only_true_resignations)
        .transform(with_controller_epochs)
        .transform(with_unclean_elections)
        .select(*schemas.TRANSITIONS.fieldNames())
    )


def only_true_resignations(transitions: DataFrame) -> DataFrame:
    """A broker that stops says that it resigned, whether it was controller or not."""
    kind = F.col("kind")
    is_in_office = kind.isin(*OF_OFFICE) & (F.col("reporter_id") == F.col("controller_id"))
    of_node = Window.partitionBy("cluster", "source", "reporter_id").orderBy("sequence")
    # By what it says and not by rows: a copy of a line is no second resignation.
    before = of_node.rangeBetween(Window.unboundedPreceding, -1)
    last = F.last(F.when(is_in_office, kind), ignorenulls=True).over(before)
    was_none = F.coalesce(last, F.lit(RESIGNED)) == RESIGNED
    return transitions.withColumn(
        "kind", F.when(_is_log() & (kind == RESIGNED) & was_none, F.lit(NOTED)).otherwise(kind)
    )


def with_controller_epochs(transitions: DataFrame) -> DataFrame:
    """The epoch last said by the same node about the same controller, else the first one."""
    of_node = Window.partitionBy("cluster", "source", "reporter_id", "controller_id")
    until_here = _by_clock(of_node).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ever = _by_clock(of_node).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    epoch = F.coalesce(
        F.col("controller_epoch"),
        F.last("controller_epoch", ignorenulls=True).over(until_here),
        F.first("controller_epoch", ignorenulls=True).over(ever),
    )
    return transitions.withColumn(
        "controller_epoch", F.when(_is_log(), epoch).otherwise(F.col("controller_epoch"))
    )


def with_unclean_elections(transitions: DataFrame) -> DataFrame:
    """Before 1.0 `controller.log` said that an election was unclean, just before it was held."""
    kind = F.col("kind")
    choice = F.when(
        kind.isin("unclean_leader_chosen", "leader_elected"), F.struct("kind", "leader")
    )
    of_partition = Window.partitionBy("cluster", "source", "reporter_id", "topic", "partition")
    before = _by_clock(of_partition).rowsBetween(Window.unboundedPreceding, -1)
    chosen = F.last(choice, ignorenulls=True).over(before)
    is_unclean = (chosen["kind"] == "unclean_leader_chosen") & (chosen["leader"] == F.col("leader"))
    return transitions.withColumn(
        "unclean",
        F.when(_is_log() & (kind == "leader_elected") & is_unclean, F.lit(True)).otherwise(
            F.col("unclean")
        ),
    )


def _is_log() -> Column:
    return F.col("source") == LOG


def _by_clock(of: WindowSpec) -> WindowSpec:
    """In the order of one node's clock: never used for more than one node."""
    return of.orderBy("sequence", "file", "line")
