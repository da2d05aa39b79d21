"""`regent pipeline report`: finished tables, told on the terminal and as a page."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from regent.cli.printing import stderr, stdout
from regent.cli.spark import MasterOption, need_spark
from regent.errors import BadInput


def report(
    tables: Annotated[
        Path, typer.Option(metavar="DIR", help="The tables, as `regent pipeline run` left them.")
    ],
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page with charts here; it needs no network."),
    ] = None,
    master: MasterOption = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Tell what happened: incidents first, then the figures behind them.

    Exit codes: 0 told, 64 the folder holds no finished tables or the page cannot be written.
    """
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise BadInput(f"{html} cannot be written; give --html a file in a directory that is there")
    need_spark()
    from regent.pipeline.output import OutputFolder  # noqa: PLC0415
    from regent.pipeline.report.figures import gather, load_tables  # noqa: PLC0415
    from regent.pipeline.report.html import render_page  # noqa: PLC0415
    from regent.pipeline.report.summary import print_summary  # noqa: PLC0415
    from regent.pipeline.session import session_for  # noqa: PLC0415

    manifest = OutputFolder(tables).finished()
    with session_for(_bytes_in(tables), master) as spark:
        figures = gather(load_tables(spark, tables), manifest)
    if html is not None:
        html.write_text(render_page(figures), encoding="utf-8")
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())
    else:
        print_summary(figures, stdout())
    if html is not None:
        stderr().print(f"the page is in {html}")


def _bytes_in(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*.parquet"))
