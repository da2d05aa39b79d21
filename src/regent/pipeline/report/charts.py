"""The charts of the page, as the plain objects that plotly.js draws.

Colours are named after the page's style sheet (`var(--bad)`) and looked up by the page, so that a
chart follows light and dark. Names come from a cluster and are not to be trusted: plotly reads a
little HTML in labels, so every name goes through `plain`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from regent.pipeline.report import questions
from regent.pipeline.report.figures import ReportFigures, Rows
from regent.pipeline.report.wording import (
    brokers,
    count,
    date,
    duration,
    moment,
    percent,
    shortened,
    strategy,
)

Chart: TypeAlias = dict[str, Any]

ROW_PX: Final = 22
#: How much of its row a bar fills, where several share one.
BAR_WIDTH: Final = 0.75
#: Above and below the rows of a chart.
FRAME_PX: Final = 90
SERIES_COLOURS: Final = 8

#: The conditions of a partition as the legend says them, from good to bad.
# fmt: off
CONDITIONS: Final[Mapping[str, tuple[str, str]]] = {
    questions.ONLINE:           ("in order",         "var(--quiet)"),
    questions.UNDER_REPLICATED: ("under-replicated", "var(--notice)"),
    questions.UNDER_MIN_ISR:    ("under min ISR",    "var(--warn)"),
    questions.LEADERLESS:       ("without a leader", "var(--bad)"),
}
# fmt: on


def all_charts(figures: ReportFigures) -> dict[str, Chart]:
    """Every chart that there is something to draw in, by the name of its place on the page."""
    made = {
        "timeline": timeline(figures),
        "availability": availability(figures),
        "latency": latency(figures.rows("latencies")),
        "reigns": reigns(figures.rows("reigns")),
        "shares": shares(figures),
        "ginis": ginis(figures.rows("ginis")),
        "churn": churn(figures),
        "blast-offline": blast(figures.rows("blast"), "offline"),
        "blast-under": blast(figures.rows("blast"), "under_min_isr"),
    }
    return {name: chart for name, chart in made.items() if chart["data"]}


def plain(text: str) -> str:
    """A name as it is: what plotly would take for markup is written as an entity."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def timeline(figures: ReportFigures) -> Chart:
    """Condition of each partition over time, the worst partition on top."""
    rows = figures.rows("timeline")
    names = list(dict.fromkeys(figures.partition_label(row) for row in rows))
    place = {name: number for number, name in enumerate(names)}
    data = []
    for condition, (label, colour) in CONDITIONS.items():
        mine = [row for row in rows if row["condition"] == condition]
        if mine:
            data.append(
                _bars(
                    label,
                    colour,
                    y=[place[figures.partition_label(row)] for row in mine],
                    x=[row["end_ms"] - row["start_ms"] for row in mine],
                    base=[date(row["start_ms"]) for row in mine],
                    hover=[
                        _interval_words(figures.partition_label(row), label, row) for row in mine
                    ],
                )
            )
    layout = _rows_layout(names)
    layout["xaxis"] = {"type": "date", "showgrid": True}
    return {"data": data, "layout": layout | {"barmode": "overlay"}}


def _interval_words(name: str, label: str, row: Mapping[str, Any]) -> str:
    leader = row["leader"] if row["leader"] is not None and row["leader"] >= 0 else "none"
    return (
        f"<b>{plain(name)}</b> {label}<br>"
        f"{moment(row['start_ms'])}, for {duration(row['end_ms'] - row['start_ms'])}<br>"
        f"leader {leader}, in sync {brokers(row['isr'])}"
    )


def availability(figures: ReportFigures) -> Chart:
    """Share of its time that each topic was not in order."""
    topics = figures.rows("topics")
    hurt = [row for row in topics if any(row[name] for name in questions.HARM) and row["total_ms"]]
    names = [figures.partition_label(row) for row in hurt]
    data = [
        _bars(
            label,
            colour,
            y=list(range(len(hurt))),
            x=[100 * row[f"{condition}_ms"] / row["total_ms"] for row in hurt],
            hover=[
                f"<b>{plain(name)}</b> {label}<br>"
                f"{percent(row[f'{condition}_ms'] / row['total_ms'])} of its time,"
                f" {duration(row[f'{condition}_ms'])} in all partitions together"
                for name, row in zip(names, hurt, strict=True)
            ],
        )
        for condition, (label, colour) in reversed(list(CONDITIONS.items()))
        if condition != questions.ONLINE and hurt
    ]
    layout = _rows_layout(names, row_px=36)
    layout["xaxis"] = {"ticksuffix": " %", "showgrid": True, "rangemode": "tozero"}
    return {"data": data, "layout": layout | {"barmode": "group", "bargap": 0.3}}


