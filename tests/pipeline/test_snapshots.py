"""Snapshots as a history, and the latest of them as a layout (Q1)."""

import gzip
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import fields
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from regent.dryrun.snapshot import (
    SNAPSHOT_VERSION,
    Snapshot,
    SnapshotBroker,
    SnapshotLeadership,
    SnapshotPartition,
    SnapshotTopic,
    read_snapshot,
    write_snapshot,
)
from regent.errors import BadInput
from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.sources import snapshots
from regent.pipeline.sources.layouts import read_layout
from regent.pipeline.sources.snapshots import read_snapshots, snapshots_quarantine
from regent.pipeline.timelines import timelines

pytestmark = pytest.mark.requirement("Q1")

NEW, ONLINE, OFFLINE = PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE


def led(leader: int, *isr: int, epoch: int = 4) -> SnapshotLeadership:
    return SnapshotLeadership(leader, isr, leader_epoch=2, controller_epoch=epoch)


def topic(name: str, *leaderships: SnapshotLeadership | None) -> SnapshotTopic:
    """A topic on brokers 1 and 2."""
    return SnapshotTopic(
        name,
        tuple(
            SnapshotPartition(i, (1, 2), leadership=known) for i, known in enumerate(leaderships)
        ),
    )


def keep(
    path: Path, brokers: Mapping[int, int], *topics: SnapshotTopic, at_ms: int | None = None
) -> None:
    """Write a snapshot with these brokers, by id and epoch."""
    path.parent.mkdir(exist_ok=True)
    registered = tuple(SnapshotBroker(b, "a", epoch) for b, epoch in brokers.items())
    write_snapshot(Snapshot(SNAPSHOT_VERSION, registered, topics, at_ms=at_ms), path)


def in_order(transitions: DataFrame) -> list[tuple[object, ...]]:
    rows = transitions.orderBy("cluster", "sequence").collect()
    return [
        (row.cluster, row.at_ms, row.kind, row.topic if row.broker_id is None else row.broker_id)
        for row in rows
    ]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> DataFrame:
    """Four snapshots of one cluster, in which much changes, and one of another."""
    root = tmp_path_factory.mktemp("snapshots")
    t = topic("t", led(1, 1, 2), None, led(-1, 2), led(3, 3))
    u = topic("u", led(2, 2, epoch=7))
    keep(root / "shop" / "z.json", {1: 50, 2: 60}, t, u, at_ms=1_000)
    keep(root / "shop" / "c.json.gz", {1: 51}, t, u, at_ms=2_000)
    keep(root / "shop" / "b.json", {1: 51, 2: 61}, t, at_ms=3_000)
    keep(root / "shop" / "a.json", {1: 51, 2: 61}, t, topic("u", led(2, 2, epoch=3)), at_ms=4_000)
    keep(root / "bar" / "only.json", {1: 5}, topic("t", led(1, 1)))
    os.utime(root / "bar" / "only.json", (9, 9))
    (root / "shop" / "notes.txt").write_text("not one of them")
    return read_snapshots(spark, str(root)).localCheckpoint()


def test_each_snapshot_tells_what_the_one_before_it_did_not(history: DataFrame) -> None:
    """In order of time, whatever the names; a file without a time has that of its last change."""
    assert in_order(history) == [
        ("bar", 9_000, "broker_up", 1),
        ("bar", 9_000, "topic_loaded", "t"),
        ("bar", 9_000, "partitions_started", "t"),
        ("shop", 1_000, "broker_up", 1),
        ("shop", 1_000, "broker_up", 2),
        ("shop", 1_000, "topic_loaded", "t"),
        ("shop", 1_000, "topic_loaded", "u"),
        ("shop", 1_000, "partitions_started", "t"),
        ("shop", 1_000, "partitions_started", "u"),
        ("shop", 2_000, "broker_down", 1),  # It has bounced.
        ("shop", 2_000, "broker_down", 2),
        ("shop", 2_000, "broker_up", 1),
        ("shop", 2_000, "topic_loaded", "u"),  # Its leader is gone.
        ("shop", 2_000, "partitions_started", "u"),
        ("shop", 3_000, "broker_up", 2),
        ("shop", 3_000, "topic_forgotten", "u"),
        ("shop", 4_000, "topic_loaded", "u"),
        ("shop", 4_000, "partitions_started", "u"),
    ]


def test_a_row_says_what_a_journal_would_say(history: DataFrame) -> None:
    rows = history.filter("cluster = 'shop'").orderBy("sequence").collect()
    first = {(row.kind, row.topic or row.broker_id): row for row in reversed(rows)}

    assert schemas.table(*((f.name, f.dataType) for f in history.schema)) == schemas.TRANSITIONS
    assert {row.source for row in rows} == {"snapshot"}
    up = first["broker_up", 2]
    assert (up.broker_epoch, up.rack, up.loaded, up.bounced) == (60, "a", True, None)
    assert [(row.broker_id, row.broker_epoch, row.bounced) for row in rows[6:8]] == [
        (1, 50, True),
        (2, 60, False),
    ]
    started = first["partitions_started", "t"]
    assert (started.new, started.offline, started.partitions) == ([1], [2, 3], None)
    loaded = first["topic_loaded", "t"].partitions
    assert loaded[0].asDict() == {
        "partition": 0,
        "replicas": [1, 2],
        "adding": [],
        "removing": [],
        "leader": 1,
        "leader_epoch": 2,
        "isr": [1, 2],
        "controller_epoch": 4,
        "zk_version": 0,
        "recovering": False,
    }
    assert (loaded[1].leader, loaded[1].isr, loaded[1].leader_epoch) == (None, None, None)
    assert Path(started.file).name == "z.json"


