"""Kafka's logs as tables, merged from several nodes and files (Q1, Q2)."""

import gzip
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.duplicates import once
from regent.pipeline.sources.state_change_log import (
    log_line_counts,
    log_quarantine,
    read_state_change_log,
    refuse_other_files,
)
from regent.pipeline.timelines import timelines
from tests.pipeline.log_builders import START_MS, elected, moved, noted, said, write_log

pytestmark = pytest.mark.requirement("Q1", "Q2")


def told(table: DataFrame, *columns: str) -> list[tuple[object, ...]]:
    ordered = table.orderBy("controller_epoch", "sequence", "controller_id", "kind", "file", "line")
    return [tuple(row) for row in ordered.select(*columns).collect()]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two nodes: 2 was controller of epoch 3, 1 of 5, 2 of 6, and 1 of 7. 2's clock is behind."""
    node1, node2 = tmp_path / "logs" / "node1", tmp_path / "logs" / "node2"
    # Rotated: the older file is the only one that names the epoch of the newer.
    write_log(
        node1 / "controller.log.2024-05-01-11",
        [
            noted(0, "[Controller id=1] 1 successfully elected as the controller. Epoch incremented"
                     " to 5 and epoch zk version is now 5"),
        ],
    )  # fmt: skip
    write_log(
        node1 / "controller.log",
        [
            noted(100, "[Controller id=1] Newly added brokers: , deleted brokers: 3, bounced"
                       " brokers: , all live brokers: 1,2"),
            noted(310, "[Controller id=1] Resigned"),
        ],
    )  # fmt: skip
    state_changes = [
        moved(100, "t-0 Online Offline"),
        elected(110, "t-0", 2, 2),
        "this line is torn",
        moved(300, "t-0 Offline Online", epoch=7),
    ]
    (node1 / "state-change.log.gz").write_bytes(
        gzip.compress("".join(f"{line}\n" for line in state_changes).encode())
    )
    write_log(
        node2 / "state-change.log.1",
        [
            moved(5, "t-1 Online Offline", node=2, epoch=3),
            said(10, "[Broker id=2] Finished LeaderAndIsr request in 2ms correlationId 6 from"
                     " controller 1 for 1 partitions"),
        ],
    )  # fmt: skip
    write_log(
        node2 / "state-change.log",
        [
            said(50, "[Broker id=2] Handling LeaderAndIsr request correlationId 7 from controller 1"
                     " for 1 partitions"),
            said(60, "[Broker id=2] Completed LeaderAndIsr request correlationId 7 from controller"
                     " 1 epoch 5 for the become-leader transition for partition t-0", "TRACE"),
            moved(80, "t-0 Online Offline", node=2, epoch=6),
        ],
    )  # fmt: skip
    return tmp_path / "logs"


def test_the_logs_of_all_nodes_are_one_table(spark: SparkSession, logs: Path) -> None:
    transitions = read_state_change_log(spark, str(logs), cluster="c").localCheckpoint()

    assert schemas.table(*((f.name, f.dataType) for f in transitions.schema.fields)) == (
        schemas.TRANSITIONS
    )
    assert {(row.cluster, row.source) for row in transitions.collect()} == {("c", "log")}
    assert told(
        transitions, "reporter_id", "controller_id", "controller_epoch", "kind", "line"
    ) == [
        (2, 2, 3, "partition_moved", 1),
        (1, 1, 5, "controller_elected", 1),
        (2, 1, 5, "request_handled", 2),
        (2, 1, 5, "request_received", 1),
        (2, 1, 5, "role_change_finished", 2),
        (1, 1, 5, "brokers_listed", 1),
        (1, 1, 5, "partition_moved", 1),
        (1, 1, 5, "broker_down", 1),
        (1, 1, 5, "leader_elected", 2),
        (2, 2, 6, "partition_moved", 3),
        (1, 1, 7, "partition_moved", 4),
        (1, 1, 7, "controller_resigned", 2),
    ]
    intervals = timelines(transitions.filter("partition = 0")).orderBy("start_epoch", "start_ms")
    assert [
        (row.start_ms - START_MS, row.end_ms and row.end_ms - START_MS, row.state, row.leader)
        for row in intervals.collect()
    ] == [
        (100, 110, "OfflinePartition", None),
        (110, 80, "OnlinePartition", 2),
        (80, 300, "OfflinePartition", 2),
        (300, None, "OnlinePartition", 2),
    ]


