"""`regent blast-radius`: what would be lost with a broker, a rack, or two brokers at once."""

from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Console

from regent.cli.printing import print_table, stdout
from regent.cli.quantities import read_ids
from regent.cli.spark import MasterOption, need_spark
from regent.dryrun.snapshot import read_snapshot
from regent.errors import BadInput

#: Longer lists are cut on a screen; `--json` has everything.
ROWS_MAX: Final = 20
FIGURES: Final = ("offline", "under_min_isr")


def blast_radius(
    snapshot: Annotated[
        Path, typer.Option(metavar="FILE", help="The cluster: a file from `regent snapshot`.")
    ],
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="ID,ID", help="Which topics would lose what without these brokers."),
    ] = None,
    master: MasterOption = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Count the partitions that a broker, a rack or a pair of brokers would take along.

    Offline: no replica in sync is left. Under min ISR: one is, and writes with acks=all are
    refused. Only what the loss itself brings about is counted.

    Exit codes: 0 answered, 64 the command or a file makes no sense.
    """
    lost = read_ids(without or (), "--without")
    taken = read_snapshot(snapshot)
    known = {broker.id for broker in taken.brokers}
    strangers = [broker_id for broker_id in lost if broker_id not in known]
    if strangers:
        raise BadInput(
            f"--without {strangers[0]}: this broker is not alive in {snapshot}; alive are"
            f" {', '.join(map(str, sorted(known)))}"
        )
    need_spark()
    from regent.pipeline import blast_radius as all_losses  # noqa: PLC0415
    from regent.pipeline import blast_topics, read_layout  # noqa: PLC0415
    from regent.pipeline.session import session_for  # noqa: PLC0415

    with session_for(snapshot.stat().st_size, master) as spark:
        tables = read_layout(spark, str(snapshot))
        rows = _rows(blast_topics(*tables, lost) if lost else all_losses(*tables))
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
    elif lost:
        _print_topics(rows, lost, stdout())
    else:
        _print_losses(rows, stdout())


def _rows(table: Any) -> list[dict[str, Any]]:
    """A table of Spark's, the worst first; no longer than there are pairs of brokers, or topics."""
    rows = [row.asDict() for row in table.drop("cluster").collect()]
    return sorted(rows, key=_harm)


def _harm(row: dict[str, Any]) -> tuple[object, ...]:
    names = [str(row[name]) for name in ("topic", "a", "b") if row.get(name) is not None]
    return -row["offline"], -row["under_min_isr"], [(len(name), name) for name in names]


def _print_losses(rows: list[dict[str, Any]], console: Console) -> None:
    titles = {"broker": "Without a broker", "rack": "Without a rack", "pair": "Without two brokers"}
    for scope, title in titles.items():
        found = [row for row in rows if row["scope"] == scope]
        names = [row["a"] if row["b"] is None else f"{row['a']} and {row['b']}" for row in found]
        _print_worst(f"{title} ({len(found):,})", names, found, console)


def _print_topics(rows: list[dict[str, Any]], lost: list[int], console: Console) -> None:
    ids = ", ".join(map(str, lost))
    if not rows:
        console.print(f"without {ids} no topic loses anything")
        return
    _print_worst(f"Topics without {ids} ({len(rows):,})", [r["topic"] for r in rows], rows, console)


def _print_worst(
    title: str, names: list[str], rows: list[dict[str, Any]], console: Console
) -> None:
    if not rows:
        return
    lines = [
        (name, *(f"{row[figure]:,}" for figure in FIGURES))
        for name, row in zip(names, rows, strict=True)
    ]
    print_table(console, title, ("", "offline", "under min ISR"), lines[:ROWS_MAX])
    if len(lines) > ROWS_MAX:
        console.print(f"  and {len(lines) - ROWS_MAX:,} that are no worse; --json has them all")
        console.print()
