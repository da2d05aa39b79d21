"""`Hearing` inside Spark: its memory is Spark's state, its clock is Spark's timer.

The key is the cluster, because a cluster has one controller at a time and its journal is one
sequence: which record comes next, which controller is deposed and which topics a new one did not
find can only be told of all of it. So one task serves one cluster, which is enough for what one
controller decides; finished histories are for the batch.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from regent.journal.record import decode
from regent.pipeline.live.hearing import HeardLine, Hearing
from regent.pipeline.live.memory import Shelf, cluster_from, cluster_text
from regent.pipeline.live.rows import Said, Source, to_text
from regent.pipeline.live.rules import judged
from regent.pipeline.schemas import STRING, table
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.sources.journal import directory_of

ROW: Final = table(("said", STRING))
TOPIC: Final = table(("topic", STRING))
TEXT: Final = table(("text", STRING))


def live_alerts(lines: DataFrame, settings: Settings = DEFAULTS) -> DataFrame:
    """What is worth waking somebody for in a stream of journal lines.

    Grain: an alert. `lines` is what `tail_journals` gives.
    """
    good = lines.filter(F.col("reason").isNull()).select(
        directory_of(F.col("file")).alias("cluster"), "file", "line", "text"
    )
    said = good.groupBy("cluster").transformWithState(
        statefulProcessor=ClusterProcessor(settings),
        outputStructType=ROW,
        outputMode="append",
        timeMode="processingTime",
    )
    return judged(said, settings)


class ClusterProcessor(StatefulProcessor):
    """Hears the records of each cluster in turn."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark calls this on the executor, before anything else."""
        self._handle = handle
        self._cluster = handle.getValueState("cluster", TEXT)
        self._topics = handle.getMapState("topics", TOPIC, TEXT)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """Hear the new records of a cluster."""
        lines = [
            HeardLine(record, Source(row["file"], row["line"], record.seq))
            for row in rows
            for record in [decode(row["text"].encode())]
        ]
        yield from self._with_memory(key, timerValues, lines)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Tell what has lasted too long by now."""
        yield from self._with_memory(key, timerValues, [])

    def _with_memory(
        self, key: Any, timer_values: TimerValues, lines: Iterable[HeardLine]
    ) -> Iterator[Row]:
        """Fetch what is remembered of a cluster, use it, and put it back."""
        (cluster,) = key
        known = self._cluster.get() if self._cluster.exists() else None
        memory = cluster_from(None if known is None else known[0])
        shelf = Shelf(self._fetch, self._names)
        now_ms = timer_values.getCurrentProcessingTimeInMs()
        hearing = Hearing(cluster, memory, shelf, self._settings, now_ms)
        said: list[Said] = [*hearing.hear(lines), *hearing.ring()]
        for topic, text in shelf.touched():
            if text is not None:
                self._topics.updateValue((topic,), (text,))
            elif self._topics.containsKey((topic,)):
                self._topics.removeKey((topic,))
        self._cluster.update((cluster_text(memory),))
        deadline_ms = memory.next_deadline_ms()
        if deadline_ms is not None:
            self._handle.registerTimer(deadline_ms)
        return iter([Row(said=to_text(each)) for each in said])

    def _fetch(self, topic: str) -> str | None:
        if not self._topics.containsKey((topic,)):
            return None
        value = self._topics.getValue((topic,))
        return None if value is None else str(value[0])

    def _names(self) -> list[str]:
        return [str(key[0]) for key in self._topics.keys()]  # noqa: SIM118 - Spark's own map
