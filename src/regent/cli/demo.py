"""`regent demo`: a real cluster loses leaders and its controller, told as it happens."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from regent.cli.printing import STYLES, VERSION, stdout
from regent.errors import BadInput

#: Something that was acknowledged is lost, or the journal does not tell the truth.
EXIT_BROKEN: Final = 2


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the journal here, and have Spark make tables and a report of it.",
        ),
    ] = None,
) -> None:
    """Watch a real cluster of three lose its leaders and its controller, and lose nothing else.

    Brokers, ZooKeeper, a producer and consumers run on this machine for about a minute.
    Exit codes: 0 everything held, 2 something was lost, 64 it could not be shown.
    """
    if out is not None and out.exists() and any(out.iterdir()):
        raise BadInput(f"{out} is not empty; remove it, or give --out another directory")
    need_clients()
    from regent.demo.play import play  # noqa: PLC0415 - it needs the client, and much else

    console = stdout()
    console.print(f"regent {VERSION}: three real brokers, each of which can be the controller")
    ending = play(console, STYLES, journal_to=None if out is None else out / "journal")
    if out is not None:
        report_on(out, console)
    if not ending.is_good:
        raise typer.Exit(EXIT_BROKEN)


def need_clients() -> None:
    """Say what to install when the client is missing; before the demo is imported."""
    if find_spec("confluent_kafka") is None:
        raise BadInput(
            "the demo needs a client of Kafka, which is not installed;"
            " `pip install 'regent[demo]'` brings it"
        )


def report_on(out: Path, console: Console) -> None:
    """What the pipeline makes of the journal, by the very commands that a person would type."""
    from regent.cli.pipeline import run  # noqa: PLC0415
    from regent.cli.pipeline_report import report  # noqa: PLC0415

    journal, tables, page = out / "journal", out / "tables", out / "report.html"
    console.print(f"\n$ regent pipeline run --journal {journal} --cluster demo --out {tables}\n")
    run(out=tables, journal=[str(journal)], cluster="demo")
    console.print(f"\n$ regent pipeline report --tables {tables} --html {page}\n")
    report(tables=tables, html=page)
