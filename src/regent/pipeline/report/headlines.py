"""What comes first in every report: the few figures that say how bad it was."""

from regent.pipeline.report.figures import ReportFigures
from regent.pipeline.report.wording import count, counted, duration, nines, percent


def verdict(figures: ReportFigures) -> str:
    """The whole report in one or two sentences."""
    clusters = figures.rows("clusters")
    incidents = figures.rows("incidents")
    total = figures.tables.get("incidents", len(incidents))
    partitions = sum(row["partitions"] or 0 for row in clusters)
    scope = f"{counted(len(clusters), 'cluster')}, {counted(partitions, 'partition')}."
    if not incidents:
        return f"{scope} No incidents."
    return f"{scope} {counted(total, 'incident').capitalize()}; the worst: {incidents[0]['title']}."


def key_figures(figures: ReportFigures) -> list[tuple[str, str, str]]:
    """Name, value and remark of each."""
    clusters = figures.rows("clusters")
    worst = clusters[0] if clusters else None
    longest = next(iter(figures.rows("longest")), None)
    errors = _findings(figures, "error")
    warnings = _findings(figures, "warning")
    after_failure = [row for row in figures.rows("elections") if row["after_failure"]]
    slowest = max((row["max_ms"] or 0 for row in after_failure), default=None)
    return [
        (
            "Availability" if len(clusters) < 2 else "Least available cluster",
            percent(worst["availability"]) if worst else "not known",
            f"{nines(worst['nines'])} nines" if worst else "",
        ),
        (
            "Incidents",
            count(figures.tables.get("incidents", len(figures.rows("incidents")))),
            f"in {counted(len(clusters), 'cluster')}",
        ),
        (
            "Longest without leader",
            duration(longest["duration_ms"]) if longest else "never",
            f"{longest['topic']}-{longest['partition']}" if longest else "",
        ),
        (
            "Slowest election",
            duration(slowest) if slowest is not None else "none",
            f"of {sum(row['after_failure'] for row in after_failure):,} after a failure",
        ),
        ("Audit", counted(errors, "error"), counted(warnings, "warning")),
        (
            "Lines read",
            count(figures.lines_in),
            f"{count(figures.quarantined)} not understood",
        ),
    ]


def _findings(figures: ReportFigures, severity: str) -> int:
    return sum(row["findings"] for row in figures.rows("rules") if row["severity"] == severity)
