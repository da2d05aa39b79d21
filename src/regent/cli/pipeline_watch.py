"""`regent pipeline watch`: alerts from journals that are still being written."""

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from regent.cli.printing import stderr, stdout
from regent.cli.spark import MasterOption, need_spark

EXIT_DIED: Final = 1
#: In a storm nobody reads more; all of them are in the file.
SHOWN_MAX: Final = 20
STYLES: Final[Mapping[str, str]] = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def watch(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    journal: Annotated[
        list[str],
        typer.Option(metavar="DIR", help="Where controllers write their journals."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Alerts and tables go to DIR/live, so it resumes.")
    ],
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Post alerts there as JSON as well.")
    ] = None,
    from_start: Annotated[
        bool, typer.Option(help="Watch what was written before as well, and not from now on.")
    ] = False,
    interval_s: Annotated[
        float, typer.Option(min=0.1, help="How often the journals are looked at.")
    ] = 1,
    offline_longer_than_s: Annotated[
        float, typer.Option(min=0, help="Nobody leading for longer is an alert.")
    ] = 30,
    min_isr: Annotated[
        int, typer.Option(min=1, help="min.insync.replicas; fewer in sync is an alert.")
    ] = 1,
    once: Annotated[
        bool, typer.Option("--once", help="Read to where the journals end now, then exit.")
    ] = False,
    master: MasterOption = "local[*]",
) -> None:
    """Tell at once what is worth waking somebody for, until stopped.

    regent pipeline watch --journal /var/lib/regent/journal --out tables

    Exit codes: 0 stopped or done, 1 a query died (it says why), 64 used wrongly.
    """
    need_spark()
    from regent.pipeline.live.folder import LiveFolder  # noqa: PLC0415
    from regent.pipeline.session import session_for  # noqa: PLC0415
    from regent.pipeline.settings import Settings  # noqa: PLC0415
    from regent.pipeline.watch import QueryDied, WatchPlan  # noqa: PLC0415
    from regent.pipeline.watch import watch as watch_journals  # noqa: PLC0415

    asked = WatchPlan(
        journals=tuple(journal),
        folder=LiveFolder(out),
        limits=Settings(
            min_isr=min_isr, offline_longer_than_ms=round(offline_longer_than_s * 1000)
        ),
        from_start=from_start,
        interval_s=interval_s,
        is_once=once,
        webhook=webhook,
        on_alerts=_print_alerts,
        on_news=lambda news: stderr().print(news),
    )
    with asked.folder.held(), session_for(0, master) as spark, _until_stopped() as stopping:
        try:
            watch_journals(spark, asked, stopping)
        except QueryDied as error:
            stderr().print(str(error), style="bold red")
            raise typer.Exit(EXIT_DIED) from error


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set; Spark's own handlers would stop in mid-air."""
    stopping = threading.Event()
    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {
        number: signal.signal(number, lambda _number, _frame: stopping.set()) for number in wanted
    }
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_alerts(alerts: Sequence[Mapping[str, Any]], file: Path) -> None:
    console = stdout()
    for alert in alerts[:SHOWN_MAX]:
        console.print(Text(_line(alert), style=STYLES[alert["severity"]]))
    if len(alerts) > SHOWN_MAX:
        console.print(f"and {len(alerts) - SHOWN_MAX:,} more in {file}")


def _line(alert: Mapping[str, Any]) -> str:
    at = datetime.fromtimestamp(alert["at_ms"] / 1000, tz=UTC).strftime("%H:%M:%S")
    about = alert["cluster"]
    if alert["topic"] is not None:
        about = f"{about} {alert['topic']}-{alert['partition']}"
    return f"{at} {alert['severity']:<8}{about}  {alert['rule']}: {alert['detail']}"
