"""The sections of the page, in their order: each is a title, a sentence, and what it shows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from regent.pipeline.report import questions
from regent.pipeline.report.charts import SERIES_COLOURS
from regent.pipeline.report.evidence import EvidencePlace, path_of, places_in
from regent.pipeline.report.figures import ReportFigures
from regent.pipeline.report.markup import (
    Markup,
    chart,
    details,
    element,
    nothing,
    story,
    table,
    together,
)
from regent.pipeline.report.wording import (
    count,
    counted,
    duration,
    moment,
    nines,
    partition_name,
    percent,
    strategy,
)

Texts = Mapping[EvidencePlace, str]


class Section(Struct, frozen=True):
    """One part of the page."""

    anchor: str
    title: str
    lead: str
    #: The question whose answer it needs; without it the section says what is missing.
    needs: str
    write: Callable[[ReportFigures, Texts], Markup]


def incidents(figures: ReportFigures, texts: Texts) -> Markup:
    """The worst incidents with story and evidence."""
    rows = figures.rows("incidents")
    if not rows:
        return nothing("There were no incidents.")
    cards = [_incident(row, texts) for row in rows]
    total = figures.tables.get("incidents", len(rows))
    parts = cards[:INCIDENTS_UNFOLDED]
    if len(cards) > INCIDENTS_UNFOLDED:
        others = f"{counted(len(cards) - INCIDENTS_UNFOLDED, 'incident')} more"
        parts.append(details(others, *cards[INCIDENTS_UNFOLDED:]))
    if total > len(rows):
        parts.append(nothing(f"The worst {len(rows)} of {total:,} incidents are shown."))
    return together(parts)


def _incident(row: Mapping[str, Any], texts: Texts) -> Markup:
    lasted = "not over" if row["end_ms"] is None else duration(row["end_ms"] - row["start_ms"])
    facts = [
        moment(row["start_ms"]),
        lasted if row["end_ms"] != row["start_ms"] else "",
        f"cluster {row['cluster']}",
        f"{counted(row['partitions_hit'], 'partition')} hit" if row["partitions_hit"] else "",
        f"{duration(row['leaderless_ms'])} without a leader in all" if row["leaderless_ms"] else "",
    ]
    grade = "grave" if row["leaderless_ms"] else "mild"
    return element(
        "article",
        element("h3", row["title"]),
        element("p", *(element("span", fact) for fact in facts if fact), class_="facts"),
        element("p", story(row["story"])),
        _evidence(row, texts),
        class_=f"incident {grade}",
    )


def _evidence(row: Mapping[str, Any], texts: Texts) -> Markup:
    places = places_in([row])
    if not places:
        return nothing("No record of it is known.")
    lines = [
        element(
            "li",
            element("span", str(place), class_="where", title=path_of(place.file)),
            element("code", texts[place])
            if place in texts
            else element("em", "the file could not be read any more"),
        )
        for place in places
    ]
    return details(f"Evidence: {counted(len(places), 'record')}", element("ol", *lines))


def timeline(figures: ReportFigures, _texts: Texts) -> Markup:
    """Partitions over time."""
    rows = figures.rows("timeline")
    if not rows:
        return nothing("No partition has a timeline.")
    shown = len({(row["cluster"], row["topic"], row["partition"]) for row in rows})
    total = sum(row["partitions"] or 0 for row in figures.rows("clusters"))
    which = (
        f"The {shown} partitions of {total:,} that suffered most, the worst on top."
        if total > shown
        else f"All {counted(shown, 'partition')}, the worst on top."
    )
    cut = (
        " Some of their later intervals are left out: there are too many to draw."
        if len(rows) >= INTERVALS_MAX
        else ""
    )
    return together(
        [
            element(
                "p",
                which + cut,
                element(
                    "span", " Drag to zoom, double-click to see everything again.", class_="hint"
                ),
            ),
            chart("timeline", "Condition of each partition over time"),
        ]
    )


def availability(figures: ReportFigures, _texts: Texts) -> Markup:
    """Topics and clusters."""
    topics = figures.rows("topics")
    if not topics:
        return nothing("No topic was observed.")
    hurt = any(row[name] for row in topics for name in questions.HARM)
    parts = [
        chart("availability", "Share of time that topics were not in order")
        if hurt
        else nothing("Every topic had a leader and all its replicas in sync all the time."),
        details("By topic", _availability_table(topics, "topic"), is_open=not hurt),
        details("By cluster", _availability_table(figures.rows("clusters"), "cluster")),
    ]
    return together(parts)


def _availability_table(rows: list[dict[str, Any]], name: str) -> Markup:
    header = ("cluster", "partitions", "available", "nines", "without leader", "under min ISR",
              "under-replicated", "outages", "longest")  # fmt: skip
    cells = [
        (
            row["cluster"],
            count(row["partitions"]),
            percent(row["availability"]),
            nines(row["nines"]),
            duration(row["leaderless_ms"]),
            duration(row["under_min_isr_ms"]),
            duration(row["under_replicated_ms"]),
            count(row["outages"]),
            duration(row["longest_outage_ms"]),
        )
        for row in rows
    ]
    if name == "topic":
        named = [(row["topic"], *line) for row, line in zip(rows, cells, strict=True)]
        return table(("topic", *header), named, "  nnnnnnnn")
    return table(header, cells, " nnnnnnnn")


def outages(figures: ReportFigures, _texts: Texts) -> Markup:
    """By kind, and the longest."""
    kinds = figures.rows("outages")
    if not kinds:
        return nothing("No partition was ever without a leader or under min ISR.")
    by_kind = [
        (
            row["kind"].replace("_", " "),
            count(row["outages"]),
            count(row["partitions"]),
            duration(row["total_ms"]),
            duration(row["longest_ms"]),
            count(row["lasting"]),
        )
        for row in kinds
    ]
    header = ("kind", "times", "partitions", "together", "longest", "still lasting")
    longest = [
        (
            partition_name(row),
            row["cluster"],
            moment(row["start_ms"]),
            duration(row["duration_ms"]) + (" and lasting" if row["end_ms"] is None else ""),
            "nobody" if row["leader_before"] is None else row["leader_before"],
            row["cause"] or "",
        )
        for row in figures.rows("longest")
    ]
    which = ("partition", "cluster", "from", "for", "led before by", "event")
    return together(
        [
            table(header, by_kind, " nnnnn"),
            details("The longest times without a leader", table(which, longest, "  tnn ")),
        ]
    )


def elections(figures: ReportFigures, _texts: Texts) -> Markup:
    """Percentiles, and how they spread."""
    rows = figures.rows("elections")
    if not rows:
        return nothing("No election was recorded.")
    header = ("strategy", "cluster", "elections", "after a failure", "p50", "p95", "p99", "longest")
    cells = [
        (
            strategy(row["strategy"], unclean=row["unclean"]),
            row["cluster"],
            count(row["elections"]),
            count(row["after_failure"]),
            *(duration(row[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms")),
        )
        for row in rows
    ]
    drawn = (
        chart("latency", "How long elections took")
        if figures.rows("latencies")
        else nothing("No election followed a failure.")
    )
    figures_table = table(header, cells, "  nnnnnn")
    is_long = len(cells) > TABLE_UNFOLDED
    by_strategy = details("By cluster and strategy", figures_table) if is_long else figures_table
    return together([drawn, by_strategy])


def reigns(figures: ReportFigures, _texts: Texts) -> Markup:
    """Who was in office."""
    rows = figures.rows("reigns")
    if not rows:
        return nothing("No controller was seen in office.")
    header = ("cluster", "epoch", "broker", "elected", "in office", "took office in", "interregnum",
              "records lost", "left because")  # fmt: skip
    cells = [
        (
            row["cluster"],
            row["controller_epoch"],
            row["controller_id"],
            moment(row["elected_ms"]),
            _lasted(row["elected_ms"], row["end_ms"] or row["last_record_ms"]),
            _lasted(row["elected_ms"], row["partitions_started_ms"]),
            duration(row["interregnum_ms"]),
            count(row["records_lost"]),
            row["resigned_because"] or ("" if row["end_ms"] is None else "died in office"),
        )
        for row in rows
    ]
    return together(
        [
            chart("reigns", "Who was controller when"),
            details(f"All {counted(len(rows), 'reign')}", table(header, cells, " nntnnnn ")),
        ]
    )


def _lasted(start_ms: int | None, end_ms: int | None) -> str:
    return "" if start_ms is None or end_ms is None else duration(max(end_ms - start_ms, 0))


def balance(figures: ReportFigures, _texts: Texts) -> Markup:
    """Leaders before and after, and how uneven they were in between."""
    if not figures.rows("shares"):
        return nothing("No leadership was observed.")
    clusters = len({row["cluster"] for row in figures.rows("ginis")})
    return together(
        [
            chart("shares", "Leaders on each broker, at first and at last"),
            element(
                "p",
                "How uneven leadership was over time: 0 is all the same, 1 is all on one broker.",
                f" The first {SERIES_COLOURS} clusters are drawn."
                if clusters > SERIES_COLOURS
                else "",
            ),
            chart("ginis", "Gini of leadership over time"),
        ]
    )


def churn(figures: ReportFigures, _texts: Texts) -> Markup:
    """Brokers whose replicas fell out of sync, and brokers that died again and again."""
    rows = figures.rows("churn")
    flapping = [
        (row["cluster"], row["broker_id"], moment(row["start_ms"]),
         _lasted(row["start_ms"], row["end_ms"]), count(row["deaths"]))
        for row in figures.rows("flapping")
    ]  # fmt: skip
    parts = [
        chart("churn", "How often replicas on each broker left an ISR")
        if any(row["left"] for row in rows)
        else nothing("No replica ever left an ISR."),
        element("h3", "Flapping brokers"),
        table(("cluster", "broker", "from", "for", "deaths"), flapping, " ntnn")
        if flapping
        else nothing("No broker died again and again."),
    ]
    return together(parts)


def findings(figures: ReportFigures, texts: Texts) -> Markup:
    """What the audit found, by rule and one by one."""
    rules = figures.rows("rules")
    if not rules:
        return nothing("The audit found nothing: every rule holds in this history.")
    by_rule = [
        (
            _severity(row["severity"]),
            row["rule"].replace("_", " "),
            count(row["findings"]),
            count(row["partitions"]),
            moment(row["first_ms"]),
        )
        for row in rules
    ]
    rows = figures.rows("findings")
    one_by_one = [
        (
            _severity(row["severity"]),
            row["rule"].replace("_", " "),
            partition_name(row),
            row["cluster"],
            moment(row["at_ms"]),
            _with_evidence(row, texts),
        )
        for row in rows
    ]
    total = figures.tables.get("violations", len(rows))
    which = (
        f"The first {len(rows)} of {total:,} findings"
        if total > len(rows)
        else f"All {counted(len(rows), 'finding')}"
    )
    header = ("severity", "rule", "partition", "cluster", "at", "what")
    return together(
        [
            table(("severity", "rule", "findings", "partitions", "first"), by_rule, "  nnt"),
            details(which, table(header, one_by_one, "    t ")),
        ]
    )


def _severity(severity: str) -> Markup:
    return element("span", severity, class_=f"tag {severity}")


def _with_evidence(row: Mapping[str, Any], texts: Texts) -> Markup:
    lines = [
        element("code", texts[place], class_="line")
        for place in places_in([row])[:2]
        if place in texts
    ]
    return together([element("div", row["detail"] or ""), *lines])


def long_work(figures: ReportFigures, _texts: Texts) -> Markup:
    """Reassignments and deletions."""
    moves = [
        (
            row["outcome"],
            "stalled" if row["is_stalled"] else "",
            count(row["moves"]),
            duration(row["longest_ms"]),
            duration(row["longest_pause_ms"]),
        )
        for row in figures.rows("moves")
    ]
    gone = [
        (
            row["topic"],
            row["cluster"],
            moment(row["queued_ms"]),
            duration(row["duration_ms"]) + (" and lasting" if row["end_ms"] is None else ""),
            count(row["obstacles"]),
            "stalled" if row["is_stalled"] else "",
            ", ".join(row["reasons"] or ()),
        )
        for row in figures.rows("deletions")
    ]
    return together(
        [
            table(("reassignments", "", "how many", "longest", "longest pause"), moves, "  nnn")
            if moves
            else nothing("No partition was moved."),
            table(
                ("deleted topic", "cluster", "asked for", "took", "obstacles", "", "because"),
                gone,
                "  tnn  ",
            )
            if gone
            else nothing("No topic was deleted."),
        ]
    )


def blast_radius(figures: ReportFigures, _texts: Texts) -> Markup:
    """The matrices, and racks."""
    rows = figures.rows("blast")
    alone = [row for row in rows if row["scope"] == "broker"]
    racks = [
        (row["a"], count(row["offline"]), count(row["under_min_isr"]))
        for row in rows
        if row["scope"] == "rack"
    ]
    if not alone:
        return nothing("There is no broker in the last state of the cluster.")
    which = (
        f"The {questions.BROKERS_MAX} brokers of {rows[0]['cluster']} that would take most along."
        if len(alone) == questions.BROKERS_MAX
        else f"All {counted(len(alone), 'broker')} of {rows[0]['cluster']}."
    )
    matrices = [
        element("figure", element("figcaption", caption), chart(name, caption))
        for name, caption in (
            ("blast-offline", "Partitions that would be offline"),
            ("blast-under", "Partitions that would be under min ISR"),
        )
    ]
    parts = [element("p", which), element("div", *matrices, class_="pair")]
    if racks:
        parts.append(table(("rack", "offline", "under min ISR"), racks, " nn"))
    return together(parts)


def quarantine(figures: ReportFigures, _texts: Texts) -> Markup:
    """Lines that could not be used."""
    reasons = figures.rows("reasons")
    if not reasons:
        return nothing("Every line was understood.")
    lines = [
        (
            f"{Path(path_of(row['file'] or '')).name}:{row['line'] or '?'}",
            row["reason"],
            element("code", row["text"] or "", class_="line"),
        )
        for row in figures.rows("quarantined")
    ]
    return together(
        [
            table(
                ("reason", "lines", "files"),
                [(row["reason"], count(row["lines"]), count(row["files"])) for row in reasons],
                " nn",
            ),
            details("The first of them", table(("where", "reason", "text"), lines)),
        ]
    )


#: So many incidents are told at once; the others can be unfolded.
INCIDENTS_UNFOLDED: Final = 6
#: A longer table is folded when a chart says the same.
TABLE_UNFOLDED: Final = 12
#: The timeline asks for so many intervals at most.
INTERVALS_MAX: Final = 5_000

# fmt: off
SECTIONS: Final = (
    Section("incidents", "Incidents", "Findings that belong together, the most harmful first.",
            "incidents", incidents),
    Section("timeline", "Partitions over time", "Who could be used, and when.",
            "timeline", timeline),
    Section("availability", "Availability",
            "How much of its time a topic was not in order. A partition is available while it has"
            " a leader.", "topics", availability),
    Section("outages", "Outages", "Longest stretches in which a partition could not be used.",
            "outages", outages),
    Section("elections", "Elections", "From the moment that nobody led a partition to its new"
            " leader.", "elections", elections),
    Section("reigns", "Controllers", "Who was in office, and why they left.", "reigns", reigns),
    Section("balance", "Balance", "How many partitions each broker led.", "shares", balance),
    Section("churn", "Replicas out of sync", "Which brokers' replicas left ISRs most often.",
            "churn", churn),
    Section("findings", "Audit", "Rules that a history must keep, and where this one did not.",
            "rules", findings),
    Section("work", "Moves and deletions", "Work that takes long, and where it stalled.",
            "moves", long_work),
    Section("blast", "Blast radius", "What would be lost with a broker, or with two at once. The"
            " diagonal is one broker alone.", "blast", blast_radius),
    Section("quarantine", "Not understood", "Lines that could not be used. They are in none of"
            " the figures above.", "reasons", quarantine),
)
# fmt: on
