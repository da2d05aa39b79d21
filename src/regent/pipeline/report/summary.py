"""The report on a terminal: the same figures as on the page, without the charts."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from regent.pipeline.report.evidence import look_up, places_in
from regent.pipeline.report.figures import ReportFigures
from regent.pipeline.report.headlines import key_figures, verdict
from regent.pipeline.report.wording import (
    count,
    counted,
    duration,
    moment,
    nines,
    percent,
    shortened,
    strategy,
)

#: So much of each answer is shown; the page and `--json` have more.
INCIDENTS_MAX: Final = 5
ROWS_MAX: Final = 10
EVIDENCE_MAX: Final = 3
TEXT_MAX: Final = 160

SEVERITY_STYLES: Final = {"error": "bold red", "warning": "yellow", "note": "dim"}


def print_summary(figures: ReportFigures, console: Console) -> None:
    """Everything in about two screens."""
    console.print(Text(verdict(figures), style="bold"))
    for name, value, remark in key_figures(figures):
        console.print(Text(f"  {name:<26}{value:>12}  {remark}"))
    console.print()
    for section in (
        _incidents,
        _topics,
        _outages,
        _elections,
        _reigns,
        _findings,
        _churn,
        _balance,
        _work,
        _quarantine,
    ):
        section(figures, console)


def _incidents(figures: ReportFigures, console: Console) -> None:
    rows = figures.rows("incidents")
    if not rows:
        _say(console, "Incidents", "there were none", figures.has("incidents"))
        return
    shown = rows[:INCIDENTS_MAX]
    texts = look_up(places_in(shown))
    total = figures.tables.get("incidents", len(rows))
    _title(console, f"Incidents, the worst {len(shown)} of {total:,}")
    for row in shown:
        grave = "bold red" if row["leaderless_ms"] else "yellow"
        console.print(Text(f"{row['title']}", style=grave))
        where = f"{moment(row['start_ms'])}, cluster {row['cluster']}"
        console.print(Padding(Text(where, style="dim"), (0, 0, 0, 2)), soft_wrap=False)
        console.print(Padding(Text(row["story"]), (0, 0, 0, 2)), soft_wrap=False)
        for place in places_in([row])[:EVIDENCE_MAX]:
            line = shortened(texts.get(place, "the file could not be read"), TEXT_MAX)
            console.print(Text(f"    {place}: {line}", style="dim"))
        console.print()


def _topics(figures: ReportFigures, console: Console) -> None:
    hurt = [
        row for row in figures.rows("topics") if row["leaderless_ms"] or row["under_min_isr_ms"]
    ]
    if not hurt:
        _say(
            console, "Availability", "every topic had a leader all the time", figures.has("topics")
        )
        return
    header = ("topic", "available", "nines", "without leader", "under min ISR", "longest")
    rows = [
        (
            shortened(figures.partition_label(row)),
            percent(row["availability"]),
            nines(row["nines"]),
            duration(row["leaderless_ms"]),
            duration(row["under_min_isr_ms"]),
            duration(row["longest_outage_ms"]),
        )
        for row in hurt[:ROWS_MAX]
    ]
    _table(console, "Topics that suffered most", header, rows)


def _outages(figures: ReportFigures, console: Console) -> None:
    header = ("outages", "times", "partitions", "together", "longest", "still lasting")
    rows = [
        (
            row["kind"].replace("_", " "),
            count(row["outages"]),
            count(row["partitions"]),
            duration(row["total_ms"]),
            duration(row["longest_ms"]),
            count(row["lasting"]),
        )
        for row in figures.rows("outages")
    ]
    _table_or(console, "Outages", header, rows, "there were none", figures.has("outages"))


def _elections(figures: ReportFigures, console: Console) -> None:
    header = ("strategy", "cluster", "elections", "after failure", "p50", "p95", "p99", "longest")
    rows = [
        (
            strategy(row["strategy"], unclean=row["unclean"]),
            shortened(str(row["cluster"]), 20),
            count(row["elections"]),
            count(row["after_failure"]),
            *(duration(row[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms")),
        )
        for row in figures.rows("elections")[:ROWS_MAX]
    ]
    _table_or(console, "Elections", header, rows, "there were none", figures.has("elections"))


def _reigns(figures: ReportFigures, console: Console) -> None:
    rows = figures.rows("reigns")
    header = ("cluster", "epoch", "broker", "elected", "interregnum", "left because")
    cells = [
        (
            shortened(str(row["cluster"]), 20),
            str(row["controller_epoch"]),
            str(row["controller_id"]),
            moment(row["elected_ms"]),
            duration(row["interregnum_ms"]),
            shortened(row["resigned_because"] or ("" if row["end_ms"] is None else "died"), 40),
        )
        for row in rows[:ROWS_MAX]
    ]
    title = f"Controllers, {counted(figures.tables.get('controller_reigns', len(rows)), 'reign')}"
    _table_or(console, title, header, cells, "no controller was seen", figures.has("reigns"))


def _findings(figures: ReportFigures, console: Console) -> None:
    header = ("severity", "rule", "findings", "partitions", "first")
    rows = [
        (
            row["severity"],
            row["rule"].replace("_", " "),
            count(row["findings"]),
            count(row["partitions"]),
            moment(row["first_ms"]),
        )
        for row in figures.rows("rules")
    ]
    styles = [SEVERITY_STYLES.get(row[0], "") for row in rows]
    _table_or(
        console, "Audit", header, rows, "every rule holds", figures.has("rules"), styles=styles
    )


def _churn(figures: ReportFigures, console: Console) -> None:
    header = ("broker", "left an ISR", "joined", "partitions", "out of sync")
    rows = [
        (
            figures.broker_label(row),
            count(row["left"]),
            count(row["joined"]),
            count(row["partitions"]),
            duration(row["out_ms"]),
        )
        for row in figures.rows("churn")[:ROWS_MAX]
        if row["left"]
    ]
    said = "no replica left an ISR"
    _table_or(console, "Replicas out of sync", header, rows, said, figures.has("churn"))


def _balance(figures: ReportFigures, console: Console) -> None:
    header = ("broker", "led at first", "led at last", "preferred", "Gini at first", "at last")
    rows = [
        (
            figures.broker_label(row),
            count(row["before"]["leaders"]),
            count(row["after"]["leaders"]),
            count(row["after"]["preferred"]),
            *(f"{row[look]['leader_gini'] or 0:.3f}" for look in ("before", "after")),
        )
        for row in figures.rows("shares")[:ROWS_MAX]
    ]
    said = "no leadership was observed"
    _table_or(console, "Balance", header, rows, said, figures.has("shares"))


def _work(figures: ReportFigures, console: Console) -> None:
    header = ("reassignments", "", "how many", "longest", "longest pause")
    rows = [
        (
            str(row["outcome"]),
            "stalled" if row["is_stalled"] else "",
            count(row["moves"]),
            duration(row["longest_ms"]),
            duration(row["longest_pause_ms"]),
        )
        for row in figures.rows("moves")
    ]
    _table_or(console, "Moves", header, rows, "no partition was moved", figures.has("moves"))


def _quarantine(figures: ReportFigures, console: Console) -> None:
    rows = [
        (shortened(str(row["reason"]), 70), count(row["lines"]), count(row["files"]))
        for row in figures.rows("reasons")
    ]
    said = "every line was understood"
    _table_or(console, "Lines not understood", ("reason", "lines", "files"), rows, said,
              figures.has("reasons"))  # fmt: skip


# --- how it looks -----------------------------------------------------------------------------


def _title(console: Console, title: str) -> None:
    console.print(Text(title, style="bold underline"))


def _say(console: Console, title: str, sentence: str, was_made: bool) -> None:  # noqa: FBT001 - private
    """What there is instead of a table."""
    console.print(Text(f"{title}: {sentence if was_made else 'not made by this run'}"))
    console.print()


def _table_or(  # noqa: PLR0913, PLR0917 - private
    console: Console,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    sentence: str,
    was_made: bool,  # noqa: FBT001 - private
    styles: Sequence[str] = (),
) -> None:
    if rows:
        _table(console, title, header, rows, styles)
    else:
        _say(console, title, sentence, was_made)


def _table(
    console: Console,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Sequence[str] = (),
) -> None:
    """Ruled on a terminal; elsewhere plain columns, which other tools can take apart."""
    _title(console, title)
    if console.is_terminal:
        table = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in header:
            table.add_column(escape(name))
        for row, style in zip(rows, styles or [""] * len(rows), strict=True):
            table.add_row(*map(Text, row), style=style)
        console.print(Padding(table, (0, 0, 0, 2)), soft_wrap=False)
    else:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        for line in (header, *rows):
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            console.print(Text(f"  {'  '.join(cells)}".rstrip()))
    console.print()
