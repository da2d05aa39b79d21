"""`regent loads` as a person types it."""

import csv
import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from regent.cli.bootstrap import EXIT_UNREACHABLE
from regent.cli.main import EXIT_USAGE, main
from regent.client.loads import COLUMNS
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.log_requests import (
    LATEST_TIMESTAMP,
    DescribeLogDirs,
    DescribeLogDirsAnswer,
    FoundOffset,
    ListOffsets,
    ListOffsetsAnswer,
    LogDirDescription,
    LogSize,
    OffsetQuestion,
)
from regent.testing import Cluster
from tests.support.scripted_broker import Fault, ScriptedCluster, partition, topic

Captured = pytest.CaptureFixture[str]
PAGE = Path(__file__).parents[2] / "docs" / "loads.md"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def typed(bootstrap: str, out: Path, *more: str) -> int:
    return main(["loads", "sample", "--bootstrap", bootstrap, "--out", str(out), *more])


def rows_in(out: Path) -> list[dict[str, str]]:
    (path,) = out.iterdir()
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sizes(*of: tuple[TopicPartition, int]) -> DescribeLogDirsAnswer:
    """One directory, with a copy in the making that must not count."""
    logs = (*(LogSize(name, size) for name, size in of), LogSize(T0, 9_999, is_future=True))
    return DescribeLogDirsAnswer(log_dirs=(LogDirDescription("/data", logs=logs),))


def ends(*of: tuple[TopicPartition, int]) -> ListOffsetsAnswer:
    return ListOffsetsAnswer(tuple(FoundOffset(name, offset=offset) for name, offset in of))


def test_each_leader_is_asked_about_what_it_leads(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """A follower may be behind; and nobody leads the third one."""
    cluster.topics = [
        topic("t", partition(0, 1, 2), partition(1, 2, 3), partition(2, 3, leader=-1))
    ]
    cluster.answer(sizes((T0, 500)), sizes((T1, 70)), to=DescribeLogDirs)
    cluster.answer(ends((T0, 5)), ends((T1, 7)), to=ListOffsets)

    assert typed(cluster.bootstrap, tmp_path / "out", "--count", "1") == 0

    assert cluster.heard_of(ListOffsets) == [
        ListOffsets((OffsetQuestion(T0, LATEST_TIMESTAMP),)),
        ListOffsets((OffsetQuestion(T1, LATEST_TIMESTAMP),)),
    ]
    assert cluster.hearers_of(DescribeLogDirs) == [1, 2]
    rows = rows_in(tmp_path / "out")
    assert [(row["partition"], row["size_bytes"], row["bytes_in_per_s"]) for row in rows] == [
        ("0", "500", ""),
        ("1", "70", ""),
    ]
    assert "2 partitions, 570 B without their copies" in capsys.readouterr().out


def test_the_second_look_has_rates(cluster: ScriptedCluster, tmp_path: Path) -> None:
    cluster.topics = [topic("t", partition(0, 1))]
    cluster.answer(sizes((T0, 500)), sizes((T0, 1_500)), to=DescribeLogDirs)
    cluster.answer(ends((T0, 5)), ends((T0, 9)), to=ListOffsets)

    assert typed(cluster.bootstrap, tmp_path / "out", "--count", "2", "--every", "20ms") == 0

    first, second = rows_in(tmp_path / "out")
    seconds = (int(second["at_ms"]) - int(first["at_ms"])) / 1_000
    assert float(second["bytes_in_per_s"]) == pytest.approx(1_000 / seconds)
    assert float(second["records_in_per_s"]) == pytest.approx(4 / seconds)


def test_a_broker_that_does_not_answer_is_a_gap_and_no_end(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    cluster.topics = [topic("t", partition(0, 1), partition(1, 2))]
    cluster.answer(sizes((T1, 70)), to=DescribeLogDirs)
    refused = FoundOffset(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    cluster.answer(ListOffsetsAnswer((refused,)), ends((T1, 7)), to=ListOffsets)
    cluster.fail(Fault.CLOSE, to=DescribeLogDirs)

    assert typed(cluster.bootstrap, tmp_path / "out", "--count", "1") == 0

    assert [(row["partition"], row["size_bytes"]) for row in rows_in(tmp_path / "out")] == [
        ("1", "70")
    ]
    told = capsys.readouterr().err
    assert "the end of t-0 is not known: NOT_LEADER_OR_FOLLOWER" in told
    assert "broker 1: " in told


def test_what_cannot_be_done_is_said(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    assert typed(cluster.bootstrap, tmp_path, "--every", "soon") == EXIT_USAGE
    assert "'soon' is no length of time; write it like 10s or 2m" in capsys.readouterr().err

    (tmp_path / "file").touch()
    assert typed(cluster.bootstrap, tmp_path / "file") == EXIT_USAGE
    assert "cannot be written" in capsys.readouterr().err

    cluster.close()
    assert typed(cluster.bootstrap, tmp_path / "out") == EXIT_UNREACHABLE


def test_the_columns_are_those_that_the_page_describes() -> None:
    """Who reads the samples reads them by these names."""
    described = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))

    assert set(COLUMNS) <= described


def test_real_brokers_tell_what_was_written_to_them(tmp_path: Path) -> None:
    """Sizes of everything, the second time with what came in between: nothing."""
    with Cluster(brokers=1) as cluster:
        cluster.create_topic("orders", partitions=2, replication_factor=1)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for _ in range(10):
            producer.produce("orders", b"." * 1_000, partition=1)
        assert producer.flush(90) == 0

        assert typed(cluster.bootstrap, tmp_path / "out", "--count", "2", "--every", "10ms") == 0

    names = [("orders", "0"), ("orders", "1")]
    rows = rows_in(tmp_path / "out")
    assert [(row["topic"], row["partition"]) for row in rows] == names * 2
    assert [row["size_bytes"] for row in rows[::2]] == ["0", "0"]
    assert all(10_000 <= int(row["size_bytes"]) < 12_000 for row in rows[1::2])
    assert [row["records_in_per_s"] for row in rows] == ["", "", "0.0", "0.0"]
