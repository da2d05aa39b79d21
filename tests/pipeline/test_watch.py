"""Watching a journal as it grows: alerts come, everything once, and nothing dies quietly (Q8)."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from regent.errors import BadInput
from regent.journal.record import Record, encode
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.live.folder import LiveFolder
from regent.pipeline.output import read_parquet
from regent.pipeline.settings import Settings
from regent.pipeline.watch import (
    STARTS_MAX,
    QueryDied,
    WatchPlan,
    begin,
    start_settled,
    supervise,
    watch,
)
from tests.pipeline.rows import brokers, record

pytestmark = pytest.mark.requirement("Q8")

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE
PATIENCE_S = 120


def elected(leader: int, epoch: int, *, unclean: bool = False) -> facts.LeaderElected:
    return facts.LeaderElected(
        topic="t",
        partition=0,
        strategy="offline",
        before=OFFLINE,
        leader_before=BrokerId(1),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(epoch),
        isr=brokers(leader),
        zk_version=ZkVersion(epoch),
        unclean=unclean,
    )


def append(journal: Path, *content: Record | bytes, number: int = 1) -> Path:
    journal.mkdir(exist_ok=True)
    path = journal / f"journal-1-{number:08d}.jsonl"
    with path.open("ab") as file:
        for each in content:
            file.write(each if isinstance(each, bytes) else encode(each) + b"\n")
    return path


def alerts_in(folder: LiveFolder) -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(line)
        for _, file in folder.alert_files()
        for line in file.read_bytes().splitlines()
    ]


def told(folder: LiveFolder) -> list[tuple[str, str, int]]:
    return [(each["rule"], each["state"], each["sequence"]) for each in alerts_in(folder)]


def rows(spark: SparkSession, folder: LiveFolder) -> tuple[list[int], list[str]]:
    """The sequence numbers that were kept, and the texts in quarantine."""
    kept = read_parquet(spark, folder.transitions, schemas.TRANSITIONS)
    bad = read_parquet(spark, folder.quarantine, schemas.QUARANTINE)
    return (
        sorted(row.sequence for row in kept.select("sequence").collect()),
        [row.text for row in bad.select("text").collect()],
    )


def test_a_watch_goes_on_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    journal, folder = tmp_path / "c", LiveFolder(tmp_path / "out")
    printed: list[str] = []
    asked = WatchPlan(
        (str(journal),),
        folder,
        from_start=True,
        is_once=True,
        on_alerts=lambda alerts, _: printed.extend(alert["rule"] for alert in alerts),
    )
    append(
        journal,
        record(1, facts.ControllerElected()),
        record(2, elected(1, 1)),
        b"not a record\n",
        record(3, elected(2, 2, unclean=True)),
        b'{"v":1,',
    )
    with folder.held():
        watch(spark, asked, threading.Event())

        assert told(folder) == [
            ("controller_changed", "raised", 1),
            ("unclean_election", "raised", 3),
        ]
        assert rows(spark, folder) == ([1, 2, 3], ["not a record"])

        append(
            journal,
            b'"seq":4}\n',
            record(5, elected(3, 1)),
            record(5, elected(3, 1)),
            record(6, facts.BrokerDown(BrokerId(2), BrokerEpoch(7))),
        )
        append(journal, record(7, facts.RequestSent(BrokerId(1), BrokerEpoch(1), "x", 1)), number=2)
        watch(spark, asked, threading.Event())

    # Record 4 was no record: what is missing proves nothing about record 5.
    assert told(folder)[2:] == [
        ("records_lost", "raised", 5),
        ("records_repeated", "raised", 5),
        ("broker_died", "raised", 6),
    ]
    assert printed == [rule for rule, _, _ in told(folder)]
    assert rows(spark, folder) == ([1, 2, 3, 5, 5, 6, 7], ["not a record", '{"v":1,"seq":4}'])
    # A part for each segment, and nothing that only Spark would look at.
    kept = {path.name for path in folder.transitions.glob("*/*")}
    assert kept == {"part-00000.parquet", "part-00001.parquet"}


def test_time_alone_raises_an_alert_and_a_dead_query_ends_the_watch(
    spark: SparkSession, tmp_path: Path
) -> None:
    journal, folder = tmp_path / "c", LiveFolder(tmp_path / "out")
    news: list[str] = []
    path = append(journal, record(1, facts.ControllerElected()))
    asked = WatchPlan(
        (str(journal),),
        folder,
        limits=Settings(offline_longer_than_ms=1_000),
        on_news=news.append,
        interval_s=0.2,
    )
    stopping = threading.Event()
    with folder.held(), ThreadPoolExecutor() as pool:
        watching = pool.submit(watch, spark, asked, stopping)
        try:
            wait_for(lambda: bool(news) or watching.done())
            append(
                journal,
                record(2, elected(1, 1), at_ms=10),
                record(3, facts.PartitionMoved("t", 0, ONLINE, OFFLINE), at_ms=20),
            )
            wait_for(lambda: len(told(folder)) == 1 or watching.done())
            append(journal, record(4, elected(1, 2), at_ms=5_020))
            wait_for(lambda: len(told(folder)) == 2 or watching.done())
            path.write_bytes(b"")
            wait_for(watching.done)
        finally:
            stopping.set()

        with pytest.raises(QueryDied, match=rf"{path.name} has shrunk"):
            watching.result()

    assert told(folder) == [
        ("leaderless_too_long", "raised", 3),
        ("leaderless_too_long", "over", 3),
    ]
    assert [alert["detail"] for alert in alerts_in(folder)][1] == "over after 5.0 s"
    assert [alert["broker_id"] for alert in alerts_in(folder)] == [1, 1]


def wait_for(is_so: Callable[[], bool]) -> None:
    until = monotonic() + PATIENCE_S
    while not is_so() and monotonic() < until:
        sleep(0.1)


class FakeQuery:
    """A query that has died, if it has a reason, or else goes on."""

    name = "alerts"

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason
        self.isActive = reason is None
        self.lastProgress = None if reason else {"batchId": 0}

    def exception(self) -> StreamingQueryException | None:
        """Why it died."""
        return StreamingQueryException(self.reason) if self.reason else None


@pytest.mark.parametrize(
    ("reasons", "starts", "is_dead"),
    [
        ([None], 1, False),
        (["Python worker failed to connect back."], 2, False),
        (["Python worker failed to connect back."] * STARTS_MAX, STARTS_MAX, True),
        (["out of memory"], 1, True),
    ],
)
def test_a_query_whose_python_came_too_late_starts_again(
    reasons: list[str | None], starts: int, *, is_dead: bool, tmp_path: Path
) -> None:
    news: list[str] = []
    asked = WatchPlan((), LiveFolder(tmp_path), on_news=news.append)
    to_come = iter([*reasons, None])
    started: list[FakeQuery] = []

    def start() -> Any:
        started.append(FakeQuery(next(to_come)))
        return started[-1]

    queries: list[Any] = []
    with pytest.raises(QueryDied, match=reasons[-1]) if is_dead else nullcontext():
        start_settled(start, queries, threading.Event(), asked)

    assert len(started) == starts
    assert queries == started[-1:]
    assert len(news) == starts - 1


@pytest.mark.parametrize("dead", [0, 1])
def test_any_query_that_ends_by_itself_ends_the_watch(dead: int) -> None:
    queries: list[Any] = [FakeQuery(), FakeQuery()]
    queries[dead].isActive = False

    with pytest.raises(QueryDied, match="without a reason"):
        supervise(queries, threading.Event(), is_once=False)


def test_a_watch_on_other_terms_is_refused(tmp_path: Path) -> None:
    journal, folder = tmp_path / "c", LiveFolder(tmp_path / "out")
    append(journal, record(1, facts.ControllerElected()))
    with folder.held():
        first = begin(WatchPlan((str(journal),), folder))
        append(journal, record(2, facts.ControllerElected()))

        assert begin(WatchPlan((str(journal),), folder)) == first
        with pytest.raises(BadInput, match="min_isr 1, and now it is 2"):
            begin(WatchPlan((str(journal),), folder, limits=Settings(min_isr=2)))
        with pytest.raises(BadInput, match="from_start False, and now it is True"):
            begin(WatchPlan((str(journal),), folder, from_start=True))
        with pytest.raises(BadInput, match="another watch"), LiveFolder(tmp_path / "out").held():
            pass
