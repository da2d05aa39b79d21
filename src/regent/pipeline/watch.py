"""Journals that are still being written: their transitions as tables, and alerts at once.

Two queries read the same journals. One keeps every line, parsed or quarantined; the other remembers
and judges. A query that dies must not die quietly, so all of them are looked after together.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from pyarrow import parquet
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from regent.errors import BadInput, RegentError
from regent.pipeline.live.folder import (
    Beginning,
    LiveFolder,
    Terms,
    alert_lines,
    draft_of,
    put,
)
from regent.pipeline.live.processor import live_alerts
from regent.pipeline.live.webhook import Webhook
from regent.pipeline.output import tidy
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.sources import journal
from regent.pipeline.sources.journal_tail import (
    Offset,
    end_of_journals,
    find_segments,
    sizes_of,
    tail_journals,
)

TRANSITIONS: Final = "transitions"
ALERTS: Final = "alerts"
POLL_S: Final = 0.3
#: What Spark says when a Python of its own was not up within ten seconds.
LATE_PYTHON: Final = "failed to connect back"
STARTS_MAX: Final = 10

#: For streams: state on disk, and few tasks, as many for the whole life of a checkpoint.
STREAMING: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}

NO_DATA_BATCHES: Final = "spark.sql.streaming.noDataMicroBatches.enabled"

Alert: TypeAlias = dict[str, Any]


class QueryDied(RegentError):  # noqa: N818 - it is news
    """A query of a watch has ended by itself; nothing is watched any more."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the watch has stopped, because its query `{name}` died: {reason}")
        self.name = name
        self.reason = reason


class WatchPlan(Struct, frozen=True):
    """What is watched, and what is done with what is seen."""

    journals: tuple[str, ...]
    folder: LiveFolder
    limits: Settings = DEFAULTS
    #: Whether what was written before the watch is watched as well.
    from_start: bool = False
    interval_s: float = 1.0
    #: Whether to end where the journals end now.
    is_once: bool = False
    webhook: str | None = None
    #: Told the alerts of each batch once, and the file that has them.
    on_alerts: Callable[[Sequence[Alert], Path], None] = lambda _alerts, _file: None
    #: Told what a person should know of the watch itself.
    on_news: Callable[[str], None] = lambda _: None

    def terms(self) -> Terms:
        """What a later watch in the same folder must agree with."""
        return Terms(
            tuple(sorted(str(Path(path).resolve()) for path in self.journals)),
            self.from_start,
            msgspec.to_builtins(self.limits),
        )


def watch(spark: SparkSession, asked: WatchPlan, stopping: threading.Event) -> None:
    """Watch until told to stop; a QueryDied says why it ended otherwise."""
    beginning = begin(asked)
    # What is set here is for these queries, and for nobody else in this process.
    spark = spark.newSession()
    for key, value in STREAMING.items():
        spark.conf.set(key, value)
    # Time goes on without data, so a watch that is to end must not wait for it.
    spark.conf.set(NO_DATA_BATCHES, str(not asked.is_once).lower())
    with ExitStack() as stack:
        if asked.webhook is not None:
            hook = Webhook(asked.webhook, asked.folder, asked.on_news)
            stack.enter_context(hook.running())
        queries: list[StreamingQuery] = []
        stack.callback(stop_all, queries)
        for start in (start_transitions, start_alerts):
            start_settled(partial(start, spark, asked, beginning.start), queries, stopping, asked)
        supervise(queries, stopping, is_once=asked.is_once)


def begin(asked: WatchPlan) -> Beginning:
    """Where in the journals the watch begins, or began when it was first started."""
    start: Offset = {} if asked.from_start else end_of_journals(asked.journals)
    beginning = asked.folder.begin(Beginning(asked.terms(), start))
    skipped = sum(read["bytes"] for read in beginning.start.values())
    if skipped and beginning.start == start:
        asked.on_news(
            f"{skipped / 1e6:,.1f} MB of history are not watched; `regent pipeline run` is for"
            " these, and --from-start for little of it"
        )
    elif asked.from_start:
        history = sum(sizes_of(find_segments(asked.journals)).values())
        asked.on_news(f"{history / 1e6:,.1f} MB of journals are read from the start")
    return beginning


# --- the queries --------------------------------------------------------------------------------


def start_transitions(spark: SparkSession, asked: WatchPlan, start: Offset) -> StreamingQuery:
    """Keep every line."""
    folder = asked.folder
    lines = tail_journals(spark, asked.journals, start=start)

    def keep(batch: DataFrame, number: int) -> None:
        keep_lines(batch, number, folder)

    return _started(lines.writeStream.foreachBatch(keep), TRANSITIONS, asked)


