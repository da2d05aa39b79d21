"""Writes `docs/kafka-logs.md` from the grammar, so that the page cannot say anything else.

`python -m regent.pipeline.sources.log_document` prints it; `make docs` puts it in its place.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from regent.journal.record import KINDS
from regent.pipeline.sources.log_clock import JITTER_MS
from regent.pipeline.sources.log_files import NAMES
from regent.pipeline.sources.log_grammar import GRAMMAR
from regent.pipeline.sources.log_lines import PLACES
from regent.pipeline.sources.log_shapes import LOG_KINDS, ShapeTable
from regent.pipeline.sources.log_values import VALUES

OPENING: Final = """\
# Reading Kafka's own logs

The pipeline reads what real Kafka brokers wrote: `state-change.log` and `controller.log`.
Releases from 0.8.1 to 3.9 are known.
Brokers of 0.10.2, 1.1, 2.4, 2.8 and 3.9 wrote the logs that tests read, with every line on.
`make kafka-logs` lets them write such logs again.
This page is generated from the grammar in `regent.pipeline.sources` by `make docs`.

## Files

Give files, directories or patterns.
In directories these are taken: {names}; rotated and gzipped ones too.
A file is gzipped when its content says so, whatever its name.
Give both logs of every broker that was controller, and those of the other brokers if you have them.
Since 2.6 Kafka writes less by default.
Moves of replicas, what requests say of partitions, and partitions that go offline are missing then.
Set the level of `state.change.logger` to TRACE if you want those.

Times in logs are local and name no zone, so say which one it is.
An hour that comes twice is told apart by the order of the lines: time does not go back in a file.
A step back of less than {jitter_ms} ms is taken for two threads that logged at once.

## Lines

A line is `[2024-11-05 07:45:59,003] INFO [Controller id=1 epoch=2] Sentence (state.change.logger)`.
Before 1.0 the speaker stood in the sentence: `Controller 1 epoch 2 sentence`, `Broker 1 sentence`.
A stack trace, and blank lines, belong to the line before them.
If that line says that a move failed, the first line of the trace becomes its `reason`.

Every other line is quarantined with file, line number and reason, so that it can be looked at.
It is not UTF-8, has another layout, is from another logger, or has a sentence that is not below.
A gzipped file that breaks off gives its lines up to there, and one more in quarantine that says so.
`lines = parsed + quarantined` holds for every file.

## Columns

`source` is `log`, `file` and `line` find the line again.
`reporter_id` is the node whose log it is, `controller_id` the controller that it is about.
For a line of a controller these are the same.
For a line of a broker the controller is the one that sent the request.
A line that names no epoch has the one that its node named last.

`sequence` is the node's own time in milliseconds times {places}, plus the place within it.
It never goes back within a file, and so merges the logs of one node by that node's clock.
Clocks of different nodes are not compared: the order of things is (`controller_epoch`, `sequence`).

Before 1.0 an election named only the leader.
Its epoch and ISR are taken from the first request about that partition that follows.
Without one, the line is a `partition_moved` to `OnlinePartition`.
Since 3.2 an election is `unclean` when the leader is RECOVERING and alone in the ISR.
Before 1.0 it is when `controller.log` warned of data loss.
Between 1.0 and 3.1 no line tells, and `unclean` is null.

Lines that name several brokers, topics or partitions give one row for each.
Only an UpdateMetadata line about one partition gives one row, without its many brokers.

## Clocks

`regent.pipeline.clock_skew` finds how far the clocks of brokers are apart.
A request is sent, received and answered in this order, which bounds the offset on both sides.
Answers are logged at TRACE only.
Without them only two nodes that both were controller have bounds on both sides.
Times are corrected only where the bounds rule out that the clocks agree.
"""

_OPTIONAL: Final = re.compile(r"<<(.*?)>>")
_VALUE: Final = re.compile(r"\{(\w+)\}")


def document() -> str:
    """The whole page."""
    sections = (
        OPENING.format(
            names=", ".join(f"`{name}`" for name in NAMES),
            jitter_ms=JITTER_MS,
            places=f"{PLACES:,}",
        ),
        *("\n".join(_shapes_section(table)) for table in GRAMMAR),
        "\n".join(_values_section()),
        "\n".join(_kinds_section()),
    )
    return "\n".join(sections)


def readable(template: str) -> str:
    """A template as a person writes it: `<value>`, and `[words that may be missing]`."""
    return _VALUE.sub(r"<\1>", _OPTIONAL.sub(r"[\1]", template))


def _shapes_section(table: ShapeTable) -> Iterator[str]:
    yield f"## What a {table.who} {table.does} in {table.file}\n"
    rows = [
        (
            f"`{shape.name}`",
            f"{shape.since} to {shape.until}",
            shape.levels,
            f"`{readable(shape.template)}`",
            ", ".join(f"`{kind}`" for kind in shape.kinds),
        )
        for shape in table.shapes
    ]
    yield from _table(("Shape", "Kafka", "Level", "Sentence", "Becomes"), rows)


def _values_section() -> Iterator[str]:
    yield "## Values\n"
    rows = [(f"`<{name}>`", value.shape) for name, value in sorted(VALUES.items())]
    yield from _table(("Value", "Looks like"), rows)


def _kinds_section() -> Iterator[str]:
    yield "## Kinds\n"
    yield "Where a line says what [the journal](journal.md) would say, it has the journal's kind:\n"
    used = {kind for table in GRAMMAR for shape in table.shapes for kind in shape.kinds}
    yield ", ".join(f"`{kind}`" for kind in KINDS if kind in used) + ".\n"
    yield "Only logs have these:\n"
    yield from _table(("Kind", "Says"), [(f"`{kind}`", says) for kind, says in LOG_KINDS.items()])


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    yield from (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    )
    yield ""


if __name__ == "__main__":
    sys.stdout.write(document())
