"""One log file at a time: what it remembers, and the states that files can be in (Q1)."""

import gzip
import zlib
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from regent.errors import BadInput
from regent.pipeline.sources import log_lines
from regent.pipeline.sources.log_clock import LogClock, zone_of
from regent.pipeline.sources.log_files import find_logs
from regent.pipeline.sources.log_lines import LogLines
from regent.pipeline.sources.log_source import LOG_LINES, arrow_batch
from tests.pipeline.log_builders import START_MS, elected, moved, noted, said, write_log

pytestmark = pytest.mark.requirement("Q1")

BECAME_LEADER = (
    "Controller 3 epoch 12 sending become-leader LeaderAndIsr request"
    " (Leader:1,ISR:1,2,LeaderEpoch:8,ControllerEpoch:12) to broker 1 for partition [t,0]"
)


def rows_of(path: Path, zone: str = "UTC") -> list[dict[str, Any]]:
    lines = LogLines(str(path), "c", ZoneInfo(zone))
    return [row for batch in lines.batches() for row in batch]


def rows(tmp_path: Path, *lines: str) -> list[dict[str, Any]]:
    return rows_of(write_log(tmp_path / "state-change.log", lines))


def columns(table: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in table]


# --- what belongs to a line -------------------------------------------------------------------


def test_a_stack_trace_and_blank_lines_belong_to_the_line_before(tmp_path: Path) -> None:
    failed = "[Controller id=1 epoch=5] Controller 1 epoch 5 failed to change state for partition"
    found = rows(
        tmp_path,
        "",
        said(0, f"{failed} t-0 from OfflinePartition to OnlinePartition", "ERROR"),
        "kafka.common.StateChangeFailedException: no replica is alive",
        "a second line of that message",
        "\tat kafka.controller.PartitionStateMachine.elect(PartitionStateMachine.scala:12)",
        "Caused by: java.lang.IllegalStateException: why",
        "\t... 12 more",
        "",
        moved(1, "t-0 Online Offline"),
        "a torn line",
        moved(2, "t-0 Offline Online"),
    )

    assert columns(found, "line", "lines", "kind", "reason", "problem") == [
        (
            2,
            8,
            "move_refused",
            "kafka.common.StateChangeFailedException: no replica is alive",
            None,
        ),
        (9, 1, "partition_moved", None, None),
        (10, 1, None, None, "not a log line"),
        (11, 1, "partition_moved", None, None),
    ]


def test_a_line_with_several_meanings_is_counted_once(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        noted(0, "[Controller id=1] Newly added brokers: 2, deleted brokers: 3, all live brokers:"),
        noted(
            0,
            "[Controller id=1] Newly added brokers: 2, deleted brokers: 3, all live brokers: 1,2",
        ),
    )

    assert columns(found, "kind", "broker_id", "lines") == [
        (None, None, 1),
        ("brokers_listed", None, 1),
        ("broker_down", 3, 0),
        ("broker_up", 2, 0),
    ]


# --- what a file remembers --------------------------------------------------------------------


def test_a_line_without_a_node_is_of_the_node_of_the_file(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        noted(0, "Deletion of topic a (re)started"),
        noted(1, "[Controller 3]: Controller 3 incremented epoch to 13"),
        noted(2, "Deletion of topic a successfully completed"),
    )

    assert columns(found, "reporter_id", "controller_id", "controller_epoch") == [
        (3, 3, None),
        (3, 3, 13),
        (3, 3, 13),
    ]


def test_a_broker_speaks_of_the_controller_that_it_obeys(tmp_path: Path) -> None:
    """A line about a deposed controller's request changes nothing for the lines after it."""
    starts = "Leader t-0 starts at leader epoch 6 from offset 0 with high watermark 0 ISR [2]"
    found = rows(
        tmp_path,
        said(0, "[Broker id=2] Received stop replica request from an old controller epoch 4."
             " Latest known controller epoch is 5", "WARN"),
        said(0, "[Broker id=2] Handling stop replica (delete=true) for partition t-1", "TRACE"),
        said(1, "[Broker id=2] Deleted partition t-1 from metadata cache in response to"
             " UpdateMetadata request sent by controller 1 epoch 5 with correlation id 7", "TRACE"),
        said(2, "[Broker id=2] Handling LeaderAndIsr request correlationId 8 from controller 1"
             " for 1 partitions"),
        said(3, "[Broker id=2] Ignoring LeaderAndIsr request from controller 3 with correlation id"
             " 9 since its controller epoch 4 is old. Latest known controller epoch is 5", "WARN"),
        said(4, f"[Broker id=2] {starts} addingReplicas [] removingReplicas []."
             " Previous leader epoch was 5."),
        moved(5, "t-0 Online Offline", node=2, epoch=6),
    )  # fmt: skip

    assert columns(found, "kind", "reporter_id", "controller_id", "controller_epoch") == [
        ("request_refused", 2, None, 4),
        ("stop_started", 2, None, None),
        ("metadata_forgotten", 2, 1, 5),
        ("request_received", 2, 1, 5),
        ("request_refused", 2, 3, 4),
        ("leader_started", 2, 1, 5),
        ("partition_moved", 2, 2, 6),
    ]


