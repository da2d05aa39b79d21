"""What became of each thing that was asked for: a line each, an exit code for all."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import typer
from msgspec import Struct

from regent.cli.bootstrap import EXIT_REFUSED
from regent.cli.printing import print_table, stdout
from regent.client.refusals import explain
from regent.model.admin_requests import PartitionResult, TopicResult
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

#: Longer lists are cut on a screen; `--json` has everything.
ROWS_MAX = 200


class ItemOutcome(Struct, frozen=True):
    """One topic or partition."""

    name: str
    #: One word or two: `created`, `refused`.
    outcome: str
    is_good: bool
    #: Kafka's name of the error, where there was one.
    error: str | None = None
    message: str | None = None


def to_outcomes(
    results: Sequence[TopicResult | PartitionResult],
    *,
    done: str,
    content_with: Mapping[ErrorCode, str],
) -> list[ItemOutcome]:
    """`done` is the word for a success; some errors may be what was wanted, under another word."""
    return [_to_outcome(result, done, content_with) for result in results]


def _to_outcome(
    result: TopicResult | PartitionResult, done: str, content_with: Mapping[ErrorCode, str]
) -> ItemOutcome:
    if isinstance(result, TopicResult):
        name = result.topic
    else:
        name = str(TopicPartition(result.topic, result.partition))
    if result.error is ErrorCode.NONE:
        return ItemOutcome(name, done, is_good=True)
    if result.error in content_with:
        return ItemOutcome(name, content_with[result.error], is_good=True, error=result.error.name)
    message = explain(result.error, result.message)
    return ItemOutcome(name, "refused", is_good=False, error=result.error.name, message=message)


def report(title: str, outcomes: Sequence[ItemOutcome], *, as_json: bool) -> None:
    """Print all, and leave with 1 if anything was refused."""
    if as_json:
        print_as_json({"results": outcomes})
    else:
        print_outcomes(title, outcomes)
    if not all(outcome.is_good for outcome in outcomes):
        raise typer.Exit(EXIT_REFUSED)


def print_outcomes(title: str, outcomes: Sequence[ItemOutcome]) -> None:
    """What was refused comes first, because long lists are cut."""
    console = stdout()
    for outcome in outcomes if len(outcomes) == 1 else ():
        console.print(_say(outcome))
        return
    ordered = sorted(outcomes, key=lambda outcome: outcome.is_good)
    rows = [(each.name, each.outcome, _why(each)) for each in ordered]
    print_rows(title, ("name", "outcome", "why"), rows)


def print_rows(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table, cut where nobody would read on."""
    console = stdout()
    print_table(console, f"{title} ({len(rows):,})", header, rows[:ROWS_MAX])
    if len(rows) > ROWS_MAX:
        console.print(f"  and {len(rows) - ROWS_MAX:,} more; --json has them all")


def print_as_json(value: Any) -> None:
    """For programs."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _say(outcome: ItemOutcome) -> str:
    why = _why(outcome)
    return f"{outcome.name}: {outcome.outcome}{f': {why}' if why else ''}"


def _why(outcome: ItemOutcome) -> str:
    if outcome.is_good and outcome.error is not None:
        return ""  # it was foreseen, and the outcome says it better
    return ": ".join(part for part in (outcome.error, outcome.message) if part)
