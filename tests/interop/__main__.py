"""`make interop`: Regent leads real Apache Kafka; what came of it goes to build/interop.json."""

import json
import sys
from collections import Counter
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pytest

RESULT: Final = Path("build/interop.json")
#: Figures of tests that are added up over the whole run.
ADDED: Final = ("hand_overs", "acknowledged", "lost")


class Summary:
    """Listens to a run of pytest."""

    def __init__(self) -> None:
        self._began_s = monotonic()
        self._outcomes: Counter[str] = Counter()
        self._by_mode: dict[str, Counter[str]] = {}
        self._figures: Counter[str] = Counter(dict.fromkeys(ADDED, 0))
        self._reasons: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Once for each of set-up, call and end; a test counts once."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            told = dict(report.user_properties)
            self._outcomes[report.outcome] += 1
            mode = str(told.get("mode", "any"))
            self._by_mode.setdefault(mode, Counter())[report.outcome] += 1
            for name in ADDED:
                self._figures[name] += int(str(told.get(name, 0)))
        if report.skipped and isinstance(report.longrepr, tuple):
            self._reasons[str(report.longrepr[2])] = None

    def to_json(self) -> dict[str, Any]:
        """All that is worth keeping."""
        return {
            "tests": dict(self._outcomes),
            "versions": {mode: dict(counts) for mode, counts in self._by_mode.items()},
            **self._figures,
            "skipped_because": list(self._reasons),
            "seconds": round(monotonic() - self._began_s, 1),
        }


def main() -> int:
    """The exit code is pytest's."""
    summary = Summary()
    chosen = ["-m", "interop", "--timeout", "1200", "tests/interop"]
    code = pytest.main([*chosen, *sys.argv[1:]], plugins=[summary])
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(summary.to_json(), indent=2) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
