"""Hunt one mutant: run seeds until one of them shows that something is wrong.

A process of its own, because a mutant lives in imported modules:
`python -m tests.mutants.hunt NAME SEEDS` prints one line of JSON.
"""

import sys

import msgspec

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import install


def hunt(name: str, seed_count: int) -> dict[str, object]:
    """The first seed that catches the mutant, and how; None when all of them hold."""
    mutant = next(m for m in MUTANTS if m.name == name)
    install(mutant)
    # Only now may the package be imported.
    from regent.sim.checkers import all_checkers  # noqa: PLC0415
    from regent.sim.plan import draw_plan  # noqa: PLC0415
    from regent.sim.run import run  # noqa: PLC0415

    assert mutant.module in sys.modules, f"{name}: no run ever uses {mutant.module}"
    for seed in range(seed_count):
        outcome = run(draw_plan(seed), all_checkers())
        if outcome.verdict:
            return {
                "mutant": name,
                "breaks": mutant.breaks,
                "seed": seed,
                "verdict": outcome.verdict.name.lower(),
                "checker": outcome.checker,
                "message": outcome.message[:200],
            }
    return {"mutant": name, "breaks": mutant.breaks, "seed": None}


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(hunt(sys.argv[1], int(sys.argv[2]))) + b"\n")
