"""The simulator on the whole: the core holds, and a broken core is found and can be found again."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from regent.cli.main import main
from regent.sim.campaign import conduct
from regent.sim.character import FAULTS
from regent.sim.plan import write_plan
from regent.sim.run import Verdict
from tests.simulation.planted import ELECTION, SENDING, elect_the_dead, send_nothing, trip
from tests.simulation.short_plan import PLAN

Captured = pytest.CaptureFixture[str]


def test_a_small_swarm_holds_under_every_kind_of_fault() -> None:
    """The gate's share of what `make sim` does at length."""
    report, _ = conduct(range(25), jobs=2)

    assert report.failures == []
    assert sorted(report.faults) == sorted(FAULTS)
    assert [kind for kind, count in report.faults.items() if not count] == []


def test_runs_side_by_side_are_the_runs_one_by_one() -> None:
    """How many processors there are must not decide what is found."""
    _, one_by_one = conduct(range(4), jobs=1)
    _, side_by_side = conduct(range(4), jobs=3)

    assert side_by_side == one_by_one


@pytest.mark.parametrize(
    ("target", "planted", "verdict"),
    [
        (ELECTION, trip, Verdict.CRASHED),
        (ELECTION, elect_the_dead, Verdict.UNSAFE),
        (SENDING, send_nothing, Verdict.STUCK),
    ],
)
def test_the_exit_code_tells_how_a_run_failed(  # noqa: PLR0913, PLR0917 - fixtures
    target: str,
    planted: Callable[..., object],
    verdict: Verdict,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    """A crash, a broken promise and a cluster that never rests are three different alarms."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(target, planted)
    write_plan(PLAN, tmp_path / "plan.json")

    code = main(["simulate", "--replay", "plan.json"])

    assert code == verdict
    assert f"seed {PLAN.seed} {verdict.name.lower()}" in capsys.readouterr().err


def test_the_printed_command_reproduces_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Whoever reads of a failure must be able to see it, by the seed and by the kept plan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ELECTION, elect_the_dead)

    code = main(["simulate", "--seeds", "0..5", "--jobs", "1", "--json"])
    captured = capsys.readouterr()
    failure = json.loads(captured.out)["failures"][0]
    kept = f"build/failures/seed-{failure['seed']}.json"

    assert code == Verdict.UNSAFE
    assert f"is in {kept}" in captured.err
    for command in (failure["reproduce"], f"regent simulate --replay {kept}"):
        assert main(shlex.split(command)[1:]) == Verdict.UNSAFE
        shown = capsys.readouterr()
        assert failure["message"] in shown.err
        assert shown.out.startswith("regent ")


def test_a_single_run_shows_all_that_was_drawn_before_it_begins(capsys: Captured) -> None:
    """Without its options a transcript is half a story."""
    main(["simulate", "--seed", "4", "--trace"])

    drawn, _, transcript = capsys.readouterr().out.partition("     time  epoch")
    assert drawn.startswith("regent ")
    assert "seed 4" in drawn
    for name in PLAN.character.__struct_fields__:
        assert name == "topics" or name in drawn
    assert "topic0 " in drawn
    assert "controller  elected" in transcript
    assert "\x1b" not in transcript


def test_the_worst_of_many_runs_is_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A crash anywhere outranks everything else, and every plan is kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ELECTION, trip)

    assert main(["simulate", "--seeds", "0..3", "--jobs", "1"]) == Verdict.CRASHED
    assert "RuntimeError: planted" in capsys.readouterr().err