def latency(rows: Rows) -> Chart:
    """How many elections took about how long, by strategy."""
    kinds = list(dict.fromkeys((row["strategy"], bool(row["unclean"])) for row in rows))
    if not rows:
        return {"data": [], "layout": {}}
    first = min(row["bucket"] for row in rows)
    last = max(row["bucket"] for row in rows)
    buckets = range(first, last + 1)
    edges = [round(10 ** (each / questions.BUCKETS_PER_DECADE)) for each in range(first, last + 2)]
    data = []
    for number, (kind, unclean) in enumerate(kinds):
        found = {
            row["bucket"]: row["elections"]
            for row in rows
            if (row["strategy"], bool(row["unclean"])) == (kind, unclean)
        }
        name = strategy(kind, unclean=unclean)
        data.append(
            {
                "type": "bar",
                "name": plain(name),
                "x": [duration(edge) for edge in edges[:-1]],
                "y": [found.get(bucket, 0) for bucket in buckets],
                "marker": {"color": "var(--bad)" if unclean else _series(number)},
                "hovertemplate": f"from %{{x}}: %{{y}} elections<extra>{plain(name)}</extra>",
            }
        )
    layout = {
        "barmode": "stack",
        "bargap": 0.08,
        "xaxis": {"type": "category", "title": {"text": "from failure to new leader, at least"}},
        "yaxis": {"title": {"text": "elections"}, "showgrid": True, "rangemode": "tozero"},
        "height": 320,
    }
    return {"data": data, "layout": layout}


def reigns(rows: Rows) -> Chart:
    """Who was in office when; a row for each broker, or for each cluster when there are several."""
    has_clusters = len({row["cluster"] for row in rows}) > 1

    def row_name(row: Mapping[str, Any]) -> str:
        return str(row["cluster"]) if has_clusters else f"broker {row['controller_id']}"

    shown = [row for row in rows if row["elected_ms"] is not None]
    names = sorted({row_name(row) for row in shown})
    place = {name: number for number, name in enumerate(names)}
    data = []
    for number, controller in enumerate(sorted({row["controller_id"] for row in shown})):
        mine = [row for row in shown if row["controller_id"] == controller]
        data.append(
            _bars(
                f"broker {controller}",
                _series(number),
                y=[place[row_name(row)] for row in mine],
                x=[max(_reign_end(row) - row["elected_ms"], 0) for row in mine],
                base=[date(row["elected_ms"]) for row in mine],
                hover=[
                    f"<b>epoch {row['controller_epoch']}</b>, broker {controller}<br>"
                    f"from {moment(row['elected_ms'])},"
                    f" {duration(max(_reign_end(row) - row['elected_ms'], 0))}<br>"
                    f"{count(row['elections'])} elections, {count(row['requests'])} requests"
                    for row in mine
                ],
            )
        )
    layout = _rows_layout(names)
    layout["xaxis"] = {"type": "date", "showgrid": True}
    return {"data": data, "layout": layout | {"barmode": "overlay"}}


def _reign_end(row: Mapping[str, Any]) -> int:
    ends = (row["end_ms"], row["last_record_ms"], row["elected_ms"])
    return int(next(end for end in ends if end is not None))


def shares(figures: ReportFigures) -> Chart:
    """Leaders on each broker at the first look and at the last."""
    rows = figures.rows("shares")
    names = [figures.broker_label(row) for row in rows]
    if not rows:
        return {"data": [], "layout": {}}
    looks = (("before", "at first", "var(--quiet-strong)"), ("after", "at last", _series(0)))
    data: list[Chart] = [
        {
            "type": "bar",
            "name": label,
            "x": [plain(shortened(name)) for name in names],
            "y": [row[look]["leaders"] for row in rows],
            "marker": {"color": colour},
            "hovertemplate": f"%{{x}}: leads %{{y}} {label}<extra></extra>",
        }
        for look, label, colour in looks
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "if all led who should",
            "x": [plain(shortened(name)) for name in names],
            "y": [row["after"]["preferred"] for row in rows],
            "marker": {"color": "var(--ink)", "symbol": "line-ew-open", "size": 14},
            "hovertemplate": "%{x}: %{y} partitions prefer it<extra></extra>",
        }
    )
    layout = {
        "barmode": "group",
        "xaxis": {"type": "category", "tickangle": "auto"},
        "yaxis": {"title": {"text": "partitions led"}, "showgrid": True, "rangemode": "tozero"},
        "height": 340,
    }
    return {"data": data, "layout": layout}


