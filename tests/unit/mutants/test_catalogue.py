"""The catalogue of mutants follows the code: each snippet is still there, once."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant, UnfitMutant, mutate


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_fits_the_code_and_can_be_compiled(mutant: Mutant) -> None:
    """One that changes nothing would survive, and one that is no Python would be caught at once."""
    spec = find_spec(mutant.module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")

    mutated = mutate(source, mutant)

    assert mutated != source
    compile(mutated, mutant.module, "exec")


def test_names_and_sentences_are_different() -> None:
    """The table is read by people."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.breaks for mutant in MUTANTS}) == len(MUTANTS)


def test_a_snippet_that_is_gone_is_an_error() -> None:
    """Otherwise a mutant would survive because it is none."""
    with pytest.raises(UnfitMutant, match="occurs 0 times"):
        mutate("x = 1", Mutant("gone", "nothing", "m", "y = 2", "y = 3"))
