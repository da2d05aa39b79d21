"""`python -m tests.museum`: the page on the faults of Kafka's history, made from the tests.

For every fault of the catalogue it says which test provokes it and which mutant brings it back, or
why it cannot exist here. A fault with none of these is an error.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.mutants.catalogue import MUTANTS

HERE: Final = Path(__file__).parent
TESTS: Final = HERE.parent
FAULTS: Final = TESTS / "catalogue" / "faults.jsonl"

OPENING: Final = (
    "# The museum\n\n"
    "Faults that Kafka's controller really had, and what became of each of them here.\n"
    "Made by `make docs` from the tests that carry the fault's number, the mutants that bring it "
    "back, and the reasons why some cannot exist in this design.\n\n"
)


def page() -> str:
    """The whole page."""
    faults = [json.loads(line) for line in FAULTS.read_text(encoding="utf-8").splitlines()]
    tests, reasons = tests_by_fault(), reasons_by_fault()
    mutants: dict[str, list[str]] = {}
    for mutant in MUTANTS:
        if mutant.fault is not None:
            mutants.setdefault(mutant.fault, []).append(mutant.name)
    known = {fault["id"] for fault in faults}
    unknown = sorted({*tests, *reasons, *mutants} - known)
    if unknown:
        raise SystemExit(f"there are no such faults in {FAULTS.name}: {', '.join(unknown)}")
    homeless = [f["id"] for f in faults if f["id"] not in tests and f["id"] not in reasons]
    if homeless:
        raise SystemExit(f"neither a test nor a reason for {', '.join(homeless)}")
    summary = (
        f"{len(faults)} faults: {len(tests)} provoked by tests, "
        f"{len(mutants)} brought back by mutants, {len(set(reasons) - set(tests))} with a reason.\n"
    )
    sections = [
        _section(fault, tests.get(fault["id"], []), mutants.get(fault["id"], []), reasons)
        for fault in faults
    ]
    return OPENING + summary + "".join(sections)


def _section(
    fault: dict[str, Any], tests: list[str], mutants: list[str], reasons: dict[str, str]
) -> str:
    lines = [
        f"\n## {fault['id']} {fault['title']}\n\n",
        f"{fault['happened']}\n\n",
        f"- **What must hold:** {fault['invariant']}\n",
    ]
    lines += [f"- **Provoked by** `{test}`\n" for test in tests]
    lines += [f"- **Brought back by the mutant** `{mutant}`\n" for mutant in mutants]
    if fault["id"] in reasons:
        lines.append(f"- **Why not, or not all of it:** {reasons[fault['id']]}\n")
    return "".join(lines)


def tests_by_fault() -> dict[str, list[str]]:
    """The tests that carry a fault's number, by number."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for fault in _faults_of(node):
                    where = path.relative_to(TESTS.parent).as_posix()
                    found.setdefault(fault, []).append(f"{where}::{node.name}")
    return found


def _faults_of(test: ast.FunctionDef) -> Iterator[str]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.fault":
            for argument in decorator.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value)


def reasons_by_fault() -> dict[str, str]:
    """Why a fault cannot exist here, or waits for what is not there yet, by number."""
    reasons: dict[str, str] = {}
    for path in sorted(HERE.glob("reasons_*.json")):
        reasons.update(json.loads(path.read_text(encoding="utf-8")))
    return reasons


if __name__ == "__main__":
    sys.stdout.write(page())
