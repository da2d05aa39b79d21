"""The first thing that people see."""

import pytest

from regent.cli.main import main


def test_the_demo_tells_its_story_and_everything_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """Its headings promise what the transcript then shows; this holds them to it."""
    assert main(["demo"]) == 0

    shown = capsys.readouterr().out
    chapters = dict(_chapters(shown))
    assert "dies, the controller" in chapters["The controller is killed"]
    assert "controller  elected" in chapters["The controller is killed"]
    assert "broker      3 down" in chapters["Broker 3 is killed"]
    assert "election    orders" in chapters["Broker 3 is killed"]
    assert "broker      1 bounced" in chapters["Broker 1 restarts faster than news travels"]
    assert "controller  elected" in chapters["An operator deletes /controller"]
    assert "election" not in chapters["An operator deletes /controller"]
    assert "of these lost           0" in chapters["The end"]
    assert "gives exactly the state of the live controller" in chapters["The end"]
    assert "everything held" in chapters["The end"]


def test_the_demo_fits_a_hundred_columns_and_has_no_colours_in_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is pasted into mails and issues."""
    main(["demo"])

    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 100
    assert "\x1b" not in shown


def _chapters(shown: str) -> list[tuple[str, str]]:
    parts = shown.split("\n── ")[1:]
    return [(part.splitlines()[0].strip(" ─"), part) for part in parts]