def test_an_old_election_gets_its_leadership_from_the_request_that_follows(tmp_path: Path) -> None:
    online = "from OfflinePartition to OnlinePartition with leader 1"
    found = rows(
        tmp_path,
        said(0, f"Controller 3 epoch 12 changed partition [t,0] {online}", "TRACE"),
        said(0, f"Controller 3 epoch 12 changed partition [t,1] {online}", "TRACE"),
        said(1, BECAME_LEADER, "TRACE"),
    )

    assert columns(found, "kind", "before", "after", "leader", "leader_epoch", "isr") == [
        ("leader_elected", "OfflinePartition", None, 1, 8, (1, 2)),
        ("partition_moved", "OfflinePartition", "OnlinePartition", 1, None, None),
        ("leadership_told", None, None, 1, 8, (1, 2)),
    ]


def test_batches_do_not_part_what_belongs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "BATCH_ROWS", 1)
    online = "from OfflinePartition to OnlinePartition with leader 1"
    found = rows(
        tmp_path,
        moved(0, "t-0 Online Offline"),
        "java.lang.Exception",
        said(0, f"Controller 3 epoch 12 changed partition [t,0] {online}", "TRACE"),
        moved(1, "t-1 Online Offline"),
        said(2, BECAME_LEADER, "TRACE"),
        moved(3, "t-2 Online Offline"),
    )

    assert columns(found, "kind", "lines") == [
        ("partition_moved", 2),
        ("leader_elected", 1),
        ("partition_moved", 1),
        ("leadership_told", 1),
        ("partition_moved", 1),
    ]


# --- clocks -----------------------------------------------------------------------------------


def test_the_sequence_grows_also_where_the_clock_steps_back(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        moved(5, "t-0 Online Offline"),
        moved(3, "t-0 Offline Online"),
        moved(5, "t-0 Online Offline"),
        noted(5, "[Controller id=1] Resigned"),
        moved(9, "t-0 Offline Online"),
    )

    at = [(row["at_ms"] - START_MS, row["sequence"] - START_MS * log_lines.PLACES) for row in found]
    assert at == [
        (5, 5_000_001),
        (3, 5_000_003),
        (5, 5_000_005),
        (5, 5_000_006),
        (9, 9_000_001),
    ]


def test_a_clock_may_show_a_time_before_1970(tmp_path: Path) -> None:
    """Those of simulated clusters start there."""
    early = moved(0, "t-0 Online Offline").replace("2024-05-01 12:00:00", "1969-12-31 23:59:59")
    found = rows(tmp_path, early, moved(0, "t-0 Online Offline"))

    assert found[0]["at_ms"] == -1_000
    assert found[0]["sequence"] < found[1]["sequence"]


def test_the_hour_that_comes_twice_is_told_apart_by_the_order_of_lines() -> None:
    clock = LogClock(zone_of("Europe/Berlin"))
    hour = 3_600_000
    begin = clock.to_ms("2024-10-27 01:59:59,000")

    after = [
        clock.to_ms(at) - begin
        for at in (
            "2024-10-27 02:00:00,000",
            "2024-10-27 02:30:00,100",
            "2024-10-27 02:30:00,050",  # swapped by two threads, and no hour later
            "2024-10-27 02:10:00,000",  # the second time
            "2024-10-27 02:59:59,999",
            "2024-10-27 03:00:00,000",
        )
    ]

    half = hour // 2
    assert after == [
        1_000,
        1_000 + half + 100,
        1_000 + half + 50,
        1_000 + hour + 600_000,
        2 * hour + 999,
        2 * hour + 1_000,
    ]


def test_times_are_those_of_the_zone(tmp_path: Path) -> None:
    path = write_log(tmp_path / "state-change.log", [moved(0, "t-0 Online Offline")])

    (found,) = rows_of(path, "America/New_York")

    assert found["at_ms"] == START_MS + 4 * 3_600_000


def test_an_unknown_zone_says_so() -> None:
    for name in ("Mars/Olympus", "", "../etc/passwd"):
        with pytest.raises(BadInput, match="Europe/Berlin"):
            zone_of(name)


