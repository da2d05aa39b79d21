"""A batch run: every line accounted for, whole tables or none, and nothing done twice (Q1, Q8)."""

import gzip
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from regent.errors import BadInput
from regent.journal.record import encode
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId
from regent.pipeline import ingest, schemas
from regent.pipeline import run as batch
from regent.pipeline.inputs import SourceKind, find_inputs
from regent.pipeline.output import MANIFEST, Manifest, OutputFolder
from regent.pipeline.run import Job, is_done, run
from regent.pipeline.tables import TABLES
from tests.pipeline.rows import record

pytestmark = pytest.mark.requirement("Q1", "Q8")

#: Enough to see that tables are made; what is in them has its own tests.
SOME_TABLES = tuple(table for table in TABLES if table.name == "timelines")


def lines(*numbers: int, epoch: int = 1) -> list[bytes]:
    """As many brokers that came up."""
    return [
        encode(record(n, facts.BrokerUp(BrokerId(n), BrokerEpoch(n)), at_ms=n, epoch=epoch)) + b"\n"
        for n in numbers
    ]


def segment(directory: Path, number: int, *content: bytes) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"journal-1-{number:08d}.jsonl"
    path.write_bytes(b"".join(content))
    return path


def job(out: Path, *paths: Path) -> Job:
    found = find_inputs(SourceKind.JOURNAL, [str(path) for path in paths])
    return Job(tuple(found), OutputFolder(out))


def carry_out(spark: SparkSession, asked: Job) -> Manifest:
    with asked.folder.held():
        return run(spark, asked, tables=SOME_TABLES)


def sequences(spark: SparkSession, out: Path) -> list[int]:
    table = OutputFolder(out).read(spark, "transitions", schemas.TRANSITIONS)
    return sorted(row.sequence for row in table.select("sequence").collect())