def test_every_line_is_parsed_or_quarantined(spark: SparkSession, logs: Path) -> None:
    quarantine = log_quarantine(spark, str(logs), cluster="c")
    counts = log_line_counts(spark, str(logs)).collect()

    assert schemas.table(*((f.name, f.dataType) for f in quarantine.schema.fields)) == (
        schemas.QUARANTINE
    )
    assert [tuple(row) for row in quarantine.collect()] == [
        (
            "c",
            str(logs / "node1" / "state-change.log.gz"),
            3,
            "not a log line",
            "this line is torn",
        )
    ]
    assert {(Path(row.file).name, row.lines, row.parsed, row.quarantined) for row in counts} == {
        ("controller.log.2024-05-01-11", 1, 1, 0),
        ("controller.log", 2, 2, 0),
        ("state-change.log.gz", 4, 3, 1),
        ("state-change.log.1", 2, 2, 0),
        ("state-change.log", 3, 3, 0),
    }


def test_copies_and_another_order_of_files_change_nothing(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    """A log collected once while it grew, and again later."""
    before = read_state_change_log(spark, str(logs)).drop("file", "line").localCheckpoint()
    copy = tmp_path / "a-copy"
    shutil.copytree(logs, copy)
    grown = copy / "node2" / "state-change.log"
    grown.write_text("".join(grown.read_text().splitlines(keepends=True)[:2]))

    again = once(read_state_change_log(spark, str(copy), str(logs))).drop("file", "line")

    assert before.count() == again.count()
    assert before.exceptAll(again).isEmpty()


def test_an_election_before_1_0_is_unclean_when_the_other_log_warned(
    spark: SparkSession, tmp_path: Path
) -> None:
    def election(at_ms: int, leader: int, epoch: int) -> list[str]:
        online = f"from OfflinePartition to OnlinePartition with leader {leader}"
        told = f"(Leader:{leader},ISR:{leader},LeaderEpoch:{epoch},ControllerEpoch:12)"
        return [
            said(at_ms, f"Controller 3 epoch 12 changed partition [t,0] {online}", "TRACE"),
            said(
                at_ms,
                f"Controller 3 epoch 12 sending become-leader LeaderAndIsr request {told}"
                f" to broker {leader} for partition [t,0]",
                "TRACE",
            ),
        ]

    write_log(tmp_path / "state-change.log", [*election(20, 2, 8), *election(30, 2, 9)])
    write_log(
        tmp_path / "controller.log",
        [
            noted(10, "[Controller 3]: Broker failure callback for 1"),
            noted(20, "[OfflinePartitionLeaderSelector]: No broker in ISR is alive for [t,0]. Elect"
                      " leader 2 from live brokers 2. There's potential data loss.", "WARN"),
        ],
    )  # fmt: skip

    elections = read_state_change_log(spark, str(tmp_path)).filter("kind = 'leader_elected'")

    assert told(elections, "leader_epoch", "unclean", "isr") == [(8, True, [2]), (9, None, [2])]


def test_a_broker_that_stops_has_not_resigned_unless_it_was_controller(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each says so as it stops. Node 1 was none yet, then was, and is none any more."""
    won = (
        "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 5 and"
        " epoch zk version is now 5"
    )
    stopped = "[Controller id=1] Resigned"
    times = {10: stopped, 20: won, 30: stopped, 40: stopped}
    write_log(tmp_path / "controller.log", [noted(at_ms, line) for at_ms, line in times.items()])

    transitions = read_state_change_log(spark, str(tmp_path)).orderBy("at_ms").collect()

    assert [(row.at_ms - START_MS, row.kind) for row in transitions] == [
        (10, "noted"),
        (20, "controller_elected"),
        (30, "controller_resigned"),
        (40, "noted"),
    ]


def test_other_files_are_refused(spark: SparkSession, tmp_path: Path, logs: Path) -> None:
    other = write_log(tmp_path / "server.log", ["INFO started", "WARN slow"])
    empty = write_log(tmp_path / "state-change.log", [])

    refuse_other_files(log_line_counts(spark, str(other), str(logs)))
    refuse_other_files(log_line_counts(spark, str(empty)))
    with pytest.raises(BadInput, match=r"server\.log: none of its 2 lines.*Controller id=1"):
        refuse_other_files(log_line_counts(spark, str(other)))
    with pytest.raises(BadInput, match="no time zone"):
        read_state_change_log(spark, str(other), timezone="Mars/Olympus")