def test_a_time_that_never_was_is_quarantined(tmp_path: Path) -> None:
    good = moved(0, "t-0 Online Offline")
    found = rows(
        tmp_path,
        good.replace("2024-05-01", "2024-13-01"),
        good.replace("12:00:00", "12:00:61"),
        good.replace("2024", "9999"),
        good,
    )

    assert [row["is_good"] for row in found] == [False, False, False, True]
    assert found[0]["problem"].startswith("no such time")


# --- files ------------------------------------------------------------------------------------


def test_gzip_is_known_by_content(tmp_path: Path) -> None:
    text = f"{moved(0, 't-0 Online Offline')}\n".encode()
    zipped = tmp_path / "state-change.log.1"
    zipped.write_bytes(gzip.compress(text) + gzip.compress(text))
    plain = tmp_path / "state-change.log.gz"
    plain.write_bytes(text)

    assert len(rows_of(zipped)) == 2
    assert len(rows_of(plain)) == 1


@pytest.mark.parametrize(
    ("rest", "reason"),
    [(b"", "the compressed data ends too early"), (b"\x07 damaged", "invalid block type")],
)
def test_a_broken_gzip_gives_its_lines_up_to_there(
    tmp_path: Path, rest: bytes, reason: str
) -> None:
    squeeze = zlib.compressobj(wbits=31)
    lines = "".join(f"{moved(at, 't-0 Online Offline')}\n" for at in range(1_000))
    begin = squeeze.compress(f"{lines}[2024-05-01 12:".encode())
    path = tmp_path / "state-change.log.gz"
    path.write_bytes(begin + squeeze.flush(zlib.Z_FULL_FLUSH) + rest)

    *good, bad = rows_of(path)

    assert [row["line"] for row in good if row["is_good"]] == list(range(1, 1_001))
    assert bad["problem"].startswith("the file breaks off at line 1001: ")
    assert bad["problem"].endswith(reason)
    assert (bad["lines"], bad["text"]) == (1, "[2024-05-01 12:")


def test_files_of_all_kinds_are_quarantined_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "state-change.log"
    path.write_bytes(
        b"\xff\xfe not utf-8\n" + moved(0, "t-0 Online Offline").encode() + b"\r\n\nlast"
    )
    blank = write_log(tmp_path / "blank.log", ["", " "])
    empty = write_log(tmp_path / "empty.log", [])

    assert columns(rows_of(path), "line", "lines", "is_good") == [
        (1, 1, False),
        (2, 2, True),
        (4, 1, False),
    ]
    assert columns(rows_of(blank), "lines", "problem") == [(2, "nothing but blank lines")]
    assert rows_of(empty) == []


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None
)
@given(content=st.lists(st.sampled_from(
    [b"\n", b"\t", b"\xff", b"[", b"java.lang.X\n", b"\tat x\n", b"\x1f\x8b", b"garbage\n",
     f"{moved(0, 't-0 Online Offline')}\n".encode(), f"{elected(1, 't-0', 1, 1)}\n".encode()]
)))  # fmt: skip
def test_every_line_of_any_file_is_counted(tmp_path: Path, content: list[bytes]) -> None:
    path = tmp_path / "controller.log"
    path.write_bytes(b"".join(content))

    found = rows_of(path)

    if not path.read_bytes().startswith(b"\x1f\x8b"):
        assert sum(row["lines"] for row in found) == len(path.read_bytes().splitlines())
    if found:
        arrow_batch(found, to_arrow_schema(LOG_LINES))


# --- which files ------------------------------------------------------------------------------


def test_files_directories_and_patterns_are_found_once(tmp_path: Path) -> None:
    names = ["state-change.log", "state-change.log.2024-05-01-13", "controller.log.1.gz"]
    logs = [write_log(tmp_path / "broker-1" / name, []) for name in names]
    write_log(tmp_path / "broker-1" / "server.log", [])
    named = write_log(tmp_path / "renamed.txt", [])

    found = find_logs([str(tmp_path), str(tmp_path / "b*" / "state*"), f"file://{named}"])

    assert found == sorted(map(str, [*logs, named]))


@pytest.mark.parametrize(
    ("path", "advice"),
    [("missing.log", "quote patterns"), ("*.log", "quote patterns"), ("", "name the files")],
)
def test_nothing_found_says_what_to_do(tmp_path: Path, path: str, advice: str) -> None:
    with pytest.raises(BadInput, match=advice):
        find_logs([f"{tmp_path}/{path}"])


def test_logs_elsewhere_are_refused() -> None:
    with pytest.raises(BadInput, match="mount"):
        find_logs(["s3://bucket/state-change.log"])
    with pytest.raises(BadInput, match="no log was named"):
        find_logs([])