def ginis(rows: Rows) -> Chart:
    """How uneven leadership was over time, for the first few clusters."""
    clusters = list(dict.fromkeys(row["cluster"] for row in rows))[:SERIES_COLOURS]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(shortened(str(cluster))),
            "x": [date(row["at_ms"]) for row in rows if row["cluster"] == cluster],
            "y": [row["leader_gini"] for row in rows if row["cluster"] == cluster],
            "line": {"color": _series(number), "width": 2, "shape": "hv"},
            "hovertemplate": "%{x}: %{y:.3f}<extra></extra>",
        }
        for number, cluster in enumerate(clusters)
    ]
    layout = {
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": "Gini of leaders"}, "showgrid": True, "rangemode": "tozero"},
        "height": 300,
        "showlegend": len(clusters) > 1,
    }
    return {"data": data, "layout": layout}


def churn(figures: ReportFigures) -> Chart:
    """How often replicas on each broker left an ISR."""
    hurt = [row for row in figures.rows("churn") if row["left"]]
    names = [figures.broker_label(row) for row in hurt]
    data = [
        _bars(
            "left an ISR",
            "var(--warn)",
            y=list(range(len(hurt))),
            x=[row["left"] for row in hurt],
            hover=[
                f"<b>{plain(name)}</b><br>left {count(row['left'])} times,"
                f" joined {count(row['joined'])} times<br>"
                f"{count(row['partitions'])} partitions, out for {duration(row['out_ms'])}"
                for name, row in zip(names, hurt, strict=True)
            ],
        )
    ]
    layout = _rows_layout(names)
    layout["xaxis"] = {"title": {"text": "times out of an ISR"}, "showgrid": True}
    return {"data": data if hurt else [], "layout": layout | {"showlegend": False}}


def blast(rows: Rows, figure: str) -> Chart:
    """Partitions lost with each pair of brokers; the diagonal is one broker alone."""
    alone = {row["a"]: row[figure] for row in rows if row["scope"] == "broker"}
    together = {(row["a"], row["b"]): row[figure] for row in rows if row["scope"] == "pair"}
    ids = sorted(alone, key=_as_number)
    losses = [
        [alone[a] if a == b else together.get((a, b), together.get((b, a), 0)) for b in ids]
        for a in ids
    ]
    names = [plain(shortened(each, 12)) for each in ids]
    axis = {"type": "category", "tickangle": 0, "showgrid": False}
    worst = max((cell for line in losses for cell in line), default=0)
    data = [
        {
            "type": "heatmap",
            "x": names,
            "y": names,
            "z": losses,
            "zmin": 0,
            "zmax": max(worst, 1),
            "xgap": 1,
            "ygap": 1,
            "colorscale": [[0, "var(--cold)"], [1, "var(--bad)"]],
            "colorbar": {"thickness": 10, "outlinewidth": 0, "dtick": max(1, -(-worst // 5))},
            "hovertemplate": "brokers %{y} and %{x}: %{z} partitions<extra></extra>",
        }
    ]
    layout = {
        "xaxis": axis,
        "yaxis": axis | {"autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
        "height": 420,
        "showlegend": False,
    }
    return {"data": data if ids else [], "layout": layout}


# --- what charts have in common ---------------------------------------------------------------


def _bars(  # noqa: PLR0913 - the parts of a trace
    name: str,
    colour: str,
    *,
    y: Sequence[int],
    x: Sequence[float],
    hover: Iterable[str],
    base: Sequence[str] | None = None,
) -> Chart:
    """Lying bars, one for each value."""
    bars = {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": list(x),
        "y": list(y),
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": list(hover),
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    # Intervals share a row; left alone, plotly makes those wider that have few rows between them.
    return bars if base is None else bars | {"base": list(base), "width": BAR_WIDTH}


def _rows_layout(names: Sequence[str], row_px: int = ROW_PX) -> Chart:
    """Names down the side, the first on top; numbers stand for them, as two may look alike."""
    return {
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [plain(shortened(name)) for name in names],
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "fixedrange": True,
        },
        "height": FRAME_PX + row_px * max(len(names), 2),
    }


def _series(number: int) -> str:
    return f"var(--series-{number % SERIES_COLOURS + 1})"


def _as_number(broker_id: str) -> tuple[int, str]:
    return (int(broker_id), "") if broker_id.isdecimal() else (2**31, broker_id)