def start_alerts(spark: SparkSession, asked: WatchPlan, start: Offset) -> StreamingQuery:
    """Judge every record, and tell of what is found."""
    lines = tail_journals(spark, asked.journals, start=start)

    def tell(batch: DataFrame, number: int) -> None:
        # Only once may the batch be computed: the memory goes forward with it.
        found = [row.asDict(recursive=True) for row in batch.collect()]
        file = asked.folder.alerts_file(number)
        if found and not file.exists():
            found.sort(key=_order)
            put(file, alert_lines(found))
            asked.on_alerts(found, file)

    alerts = live_alerts(lines, asked.limits)
    return _started(alerts.writeStream.foreachBatch(tell), ALERTS, asked)


def _started(writer: DataStreamWriter, name: str, asked: WatchPlan) -> StreamingQuery:
    writer = writer.queryName(name).option(
        "checkpointLocation", str(asked.folder.checkpoints / name)
    )
    if asked.is_once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{round(asked.interval_s * 1000)} milliseconds").start()


def _order(alert: Alert) -> tuple[Any, ...]:
    names = ("cluster", "controller_epoch", "sequence", "rule", "topic", "partition")
    return tuple(str(alert[name] or "") if name != "sequence" else alert[name] for name in names)


def keep_lines(lines: DataFrame, number: int, folder: LiveFolder) -> None:
    """Put the lines of a batch in place, the good as transitions and the bad in quarantine.

    Transitions come last: where they are, the batch has been kept.
    """
    table = folder.batch_folder(folder.transitions, number)
    if table.exists():
        return
    lines.persist()
    try:
        counted = lines.agg(F.count(F.lit(1)), F.max(F.when(F.col("is_newer"), F.struct("*"))))
        ((lines_in, newer),) = counted.collect()
        if newer is not None:
            raise BadInput(f"{newer['file']}, line {newer['line']}: {newer['reason']}")
        if not lines_in:
            return
        bad = folder.batch_folder(folder.quarantine, number)
        drafts = {table: draft_of(table), bad: draft_of(bad)}
        journal.from_careful_lines(lines).write.parquet(str(drafts[table]))
        journal.quarantine(lines).write.parquet(str(drafts[bad]))
    finally:
        lines.unpersist()
    parsed, quarantined = _rows_in(drafts[table]), _rows_in(drafts[bad])
    if lines_in != parsed + quarantined:
        raise AssertionError(
            f"batch {number}: {lines_in} lines, but {parsed} parsed and {quarantined} quarantined;"
            " please report this"
        )
    for draft in drafts.values():
        tidy(draft)
    if quarantined and not bad.exists():
        drafts[bad].rename(bad)
    draft_of(bad)
    drafts[table].rename(table)


def _rows_in(folder: Path) -> int:
    return sum(parquet.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


# --- looking after them ---------------------------------------------------------------------------


def start_settled(
    start: Callable[[], StreamingQuery],
    queries: list[StreamingQuery],
    stopping: threading.Event,
    asked: WatchPlan,
) -> None:
    """Add a query, and wait until its first batch is done.

    Each query starts Pythons of its own, for which Spark waits ten seconds and no more. So they
    start one after the other, and where one is late on a busy machine the query starts again: its
    checkpoint knows where.
    """
    for is_last in [*(False for _ in range(1, STARTS_MAX)), True]:
        query = start()
        queries.append(query)
        while query.isActive and query.lastProgress is None:
            if stopping.wait(POLL_S):
                return
        error = query.exception()
        if error is None or LATE_PYTHON not in str(error) or is_last:
            _raise_if_dead(query)
            return
        queries.remove(query)
        asked.on_news(f"the query `{query.name}` starts again, because its Python came too late")


def supervise(
    queries: Sequence[StreamingQuery], stopping: threading.Event, *, is_once: bool
) -> None:
    """Wait until told to stop, or until all have done what there is to do once.

    A query that ends in any other way ends the watch.
    """
    while not stopping.wait(POLL_S):
        is_active = [query.isActive for query in queries]
        for query in queries:
            _raise_if_dead(query)
        for query, goes_on in zip(queries, is_active, strict=True):
            if not goes_on and not is_once:
                raise QueryDied(query.name or "", "it ended without a reason")
        if not any(is_active):
            return


def _raise_if_dead(query: StreamingQuery) -> None:
    error = query.exception()
    if error is not None:
        raise QueryDied(query.name or "", reason_of(error)) from error


def reason_of(error: StreamingQueryException) -> str:
    """What a person needs of Spark's report: our own words, or else its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith(("regent.errors.", "AssertionError:"))]
    if ours:
        return ours[-1].split(": ", 1)[-1]
    return lines[0] if lines else "no reason was given"


def stop_all(queries: Sequence[StreamingQuery]) -> None:
    """Stop what still runs; where it stopped is in the checkpoint."""
    for query in queries:
        if query.isActive:
            query.stop()
