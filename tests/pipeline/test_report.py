"""The report: what it asks of the tables, and that no name can break its page (Q4, Q5)."""

import gzip
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from regent.cli.pipeline_report import report
from regent.errors import BadInput
from regent.pipeline.output import Manifest, OutputFolder
from regent.pipeline.report.charts import all_charts
from regent.pipeline.report.evidence import EvidencePlace, look_up
from regent.pipeline.report.figures import ReportFigures, gather, load_tables
from regent.pipeline.report.html import render_page
from regent.pipeline.report.sections import SECTIONS
from regent.pipeline.report.summary import print_summary
from tests.pipeline.report_tables import (
    EVIDENCE_TEXT,
    HOSTILE,
    finished,
    hostile_rows,
    tables_of,
)

pytestmark = pytest.mark.requirement("Q4", "Q5")

#: Elements that have no end tag.
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """What a browser would make of a page, as far as it matters here."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.chart_data = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it, and that it is open."""
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """What was opened last must be closed first."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep text, and the first script, which is the data of the charts."""
        if self.open and self.open[-1] == "script":
            self.chart_data = self.chart_data or data
        else:
            self.words.append(data)


@pytest.fixture(scope="module")
def hostile(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ReportFigures:
    log = tmp_path_factory.mktemp("logs") / "state-change.log"
    return gather(tables_of(spark, hostile_rows(log)), finished(rows=30))


@pytest.fixture(scope="module")
def empty(spark: SparkSession) -> ReportFigures:
    return gather(tables_of(spark, {}), finished(rows=0))


def summary_of(figures: ReportFigures, *, is_terminal: bool = False) -> str:
    screen = io.StringIO()
    console = Console(
        file=screen, force_terminal=is_terminal, width=120, highlight=False, soft_wrap=True,
        markup=False,
    )  # fmt: skip
    print_summary(figures, console)
    return screen.getvalue()


def test_answers_are_the_tables_in_short(hostile: ReportFigures) -> None:
    timeline = hostile.rows("timeline")
    buckets = [(row["bucket"], row["elections"]) for row in hostile.rows("latencies")]
    shares = [
        (row["broker_id"], row["before"]["leaders"], row["after"]["leaders"])
        for row in hostile.rows("shares")
    ]

    assert [(row["condition"], row["start_ms"], row["end_ms"]) for row in timeline] == [
        ("online", 1_000, 3_000),
        ("under_replicated", 3_000, 4_000),
        ("under_min_isr", 4_000, 5_000),
        ("leaderless", 5_000, 9_000),
    ]
    assert buckets == [(0, 1), (10, 2)]
    assert shares == [(1, 3, 1), (2, 0, 2)]
    assert [row["severity"] for row in hostile.rows("findings")] == ["error", "note"]


def test_the_matrix_has_single_brokers_on_its_diagonal(hostile: ReportFigures) -> None:
    matrix = all_charts(hostile)["blast-offline"]["data"][0]

    assert matrix["x"] == ["1", "10"]
    assert matrix["z"] == [[1, 3], [3, 2]]


def test_no_name_can_break_the_page(hostile: ReportFigures) -> None:
    page = Page(render_page(hostile))

    assert page.open == []
    assert page.tags.count("script") == 3
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert any(EVIDENCE_TEXT in word for word in page.words)
    assert "could not be read any more" in " ".join(page.words)
    assert "<" not in page.chart_data
    charts = json.loads(page.chart_data)
    assert set(charts) == {
        "timeline", "availability", "latency", "reigns", "shares", "ginis", "churn",
        "blast-offline", "blast-under",
    }  # fmt: skip
    labels = [text for _, text in _texts(charts)]
    assert not [text for text in labels if "<script" in text or "<img" in text]
    assert any("&lt;script" in text for text in labels)


def _texts(value: object, key: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [found for name, each in value.items() for found in _texts(each, name)]
    if isinstance(value, list):
        return [found for each in value for found in _texts(each, key)]
    return [(key, value)] if isinstance(value, str) else []


def test_the_page_loads_nothing(hostile: ReportFigures) -> None:
    page = Page(render_page(hostile))
    loads = [value or "" for name, value in page.attributes if name in {"src", "href", "srcset"}]

    assert loads
    assert all(value.startswith("#") for value in loads)
    assert "link" not in page.tags
    policies = [value for _, value in page.attributes if value and "default-src" in value]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]


def test_where_nothing_happened_every_section_says_so(empty: ReportFigures) -> None:
    page = Page(render_page(empty))
    words = " ".join(page.words)

    assert page.open == []
    assert json.loads(page.chart_data) == {}
    assert words.count("There were no incidents.") == 1
    assert "The tables for this were not made." not in words
    assert page.attributes.count(("class", "nothing")) >= len(SECTIONS)
    assert "Incidents: there were none" in summary_of(empty)


def test_tables_that_were_not_made_are_said_to_be_missing() -> None:
    nothing = gather({}, Manifest(finished=True))
    page = Page(render_page(nothing))

    assert " ".join(page.words).count("The tables for this were not made.") == len(SECTIONS)
    assert "Incidents: not made by this run" in summary_of(nothing)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_the_summary_tells_the_worst_incident_and_its_evidence(
    hostile: ReportFigures, *, is_terminal: bool
) -> None:
    summary = summary_of(hostile, is_terminal=is_terminal)

    assert f"the worst: {HOSTILE}" in summary
    assert EVIDENCE_TEXT in summary
    assert "50.00 %" in summary


def test_finished_tables_are_read_from_their_folder(spark: SparkSession, tmp_path: Path) -> None:
    tables_of(spark, hostile_rows(tmp_path / "a.log"))["isr_churn"].write.parquet(
        str(tmp_path / "tables" / "isr_churn")
    )
    folder = OutputFolder(tmp_path / "tables")
    folder.write_manifest(Manifest(finished=True, tables={"isr_churn": 1, "transitions": 5}))

    tables = load_tables(spark, folder.directory)
    figures = gather(tables, folder.finished())

    assert list(tables) == ["isr_churn"]
    assert [row["left"] for row in figures.rows("churn")] == [2]
    assert not figures.has("incidents")


def test_a_folder_without_finished_tables_is_refused(tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    OutputFolder(unfinished).write_manifest(Manifest(finished=False))

    with pytest.raises(BadInput, match="holds no tables"):
        report(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="not whole"):
        report(unfinished)
    with pytest.raises(BadInput, match="cannot be written"):
        report(unfinished, html=tmp_path / "nowhere" / "page.html")


def test_evidence_is_found_by_line_and_by_sequence(tmp_path: Path) -> None:
    log = tmp_path / "state change.log"
    log.write_text("one\ntwo\n", encoding="utf-8")
    packed = tmp_path / "state-change.log.gz"
    packed.write_bytes(gzip.compress(b"one\n\xff\n"))
    journal = tmp_path / "journal-1-00000001.jsonl"
    journal.write_text('{"v":1,"seq":1}\ntorn {\n{"v":1,"seq":7,"at_ms":5}\n', encoding="utf-8")
    by_line = EvidencePlace(log.as_uri(), line=2, sequence=40)
    in_packed = EvidencePlace(str(packed), line=2)
    by_sequence = EvidencePlace(journal.as_uri(), sequence=7)
    lost = EvidencePlace(str(tmp_path / "gone"), line=1)

    assert look_up([by_line, in_packed, by_sequence, lost]) == {
        by_line: "two",
        in_packed: "\N{REPLACEMENT CHARACTER}",
        by_sequence: '{"v":1,"seq":7,"at_ms":5}',
    }
    assert str(by_line) == "state change.log, line 2"
