"""`regent loads`: what partitions carry, measured over Kafka's protocol on any cluster."""

import csv
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count as counting
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from regent.cli.bootstrap import EXIT_CODES, BootstrapOption, TimeoutOption, asking, complain
from regent.cli.printing import stderr, stdout
from regent.cli.quantities import read_seconds, say_amount
from regent.client.loads import COLUMNS, LoadSample, MeasuredLoad, measured
from regent.errors import BadInput, ClusterUnreachable

#: More of what is missing helps nobody on a screen.
GAPS_SHOWN: Final = 3

app = typer.Typer(
    name="loads",
    help="Measure what partitions carry, for plans that balance bytes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def loads() -> None:
    """Keep `sample` a word of its own, although it is alone."""


@app.command(epilog=EXIT_CODES)
def sample(
    bootstrap: BootstrapOption,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the samples go, as CSV.")],
    every: Annotated[str, typer.Option(metavar="TIME", help="How often to look.")] = "10s",
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many looks; else until Ctrl-C.")
    ] = None,
    timeout_s: TimeoutOption = 30,
) -> None:
    """Look at all partitions again and again, and write down their sizes and how fast they grow.

    The first look has sizes only. `regent plan ... --loads DIR` takes what was written; so does
    `regent.pipeline.read_loads`.
    """
    from regent.client.load_sampling import take_sample  # noqa: PLC0415

    every_s = read_seconds(every, "--every")
    before: LoadSample | None = None
    with asking(bootstrap, timeout_s) as cluster, _new_file(out) as file:
        for number in counting(1):
            due_s = time.monotonic() + every_s
            try:
                now = take_sample(cluster, time.time_ns() // 1_000_000)
            except ClusterUnreachable as error:
                if before is None:
                    raise
                complain(str(error))  # it may come back, and the samples so far are good
            else:
                rows = list(measured(now, before))
                _write(rows, file)
                _tell(now, rows)
                before = now
            if number == count:
                break
            time.sleep(max(0.0, due_s - time.monotonic()))
    stdout().print(f"plan with them: regent plan rebalance --snapshot FILE --loads {out}")


@contextmanager
def _new_file(out: Path) -> Iterator[TextIO]:
    """One for each run; several runs into one folder add up."""
    path = out / f"loads-{time.time_ns() // 1_000_000}.csv"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(COLUMNS)
            yield file
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error}") from error


def _write(rows: Iterable[MeasuredLoad], file: TextIO) -> None:
    """What was not measured is left empty. A reader may come at any time, so it is flushed."""
    writer = csv.writer(file)
    for row in rows:
        values = (getattr(row, column) for column in COLUMNS)
        writer.writerow("" if value is None else value for value in values)
    file.flush()


def _tell(taken: LoadSample, rows: list[MeasuredLoad]) -> None:
    at = time.strftime("%H:%M:%S", time.localtime(taken.at_ms / 1_000))
    size = say_amount(sum(row.size_bytes or 0 for row in rows), "bytes")
    rates = [row.bytes_in_per_s for row in rows if row.bytes_in_per_s is not None]
    growth = f", growing by {say_amount(sum(rates), 'bytes/s')}" if rates else ""
    stdout().print(f"{at}  {len(rows):,} partitions, {size} without their copies{growth}")
    for gap in taken.gaps[:GAPS_SHOWN]:
        stderr().print(f"  {gap}", style="yellow")
    if len(taken.gaps) > GAPS_SHOWN:
        stderr().print(f"  and {len(taken.gaps) - GAPS_SHOWN} more gaps", style="yellow")
