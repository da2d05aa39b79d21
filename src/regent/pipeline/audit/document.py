"""Writes `docs/audit.md` from the rules, so that the page cannot say anything else.

`python -m regent.pipeline.audit.document` prints it; `make docs` puts it in its place.
"""

import sys
from collections.abc import Iterator
from typing import Final

from regent.pipeline.audit.rule import Rule, Severity
from regent.pipeline.audit.rules import RULES

OPENING: Final = """\
# The audit

The table `violations` lists what a history shows that it must not, or that its reader should know.
A finding names the rule, the partition or broker, the time, the figures, and where to look:
the offending record first, then the records that it contradicts.
This page is generated from `regent.pipeline.audit.rules` by `make docs`.

Nothing here trusts a clock.
What came before what is told by controller epochs and sequence numbers, by leader epochs, and by
the versions of znodes; a clock only says how long something took.

What is not known is never a finding.
Logs of Kafka say less than a journal, so that many rules cannot judge them; the tables below say
which can.
Where records of a controller's reign are lost, that is a finding itself, and the rules marked with
a star find nothing in that reign: what looks wrong may have been right with the records that are
missing.
"""

MEANINGS: Final = {
    Severity.ERROR: "An error must never happen: a controller, or what feeds it, is at fault.",
    Severity.WARNING: "A warning is no fault of the controller; data or service was at risk, or "
    "the history has holes.",
    Severity.NOTE: "A note is worth knowing when the history is read.",
}


def document() -> str:
    """The whole page."""
    return "\n".join((OPENING, *(line for each in Severity for line in _section(each))))


def _section(severity: Severity) -> Iterator[str]:
    yield f"## {severity.title()}s\n"
    yield f"{MEANINGS[severity]}\n"
    yield "| Rule | A finding says | Requirements | Judges | Made from |"
    yield "| --- | --- | --- | --- | --- |"
    yield from (_row(rule) for rule in RULES if rule.severity is severity)
    yield ""


def _row(rule: Rule) -> str:
    star = " \\*" if rule.needs_whole_reign else ""
    judges = "journals and logs" if rule.holds_for_logs else "journals"
    needs = ", ".join(f"`{name}`" for name in rule.needs)
    requirements = ", ".join(rule.requirements)
    return f"| `{rule.name}`{star} | {rule.meaning} | {requirements} | {judges} | {needs} |"


if __name__ == "__main__":
    sys.stdout.write(document())
