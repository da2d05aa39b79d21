"""How a simulation looks on a screen: its plan, its transcript, and what came of it."""

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import zip_longest
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from regent.cli.printing import STYLES, VERSION
from regent.journal.transcript import HEADER, Line
from regent.sim.campaign import CampaignReport
from regent.sim.character import Character
from regent.sim.plan import Plan

COLUMN: Final = 48


def print_transcript(lines: Iterable[Line], console: Console) -> None:
    """The header, then the lines."""
    console.print(HEADER, style="bold")
    for line in lines:
        console.print(Text(str(line), style=STYLES[line.kind]))


def print_plan(plan: Plan, console: Console) -> None:
    """The seed, the version and everything that was drawn, before the first tick."""
    console.print(f"regent {VERSION}, seed {plan.seed}", style="bold")
    for line in describe_character(plan.character):
        console.print(f"  {line}")
    console.print(f"  steps                  {len(plan.steps)}")
    console.print()


def describe_character(character: Character) -> Iterator[str]:
    """Every option, one on a line; a topic with its replicas."""
    for name in character.__struct_fields__:
        value = getattr(character, name)
        if name == "topics":
            continue
        if isinstance(value, Enum):
            value = value.name
        yield f"{name:<21}  {', '.join(value) if isinstance(value, tuple) else value}"
    for topic in character.topics:
        replicas = "  ".join(",".join(map(str, each)) for each in topic.assignment)
        unclean = ", unclean elections allowed" if topic.allows_unclean else ""
        nameless = "" if topic.with_id else ", without id"
        at_s = f"{topic.at_ms / 1000:.3f} s"
        yield f"{topic.name:<21}  from {at_s}, replicas  {replicas}{unclean}{nameless}"


def print_json(report: CampaignReport) -> None:
    """The report for programs."""
    print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())


def print_report(report: CampaignReport, console: Console) -> None:
    """The report for people."""
    seeds = "1 seed" if report.seeds == 1 else f"{report.seeds:,} seeds"
    if report.violations:
        console.print(f"{seeds}, {report.violations:,} did not hold", style="bold red")
    else:
        console.print(f"{seeds}, all held" if report.seeds > 1 else "held", style="bold green")
    console.print(
        f"  {report.simulated_s:,.1f} s simulated in {report.wall_s:,.1f} s"
        f" ({report.simulated_per_real_s:,.0f} times real time), {report.events:,} events"
    )
    console.print(
        f"  {report.failovers:,} failovers, {report.elections:,} leader elections"
        f" ({report.unclean_elections:,} unclean), {report.controller_events:,} controller events,"
        f" {report.control_requests:,} control requests"
    )
    console.print(f"  {report.records_acked:,} records acknowledged")
    if report.seeds > 1:
        _print_counts(report, console)


def _print_counts(report: CampaignReport, console: Console) -> None:
    """Faults on the left, rare paths on the right."""
    console.print()
    console.print(f"  {'faults':<{COLUMN}}rare paths", style="bold")
    rows = zip_longest(report.faults.items(), report.sometimes.items())
    for fault, path in rows:
        line = Text("  ")
        line.append(_count(fault).ljust(COLUMN), style="yellow" if _is_zero(fault) else "")
        line.append(_count(path), style="yellow" if _is_zero(path) else "")
        line.rstrip()
        console.print(line)


def _count(item: tuple[str, int] | None) -> str:
    if item is None:
        return ""
    return f"{item[0]:<34}{item[1] or 'never':>8}"


def _is_zero(item: tuple[str, int] | None) -> bool:
    return item is not None and item[1] == 0
