"""How a plan looks on a screen."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import Console

from regent.cli.printing import print_table
from regent.cli.quantities import say_amount

if TYPE_CHECKING:
    from regent.cli.plan import MadePlan
    from regent.pipeline.plans.summary import BrokerShare, PlanSummary

#: Longer lists are cut on a screen; `--json` has everything.
ROWS_MAX: Final = 20


def print_made_plan(made: "MadePlan", console: Console) -> None:
    """What it is for, how even it gets, what it costs, and what is wrong with it."""
    summary = made.summary
    console.print(
        f"{summary.goal}, by {summary.by}: {len(summary.brokers):,} brokers,"
        f" {summary.partitions:,} partitions",
        style="bold",
    )
    for note in summary.notes:
        console.print(f"note: {note}", style="yellow")
    console.print()
    print_table(console, "Balance (1 is the mean)", ("", "before", "after"), _evenness(summary))
    print_table(console, "Cost", ("", "this plan"), list(_cost(summary)))
    _print_verdict(made, console)
    _print_brokers(summary, console)
    _print_waves(made, console)
    for path, count in made.files.items():
        console.print(f"wrote {path} ({count:,} partitions)")


def _evenness(summary: "PlanSummary") -> list[tuple[str, ...]]:
    before, after = summary.before, summary.after
    return [
        ("fullest broker", f"{before.max_over_mean:.3f}", f"{after.max_over_mean:.3f}"),
        ("emptiest broker", f"{before.min_over_mean:.3f}", f"{after.min_over_mean:.3f}"),
        (
            "standard deviation",
            f"{before.stddev_over_mean:.3f}",
            f"{after.stddev_over_mean:.3f}",
        ),
    ]


def _cost(summary: "PlanSummary") -> Iterator[tuple[str, str]]:
    yield "partitions changed", f"{summary.partitions_changed:,}"
    yield "replicas to copy", f"{summary.replicas_to_copy:,}"
    if summary.bytes_to_copy is not None:
        yield "bytes to copy", say_amount(summary.bytes_to_copy, "bytes")
    if summary.ratio is not None:
        yield f"moved ({summary.unit})", say_amount(summary.moved, summary.unit)
        yield "no plan moves less than", say_amount(summary.bound, summary.unit)
        yield (
            "gap",
            f"{summary.ratio - 1:.1%}" if summary.reaches_goal else "the goal is not reached",
        )


def _print_verdict(made: "MadePlan", console: Console) -> None:
    summary = made.summary
    low, high = (say_amount(bound, summary.unit) for bound in (summary.band_low, summary.band_high))
    if summary.in_band:
        console.print(f"all brokers end in the band, {low} to {high}", style="green")
    else:
        style = "yellow" if summary.reaches_goal else "bold red"
        console.print(f"not all brokers end in the band, {low} to {high}:", style=style)
    for reason in summary.why_not:
        console.print(f"  {reason}")
    console.print()


def _print_brokers(summary: "PlanSummary", console: Console) -> None:
    header = ("broker", "rack", "before", "after", "replicas", "first in", "in", "out")
    changed = sorted(summary.brokers, key=lambda each: -(each.replicas_in + each.replicas_out))
    shown = sorted(changed[:ROWS_MAX], key=lambda each: each.broker_id)
    rows = [_row(share, summary.unit) for share in shown]
    print_table(console, "Brokers", header, rows)
    if len(changed) > ROWS_MAX:
        console.print(f"  and {len(changed) - ROWS_MAX:,} more; --json has them all")
        console.print()


def _row(share: "BrokerShare", unit: str) -> tuple[str, ...]:
    return (
        str(share.broker_id) if share.is_live else f"{share.broker_id} (dead)",
        share.rack or "",
        say_amount(share.load_before, unit),
        say_amount(share.load_after, unit),
        _arrow(share.replicas_before, share.replicas_after),
        _arrow(share.leaders_before, share.leaders_after),
        f"{share.replicas_in:,}" if share.replicas_in else "",
        f"{share.replicas_out:,}" if share.replicas_out else "",
    )


def _arrow(before: int, after: int) -> str:
    return f"{before:,}" if before == after else f"{before:,} -> {after:,}"


def _print_waves(made: "MadePlan", console: Console) -> None:
    if not made.waves:
        console.print("there is nothing to move")
        return
    header = ("wave", "partitions", "replicas to copy", "bytes to copy")
    rows = [
        (
            str(number),
            f"{wave.partitions:,}",
            f"{wave.replicas_to_copy:,}",
            "" if wave.bytes_to_copy is None else say_amount(wave.bytes_to_copy, "bytes"),
        )
        for number, wave in enumerate(made.waves, start=1)
    ]
    print_table(console, "Waves", header, rows[:ROWS_MAX])
    if len(rows) > ROWS_MAX:
        console.print(f"  and {len(rows) - ROWS_MAX:,} more")
        console.print()
    if made.findings:
        console.print("the dry run of the waves broke something; no file was written:", style="red")
    else:
        console.print("the dry run of all waves broke nothing", style="green")
    for finding in made.findings[:ROWS_MAX]:
        console.print(f"  wave {finding.wave}: {finding.partition}: {finding.detail}")
    if len(made.findings) > ROWS_MAX:
        console.print(f"  and {len(made.findings) - ROWS_MAX:,} more; --json has them all")
