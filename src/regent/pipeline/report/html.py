"""The report as one page that needs nothing but a browser: no network, no other file."""

from importlib.resources import files
from string import Template
from typing import Final

import msgspec
from plotly.offline import get_plotlyjs

from regent.pipeline.report.charts import all_charts
from regent.pipeline.report.evidence import look_up, places_in
from regent.pipeline.report.figures import ReportFigures
from regent.pipeline.report.headlines import key_figures, verdict
from regent.pipeline.report.markup import Markup, element, nothing, text, together
from regent.pipeline.report.sections import SECTIONS, Section, Texts

ASSETS: Final = files("regent.pipeline.report") / "assets"


def render_page(figures: ReportFigures) -> str:
    """The whole page."""
    texts = look_up(places_in([*figures.rows("incidents"), *figures.rows("findings")]))
    return Template(_asset("page.html")).substitute(
        style=_asset("page.css"),
        plotly=get_plotlyjs(),
        script=_asset("page.js"),
        charts=as_json(all_charts(figures)),
        navigation=element(
            "nav", *(element("a", each.title, href=f"#{each.anchor}") for each in SECTIONS)
        ),
        verdict=text(verdict(figures)),
        figures=together(_tile(*figure) for figure in key_figures(figures)),
        sections=together(_section(each, figures, texts) for each in SECTIONS),
    )


def as_json(value: object) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    return (
        msgspec.json.encode(value)
        .decode()
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
    )


def _section(section: Section, figures: ReportFigures, texts: Texts) -> Markup:
    body = (
        section.write(figures, texts)
        if figures.has(section.needs)
        else nothing("The tables for this were not made.")
    )
    return element(
        "section",
        element("h2", section.title),
        element("p", section.lead, class_="lead"),
        body,
        id=section.anchor,
    )


def _tile(name: str, value: str, remark: str) -> Markup:
    return element(
        "div",
        element("dt", name),
        element("dd", value, element("small", remark)),
        class_="tile",
    )


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
