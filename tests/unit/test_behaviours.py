"""The count of proven behaviours."""

from pathlib import Path

import pytest

from tests.behaviours import (
    AreaSummary,
    Behaviour,
    Ledger,
    Summary,
    read_catalogue,
    read_reasons,
    run_marked_tests,
    summarise,
    to_table,
)

MARKED_TESTS = """
import pytest

@pytest.mark.behaviour("a-1", "a-2")
def test_passes(): pass

@pytest.mark.behaviour("a-2")
def test_fails(): assert False

@pytest.mark.behaviour("a-3")
@pytest.mark.skip(reason="not today")
def test_is_skipped(): pass

@pytest.mark.behaviour("nobody-knows")
@pytest.mark.parametrize("number", [1, 2])
def test_of_the_unknown(number): pass

def test_without_a_marker(): assert False
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """The outcome of running the tests above."""
    module = tmp_path / "test_marked.py"
    module.write_text(MARKED_TESTS, encoding="utf-8")
    return run_marked_tests([str(module)])


def test_a_behaviour_counts_only_if_a_test_that_names_it_passed(ledger: Ledger) -> None:
    """Failing and skipped tests prove nothing, and one failure outweighs a success."""
    assert ledger.covered_ids() == {"a-1", "nobody-knows"}
    assert [test.rpartition("::")[2] for test in ledger.failures] == ["test_fails"]


def test_a_marker_that_names_nothing_known_is_found(ledger: Ledger) -> None:
    """A mistyped id would otherwise look like a proof."""
    catalogue = [Behaviour(known, "area") for known in ("a-1", "a-2", "a-3")]

    assert ledger.unknown_ids(catalogue) == ["nobody-knows"]


def test_a_module_that_cannot_be_collected_is_a_failure(tmp_path: Path) -> None:
    """It may hide any number of proofs."""
    module = tmp_path / "test_broken.py"
    module.write_text("import nothing_of_that_name", encoding="utf-8")

    assert len(run_marked_tests([str(module)]).failures) == 1


def test_the_summary_counts_by_area_and_names_the_missing() -> None:
    """The areas keep the order of the catalogue."""
    catalogue = [Behaviour("b-1", "b"), Behaviour("a-1", "a"), Behaviour("b-2", "b")]

    summary = summarise(catalogue, frozenset({"b-1"}), {"a-1": "later", "b-1": "proven by now"})

    assert summary == Summary(
        covered=1,
        total=3,
        areas={"b": AreaSummary(1, 2, ("b-2",)), "a": AreaSummary(0, 1, ("a-1",))},
        missing=("b-2", "a-1"),
        deferred={"a-1": "later"},
        unexplained=("b-2",),
    )
    assert to_table(summary.areas) == "b    1 of   2\na    0 of   1\n"


def test_no_behaviour_is_catalogued_twice() -> None:
    """An id that stood for two behaviours would be proven by half."""
    ids = [behaviour.id for behaviour in read_catalogue()]

    assert len(ids) == len(set(ids)) == 250


def test_every_reason_is_for_a_behaviour_of_the_catalogue() -> None:
    """A reason for what does not exist would hide a behaviour that has none."""
    known = {behaviour.id for behaviour in read_catalogue()}

    assert set(read_reasons()) <= known