def test_the_epoch_never_goes_back(history: DataFrame) -> None:
    """A topic with the highest epoch may vanish; what comes later must still come later."""
    rows = history.filter("cluster = 'shop'").select("at_ms", "controller_epoch").distinct()

    assert {tuple(row) for row in rows.collect()} == {
        (at_ms, 7) for at_ms in range(1000, 5000, 1000)
    }


def test_snapshots_make_timelines(history: DataFrame) -> None:
    rows = timelines(history.filter("cluster = 'shop'")).orderBy("topic", "partition", "start_ms")
    told = [
        (f"{row.topic}-{row.partition}", row.start_ms, row.end_ms, row.state)
        for row in rows.collect()
        if row.state is not None
    ]

    assert told == [
        ("t-0", 1_000, None, ONLINE),
        ("t-1", 1_000, None, NEW),
        ("t-2", 1_000, None, OFFLINE),
        ("t-3", 1_000, None, OFFLINE),
        ("u-0", 1_000, 2_000, ONLINE),
        ("u-0", 2_000, 3_000, OFFLINE),
        ("u-0", 4_000, None, ONLINE),
    ]


def test_what_is_no_snapshot_is_quarantined(tmp_path: Path, spark: SparkSession) -> None:
    good = b'{"version": 1, "brokers": [], "topics": [], "cluster": "x", "at_ms": 5}'
    bad = {
        "torn.json": good[:30],
        "newer.json": good.replace(b"1", b"2", 1),
        "other.json": b'{"name": "this is something else"}',
        "blank.json": b"\n",
        "half.json.gz": gzip.compress(good * 1000)[:-40],
        "partial.json": b'{"version": 1, "brokers": [], "topics": [{"name": "t"}]}',
        "words.json": good.replace(b"5", b'"five"'),
    }
    for name, content in {**bad, "good.json": good}.items():
        (tmp_path / name).write_bytes(content)

    rows = snapshots_quarantine(spark, str(tmp_path), cluster="mine").collect()

    assert {Path(row.file).name: row.cluster for row in rows} == dict.fromkeys(bad, "mine")
    reasons = {Path(row.file).name: row.reason for row in rows}
    assert reasons["newer.json"] == "version 2 of the format, and this Regent reads version 1"
    assert all("not a snapshot" in reasons[name] for name in bad if name != "newer.json")


def test_the_latest_snapshot_is_the_layout(tmp_path: Path, spark: SparkSession) -> None:
    """With `min.insync.replicas` of the topic, else of all brokers, else 1; see also below."""
    keep(tmp_path / "z.json", {1: 1}, topic("old", led(1, 1)), at_ms=1)
    topics = (
        SnapshotTopic(
            "own",
            (
                SnapshotPartition(0, (1, 3), leadership=led(1, 1, 3)),
                SnapshotPartition(1, (3, 1), leadership=led(3, 3)),
                SnapshotPartition(2, (1,)),
            ),
            configs={"min.insync.replicas": "2", "x": "y"},
        ),
        SnapshotTopic("default", (SnapshotPartition(0, (2,), leadership=led(-1, 2)),)),
        SnapshotTopic("going", (SnapshotPartition(0, (2,)),), deleting=True),
    )
    registered = (SnapshotBroker(1, "a"), SnapshotBroker(2))
    defaults = {"min.insync.replicas": "3"}
    latest = Snapshot(SNAPSHOT_VERSION, registered, topics, defaults, at_ms=2, cluster="shop")
    write_snapshot(latest, tmp_path / "a.json")

    layout, brokers = read_layout(spark, str(tmp_path))

    assert layout.schema.fieldNames() == schemas.LAYOUT.fieldNames()
    assert {tuple(map(str, row)) for row in layout.collect()} == {
        ("shop", "own", "0", "[1, 3]", "1", "[1, 3]", "2"),
        ("shop", "own", "1", "[3, 1]", "-1", "[3]", "2"),  # Its leader is not registered.
        ("shop", "own", "2", "[1]", "-1", "[]", "2"),
        ("shop", "default", "0", "[2]", "-1", "[2]", "3"),
    }
    assert {tuple(row) for row in brokers.collect()} == {
        ("shop", 1, "a", True),
        ("shop", 2, None, True),
        ("shop", 3, None, False),
    }
    assert read_snapshot(tmp_path / "a.json") == latest


def test_a_layout_is_not_made_from_half_of_a_cluster(tmp_path: Path, spark: SparkSession) -> None:
    keep(tmp_path / "good.json", {1: 1})
    (tmp_path / "bad.json").write_text('{"version": 1}')
    (tmp_path / "empty").mkdir()

    with pytest.raises(BadInput, match=r"bad\.json: not a snapshot"):
        read_layout(spark, str(tmp_path))
    with pytest.raises(BadInput, match=r"there is no snapshot at .*/nowhere"):
        read_layout(spark, str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match=r"its name must end in \.json"):
        read_layout(spark, str(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("written", "read", "left_out"),
    [
        (Snapshot, snapshots.SNAPSHOT, set()),
        (SnapshotBroker, snapshots.SNAPSHOT_BROKER, {"endpoints"}),
        (SnapshotTopic, snapshots.SNAPSHOT_TOPIC, set()),
        (SnapshotPartition, snapshots.SNAPSHOT_PARTITION, set()),
        (SnapshotLeadership, snapshots.SNAPSHOT_LEADERSHIP, set()),
    ],
)
def test_what_is_written_is_read(
    written: type[Struct], read: T.StructType, left_out: set[str]
) -> None:
    """The pipeline has its own words for the format; they must be the same words."""
    assert set(read.fieldNames()) == {field.name for field in fields(written)} - left_out
    assert snapshots.SNAPSHOT_VERSION == SNAPSHOT_VERSION