def content(out: Path) -> dict[str, str]:
    """What lies in the tables, byte for byte."""
    return {
        str(path.relative_to(out)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*.parquet"))
    }


def test_bad_lines_go_to_quarantine_with_their_place_and_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Every kind of bad line, in files with good ones; blank lines are no lines."""
    wrong_type = lines(3)[0].replace(b'"at_ms":3', b'"at_ms":"noon"')
    unknown_kind = lines(4)[0].replace(b"broker_up", b"broker_sideways")
    bad = segment(
        tmp_path / "c", 1, *lines(1), b"\n", b"not json\n", *lines(2), wrong_type, unknown_kind
    )
    torn = segment(tmp_path / "c", 2, *lines(5, 6), lines(7)[0][:30])
    broken = tmp_path / "c" / "journal-2-00000001.jsonl.gz"
    broken.write_bytes(gzip.compress(b"".join(lines(*range(10, 2000))), mtime=0)[:-300])
    empty = segment(tmp_path / "c", 3)

    manifest = carry_out(spark, job(tmp_path / "out", tmp_path / "c"))

    table = OutputFolder(tmp_path / "out").read(spark, "quarantine", schemas.QUARANTINE)
    told = {(row.file, row.line): row.reason for row in table.collect()}
    assert {place for place in told if place[0] != str(broken)} == {
        (str(bad), 3),
        (str(bad), 5),
        (str(bad), 6),
        (str(torn), 3),
    }
    assert "malformed" in told[str(bad), 3]
    assert "at_ms" in told[str(bad), 5]
    assert "broker_sideways" in told[str(bad), 6]
    assert "still being written" in told[str(torn), 3]
    (where_it_breaks,) = (place for place in told if place[0] == str(broken))
    assert "breaks off" in told[where_it_breaks]
    counts = {file.path: (file.parsed, file.quarantined) for file in manifest.inputs}
    assert counts[str(bad)] == (2, 3)
    assert counts[str(torn)] == (2, 1)
    assert counts[str(empty)] == (0, 0)
    assert counts[str(broken)] == (where_it_breaks[1] - 1, 1)
    total = manifest.counts
    assert total.lines_in == total.parsed + total.quarantined
    assert len(sequences(spark, tmp_path / "out")) == total.parsed


def test_a_second_run_reads_only_what_changed_and_equals_a_fresh_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The first file stays, the second grows, a third appears."""
    segment(tmp_path / "c", 1, *lines(1, 2))
    segment(tmp_path / "c", 2, *lines(3))
    carry_out(spark, job(tmp_path / "out", tmp_path / "c"))
    segment(tmp_path / "c", 2, *lines(3, 4))
    segment(tmp_path / "c", 3, *lines(5))

    said: list[str] = []
    again = job(tmp_path / "out", tmp_path / "c")
    assert not is_done(again)
    with again.folder.held():
        run(spark, again, said.append, tables=SOME_TABLES)
    carry_out(spark, job(tmp_path / "fresh", tmp_path / "c"))

    assert said[0] == "reading 2 of 3 files"
    assert is_done(job(tmp_path / "out", tmp_path / "c"))
    assert sequences(spark, tmp_path / "out") == [1, 2, 3, 4, 5]
    assert content(tmp_path / "out") == content(tmp_path / "fresh")


def test_a_record_that_is_there_twice_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    """A segment was copied, and the copy has one line that the original has not."""
    segment(tmp_path / "c", 1, *lines(1, 2, 3))
    segment(tmp_path / "copies" / "c", 1, *lines(1, 2, 3, 4))

    manifest = carry_out(spark, job(tmp_path / "out", tmp_path / "c", tmp_path / "copies"))

    assert manifest.counts.parsed == 7
    assert sequences(spark, tmp_path / "out") == [1, 2, 3, 4]


def test_a_journal_of_a_later_regent_is_refused_and_nothing_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    newer = lines(2)[0].replace(b'"v":1', b'"v":2')
    path = segment(tmp_path / "c", 1, *lines(1), newer)

    with pytest.raises(BadInput, match=f"{path}, line 2: schema version 2 is newer"):
        carry_out(spark, job(tmp_path / "out", path))

    with pytest.raises(BadInput, match="holds no tables"):
        OutputFolder(tmp_path / "out").finished()


def test_much_input_gives_what_little_input_gives(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Little of it is counted here, kept in memory, and worked on in one piece; much is not."""
    for number in range(1, 4):
        segment(tmp_path / "c", number, *lines(*range(10 * number, 10 * number + 5)))
    little = carry_out(spark, job(tmp_path / "little", tmp_path / "c"))
    for module in (ingest, batch):
        monkeypatch.setattr(module, "LIGHT_BYTES", 0)

    much = carry_out(spark, job(tmp_path / "much", tmp_path / "c"))

    assert much == little
    assert content(tmp_path / "much") == content(tmp_path / "little")


# --- the folder, without Spark ----------------------------------------------------------------


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with (
        pytest.raises(BadInput, match=r"something else \(thesis.txt"),
        OutputFolder(tmp_path).held(),
    ):
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with (
        OutputFolder(tmp_path / "out").held(),
        pytest.raises(BadInput, match="another run is writing"),
        OutputFolder(tmp_path / "out").held(),
    ):
        pass


def test_tables_of_a_run_that_was_killed_are_not_taken_for_whole(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(Manifest(finished=False)))

    with pytest.raises(BadInput, match="was interrupted; run it again"):
        OutputFolder(tmp_path).finished()


def test_a_run_over_unchanged_snapshots_is_done_already(tmp_path: Path) -> None:
    """What one shows depends on the one before, so all are read again if any; but none if none."""
    (tmp_path / "a.json").write_text("{}")
    found = tuple(find_inputs(SourceKind.SNAPSHOT, [str(tmp_path / "a.json")]))
    asked = Job(found, OutputFolder(tmp_path / "out"))
    with asked.folder.held():
        asked.folder.write_manifest(Manifest(finished=True, options=asked.options(), inputs=found))

    assert is_done(asked)

    (tmp_path / "a.json").write_text("{ }")
    changed = tuple(find_inputs(SourceKind.SNAPSHOT, [str(tmp_path / "a.json")]))
    assert not is_done(Job(changed, asked.folder))


def test_a_failed_run_leaves_no_staging_behind(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")

    def fail() -> None:
        with folder.held():
            folder.begin("half")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()

    assert not (tmp_path / "out" / ".staging").exists()


def test_what_is_not_there_is_said_by_name(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(BadInput, match="no journal in this directory"):
        find_inputs(SourceKind.JOURNAL, [str(tmp_path / "empty")])
    with pytest.raises(BadInput, match="there is no such journal"):
        find_inputs(SourceKind.JOURNAL, [str(tmp_path / "nowhere")])
