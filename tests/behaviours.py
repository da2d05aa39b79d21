"""Which of Kafka's catalogued behaviours the test-suite proves: `python -m tests.behaviours`.

A test names the behaviours it proves with `@pytest.mark.behaviour("psm-002", ...)`. This module
runs all such tests and counts an id as covered only if at least one test that names it passed and
none failed, so a marker alone proves nothing. The summary goes to standard output and
`build/behaviours.json` as JSON, failures and a table for people to standard error.

The exit status is 1 when a marker names an unknown id, a test failed, or a test module could not
be collected; missing behaviours are not a failure.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import pytest
from msgspec import Struct

ROOT: Final = Path(__file__).parents[1]
CATALOGUE: Final = ROOT / "tests" / "catalogue" / "behaviours.jsonl"
DEFERRED: Final = ROOT / "tests" / "catalogue" / "deferred.json"
SUMMARY: Final = ROOT / "build" / "behaviours.json"


class Behaviour(Struct, frozen=True):
    """One line of the catalogue; what it says in full is for people to read there."""

    id: str
    area: str


class AreaSummary(Struct, frozen=True):
    """How much of one area is proven."""

    covered: int
    total: int
    missing: tuple[str, ...]


class Summary(Struct, frozen=True):
    """How much of the catalogue is proven."""

    covered: int
    total: int
    areas: dict[str, AreaSummary]
    missing: tuple[str, ...]
    #: Why those that are missing for a reason are.
    deferred: dict[str, str] = {}
    #: Those that are missing without one.
    unexplained: tuple[str, ...] = ()


class Ledger:
    """A pytest plugin that keeps the marked tests and notes how each ended."""

    def __init__(self) -> None:
        self.ids_by_test: dict[str, tuple[str, ...]] = {}
        self.passed_tests: dict[str, None] = {}
        #: Test or module to what went wrong with it.
        self.failures: dict[str, str] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave only the tests that name a behaviour."""
        for item in items:
            ids = tuple(
                dict.fromkeys(
                    str(behaviour_id)
                    for marker in item.iter_markers("behaviour")
                    for behaviour_id in marker.args
                )
            )
            if ids:
                self.ids_by_test[item.nodeid] = ids
        items[:] = [item for item in items if item.nodeid in self.ids_by_test]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be imported may hide any number of proofs."""
        if report.failed:
            self.failures[report.nodeid] = report.longreprtext

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A failure in any phase is a failure; only the call itself can be a success."""
        if report.failed:
            self.failures[report.nodeid] = report.longreprtext
        elif report.passed and report.when == "call":
            self.passed_tests[report.nodeid] = None

    def unknown_ids(self, catalogue: Iterable[Behaviour]) -> list[str]:
        """What markers name and the catalogue does not have."""
        known = {behaviour.id for behaviour in catalogue}
        return sorted({i for ids in self.ids_by_test.values() for i in ids if i not in known})

    def covered_ids(self) -> frozenset[str]:
        """What some passing test names, and no failing one."""
        proven = {i for test in self.passed_tests for i in self.ids_by_test[test]}
        refuted = {i for test in self.failures for i in self.ids_by_test.get(test, ())}
        return frozenset(proven - refuted)


def read_catalogue(path: Path = CATALOGUE) -> list[Behaviour]:
    """All behaviours, in the order of the file."""
    lines = path.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Behaviour) for line in lines]


def summarise(
    catalogue: Iterable[Behaviour], covered_ids: frozenset[str], reasons: Mapping[str, str]
) -> Summary:
    """Counts by area, and the names of what is missing."""
    areas: dict[str, list[str]] = {}
    for behaviour in catalogue:
        areas.setdefault(behaviour.area, []).append(behaviour.id)
    summaries = {area: _summarise_area(ids, covered_ids) for area, ids in areas.items()}
    missing = tuple(i for area in summaries.values() for i in area.missing)
    return Summary(
        covered=sum(area.covered for area in summaries.values()),
        total=sum(area.total for area in summaries.values()),
        areas=summaries,
        missing=missing,
        deferred={i: reasons[i] for i in missing if i in reasons},
        unexplained=tuple(i for i in missing if i not in reasons),
    )


def read_reasons(path: Path = DEFERRED) -> dict[str, str]:
    """Why some behaviours cannot be proven yet, or never will be, by id."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, str])


def _summarise_area(ids: list[str], covered_ids: frozenset[str]) -> AreaSummary:
    missing = tuple(i for i in ids if i not in covered_ids)
    return AreaSummary(covered=len(ids) - len(missing), total=len(ids), missing=missing)


def to_table(areas: Mapping[str, AreaSummary]) -> str:
    """The counts for people."""
    width = max(map(len, areas), default=0)
    return "".join(
        f"{name:<{width}}  {area.covered:>3} of {area.total:>3}\n" for name, area in areas.items()
    )


def run_marked_tests(paths: Iterable[str] = ("tests",)) -> Ledger:
    """Run every test that names a behaviour, in this process and silently."""
    ledger = Ledger()
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    plugins = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*settings, *plugins, "--continue-on-collection-errors", *paths], plugins=[ledger])
    return ledger


def main() -> int:
    """Run, count, tell."""
    catalogue = read_catalogue()
    ledger = run_marked_tests()
    summary = summarise(catalogue, ledger.covered_ids(), read_reasons())
    text = json.dumps(msgspec.to_builtins(summary), indent=2) + "\n"
    SUMMARY.parent.mkdir(exist_ok=True)
    SUMMARY.write_text(text, encoding="utf-8")
    for subject, reason in ledger.failures.items():
        sys.stderr.write(f"FAILED {subject}\n{reason}\n\n")
    unknown_ids = ledger.unknown_ids(catalogue)
    if unknown_ids:
        sys.stderr.write(f"not in {CATALOGUE.relative_to(ROOT)}: {', '.join(unknown_ids)}\n")
    if sys.stderr.isatty():
        sys.stderr.write(to_table(summary.areas))
    sys.stdout.write(text)
    return 1 if unknown_ids or ledger.failures else 0


if __name__ == "__main__":
    sys.exit(main())
