"""Hunt one mutant: run seeds until one of them shows that something is wrong, or its own tests.

A process of its own, because a mutant lives in imported modules:
`python -m tests.mutants.hunt NAME SEEDS` prints one line of JSON.
"""

import io
import sys
from contextlib import redirect_stdout

import msgspec
import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant, install, is_alive


def hunt(name: str, seed_count: int) -> dict[str, object]:
    """The first seed, or else the test, that catches the mutant; None for both when none does."""
    mutant = next(m for m in MUTANTS if m.name == name)
    install(mutant)
    found = {"mutant": name, "breaks": mutant.breaks, "seed": None, "test": None}
    if mutant.test is not None:
        return found | _try_tests(mutant, mutant.test)
    return found | _try_seeds(mutant, seed_count)


def _try_seeds(mutant: Mutant, seed_count: int) -> dict[str, object]:
    # Only now, with the mutant in place, may the package be imported.
    from regent.sim.checkers import all_checkers  # noqa: PLC0415
    from regent.sim.plan import draw_plan  # noqa: PLC0415
    from regent.sim.run import run  # noqa: PLC0415

    assert is_alive(mutant), f"{mutant.name}: no run ever uses {mutant.module}"
    for seed in range(seed_count):
        outcome = run(draw_plan(seed), all_checkers())
        if outcome.verdict:
            return {
                "seed": seed,
                "verdict": outcome.verdict.name.lower(),
                "checker": outcome.checker,
                "message": outcome.message[:200],
            }
    return {}


def _try_tests(mutant: Mutant, test: str) -> dict[str, object]:
    # To rewrite assertions pytest would load the modules of this package itself, unbroken.
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain")
    with redirect_stdout(io.StringIO()):
        status = pytest.main([*options, test])
    assert is_alive(mutant), f"{mutant.name}: {test} does not use {mutant.module}, or not as broken"
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"{mutant.name}: {test} could not be run: {status}")
    return {"test": test, "checker": test} if status == pytest.ExitCode.TESTS_FAILED else {}


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(hunt(sys.argv[1], int(sys.argv[2]))) + b"\n")
