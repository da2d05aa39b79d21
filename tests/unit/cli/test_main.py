"""The command line for those who get it wrong, and those who ask."""

import re
from pathlib import Path

import pytest

from regent import __version__
from regent.cli.main import EXIT_USAGE, main
from regent.sim.character import Character
from regent.sim.plan import Plan, Step, draw_plan, write_plan

Captured = pytest.CaptureFixture[str]


def test_the_version_is_one_line(capsys: Captured) -> None:
    """Scripts read it."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"regent {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_names_every_command(arguments: list[str], capsys: Captured) -> None:
    """Whoever types only `regent` wants to know what there is."""
    assert main(arguments) == 0

    shown = capsys.readouterr().out
    for command in ("demo", "simulate", "snapshot", "what-if"):
        assert re.search(rf"^ +{command} +\w", shown, re.MULTILINE)


def test_help_of_simulate_tells_the_exit_codes(capsys: Captured) -> None:
    """They are what a gate looks at."""
    assert main(["simulate", "--help"]) == 0
    assert "1 something crashed" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["simulate"], "--seeds 0..99, --seed 7 or --replay FILE"),
        (["simulate", "--seeds", "1", "--seed", "1"], "in one way"),
        (["simulate", "--seeds", "x"], "write 7, or 0..99"),
        (["simulate", "--seeds", "0..9", "--trace"], "choose it with --seed 7"),
        (["simulate", "--seed", "1", "--trace", "--json"], "choose one"),
        (["simulate", "--seed", "one"], "--seed"),
        (["simulate", "--seed", "-1"], "--seed"),
        (["simulate", "--seeds", "1", "--jobs", "0"], "--jobs"),
        (["simulate", "--fast"], "--fast"),
        (["simulate", "--replay", "no/such/plan.json"], "cannot read the plan"),
        (["simulate", "--seed", "1", "--journal", "/proc/nowhere"], "choose a directory"),
        (["govern"], "govern"),
    ],
)
def test_a_wrong_command_is_answered_with_one_sentence_and_64(
    arguments: list[str], hint: str, capsys: Captured
) -> None:
    """Typer's own 2 would say that something unsafe happened; a traceback would say nothing."""
    assert main(arguments) == EXIT_USAGE

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("regent: ")
    assert hint in captured.err
    assert captured.err.count("\n") == 1


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, capsys: Captured) -> None:
    """The message says where plans come from."""
    path = tmp_path / "plan.json"
    path.write_text('{"seed": 1}')

    assert main(["simulate", "--replay", str(path)]) == EXIT_USAGE
    assert "is not a plan" in capsys.readouterr().err


def character() -> Character:
    """Any valid one."""
    return draw_plan(0).character


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        (Step(1, "dance"), "dance at 1 ms: there is no such step"),
        (Step(1, "crash"), "names 0 brokers; name 1"),
        (Step(1, "crash", (0,), 10), "for broker 0"),
        (Step(1, "crash", (99,), 10), "for broker 99"),
        (Step(1, "create_topic", topic="nowhere"), "'nowhere' is not in `topics`"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(
    step: Step, hint: str, tmp_path: Path, capsys: Captured
) -> None:
    """Plans are edited by hand; a slip must not look like a crash of the core."""
    path = tmp_path / "plan.json"
    write_plan(Plan(1, character(), (step,)), path)

    assert main(["simulate", "--replay", str(path)]) == EXIT_USAGE
    assert hint in capsys.readouterr().err


def test_journals_are_never_mixed_with_those_of_an_earlier_run(
    tmp_path: Path, capsys: Captured
) -> None:
    """Two runs in one directory would replay as one that never was."""
    (tmp_path / "seed-3").mkdir()

    assert main(["simulate", "--seeds", "2..4", "--journal", str(tmp_path)]) == EXIT_USAGE
    assert "seed-3 is there already" in capsys.readouterr().err
