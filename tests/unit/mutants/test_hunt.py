"""The hunt can catch: a mutant that everybody should see is not reported as a survivor.

`make mutants` hunts them all, and is too long for every day.
"""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[3]
BY_SEED = next(mutant for mutant in MUTANTS if mutant.name == "elect-out-of-sync")
BY_TEST = next(mutant for mutant in MUTANTS if mutant.name == "isr-from-old-leaders")


@pytest.mark.parametrize("mutant", [BY_SEED, BY_TEST], ids=["by a seed", "by its test"])
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "tests.mutants.hunt", mutant.name, "10"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )

    found = msgspec.json.decode(done.stdout)
    assert found["test"] == mutant.test
    assert (found["seed"] is None) == (mutant.test is not None)
