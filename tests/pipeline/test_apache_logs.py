"""Logs that Apache's own brokers wrote, of five releases: all is understood, and told as it was.

`data/apache-logs` has them, each release beside the story that was played on it.
"""

import gzip
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from regent.pipeline.inputs import SourceKind, find_inputs
from regent.pipeline.output import OutputFolder
from regent.pipeline.run import Job, run
from regent.pipeline.sources.log_lines import LogLines
from regent.pipeline.sources.state_change_log import read_state_change_log
from regent.pipeline.tables import TABLES
from tests.interop.kafka_logs import Reign, Story

pytestmark = pytest.mark.requirement("Q1", "Q2")

LOGS: Final = Path(__file__).parent / "data" / "apache-logs"
STORIES: Final = {
    story.version: story
    for path in sorted(LOGS.glob("*/story.json"))
    for story in [msgspec.json.decode(path.read_bytes(), type=Story)]
}
#: What must be understood of what a release writes.
SHARE: Final = 0.999


def test_all_eras_of_the_controller_are_there() -> None:
    assert set(STORIES) == {"0.10.2.2", "1.1.1", "2.4.1", "2.8.2", "3.9.1"}


@pytest.mark.parametrize("version", STORIES)
def test_nearly_every_line_of_a_real_broker_is_known(version: str) -> None:
    """And none is missing: each is parsed, or quarantined with its text."""
    lines, unknown = 0, Counter[str]()
    parsed = 0
    for path in sorted((LOGS / version).rglob("*.log.gz")):
        lines += gzip.decompress(path.read_bytes()).count(b"\n")
        for batch in LogLines(str(path), version, ZoneInfo("UTC")).batches():
            parsed += sum(row["lines"] for row in batch if row["is_good"])
            unknown.update(row["text"] for row in batch if not row["is_good"])

    assert lines == parsed + unknown.total()
    assert parsed / lines >= SHARE, unknown


# --- what it says -----------------------------------------------------------------------------


#: The tables that are looked at, and those that they are made from.
LOOKED_AT: Final = ("controller_reigns", "elections", "reassignments", "deletions", "violations")
MADE: Final = ("timelines", "broker_lives", "broker_flapping", "outages", *LOOKED_AT)


@pytest.fixture(scope="module")
def told(spark: SparkSession) -> Mapping[str, Sequence[Row]]:
    """What tables say of these logs; each release is a cluster."""
    releases = [
        read_state_change_log(spark, str(LOGS / version), cluster=version) for version in STORIES
    ]
    made = {"transitions": in_one_piece(reduce(DataFrame.unionByName, releases))}
    for table in TABLES:
        if table.name in MADE:
            made[table.name] = in_one_piece(table.build(*(made[name] for name in table.needs)))
    return {name: made[name].collect() for name in LOOKED_AT}


def in_one_piece(table: DataFrame) -> DataFrame:
    """Made once, and in one task: there is little of it."""
    return table.coalesce(1).localCheckpoint()


def test_the_controllers_are_those_that_there_were(told: Mapping[str, Sequence[Row]]) -> None:
    """In order, and each but the last has an end that is not before its beginning."""
    rows = sorted(told["controller_reigns"], key=lambda row: row.controller_epoch)

    found = {
        version: [
            Reign(row.controller_id, row.controller_epoch) for row in rows if row.cluster == version
        ]
        for version in STORIES
    }
    assert found == {version: story.reigns for version, story in STORIES.items()}
    ended = {(row.cluster, row.controller_epoch) for row in rows if row.end_ms is not None}
    last = {(version, story.reigns[-1].controller_epoch) for version, story in STORIES.items()}
    assert {(row.cluster, row.controller_epoch) for row in rows} - ended == last
    assert all(row.end_ms is None or row.end_ms >= row.elected_ms for row in rows)


def test_the_successor_of_a_killed_leader_is_found(told: Mapping[str, Sequence[Row]]) -> None:
    """With the epoch of its leadership, and how long nobody led."""
    found = {
        (row.cluster, row.topic, row.partition, row.leader, row.leader_epoch)
        for row in told["elections"]
        if row.latency_ms is not None and row.latency_ms >= 0 and not row.unclean
    }

    wanted = {
        (version, each.topic, each.partition, each.leader, each.leader_epoch)
        for version, story in STORIES.items()
        if (each := story.succession) is not None
    }
    assert len(wanted) == len(STORIES)
    assert wanted <= found


def test_what_was_moved_and_deleted_is_found(told: Mapping[str, Sequence[Row]]) -> None:
    assert {(row.cluster, row.topic, row.outcome) for row in told["reassignments"]} == {
        (version, story.moved, "finished") for version, story in STORIES.items()
    }
    assert {(row.cluster, row.topic) for row in told["deletions"] if row.end_ms is not None} == {
        (version, story.deleted) for version, story in STORIES.items()
    }


def test_the_audit_finds_no_fault_with_real_controllers(told: Mapping[str, Sequence[Row]]) -> None:
    """Brokers that were killed, bounced and stopped within a minute flap, and nothing else."""
    assert [row for row in told["violations"] if row.rule != "flapping_broker"] == []


def test_a_whole_run_makes_every_table_of_them(spark: SparkSession, tmp_path: Path) -> None:
    inputs = tuple(find_inputs(SourceKind.LOG, [str(LOGS / "3.9.1")]))
    job = Job(inputs, OutputFolder(tmp_path / "tables"))

    with job.folder.held():
        manifest = run(spark, job)

    assert manifest.counts.lines_in == manifest.counts.parsed
    empty = {name for name, rows in manifest.tables.items() if not rows}
    assert empty == {"quarantine", "violations", "broker_flapping"}
