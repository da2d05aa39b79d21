"""The first thing that people see: on real brokers, but a shorter story."""

import io
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace
from rich.console import Console

from regent.cli import demo, pipeline
from regent.cli.main import main
from regent.cli.printing import STYLES
from regent.demo import play as playing
from regent.demo.play import Ending
from regent.demo.reckoning import Reckoning
from regent.demo.story import STORY, Deed
from regent.errors import BadInput
from regent.journal.reader import read
from regent.model.facts import ControllerElected

SHORT_STORY = tuple(
    replace(chapter, rest_s=1.5)
    for chapter in STORY
    if chapter.deed in {Deed.START, Deed.CREATE_TOPICS, Deed.KILL_CONTROLLER, Deed.DELETE_TOPIC}
    or chapter.title == "It comes back, as one broker among others"
)
GOOD = Ending(Reckoning(100), {}, 100, 3, 1, (), (), 1.0)


def test_a_story_is_played_on_real_brokers_and_nothing_is_lost(tmp_path: Path) -> None:
    """Its headings promise what the journal then shows; this holds them to it."""
    screen = io.StringIO()
    console = Console(file=screen, highlight=False, soft_wrap=True, markup=False)

    ending = playing.play(console, STYLES, story=SHORT_STORY, journal_to=tmp_path / "journal")

    shown = screen.getvalue()
    chapters = dict(_chapters(shown))
    assert ending.is_good, shown
    assert ending.reckoning.acknowledged > 0
    assert ending.reigns == 2
    assert [felt.title for felt in ending.felt] == [chapter.title for chapter in SHORT_STORY]
    assert "controller  elected" in chapters["Three brokers start"]
    assert "election    orders-2 leader none" in chapters[SHORT_STORY[1].title]
    assert "fault       kill -9: broker" in chapters["The controller is killed"]
    assert "controller  elected" in chapters["The controller is killed"]
    assert "longest without an acknowledged write" in chapters["The controller is killed"]
    assert "topic       clicks is gone" in chapters["A topic is deleted"]
    assert "of these lost              0" in chapters["The end"]
    assert "everything held" in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert "\x1b" not in shown
    facts = [each.fact for each in read((tmp_path / "journal").iterdir())]
    assert sum(isinstance(fact, ControllerElected) for fact in facts) == 2


def test_a_folder_gets_the_journal_and_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's half has tests of its own; here it is only asked for."""
    asked: list[Path] = []

    def play(*_: object, journal_to: Path) -> Ending:
        asked.append(journal_to)
        return GOOD

    monkeypatch.setattr(playing, "play", play)
    monkeypatch.setattr(demo, "report_on", lambda out, _: asked.append(out))

    assert main(["demo", "--out", str(tmp_path / "out")]) == 0
    assert asked == [tmp_path / "out" / "journal", tmp_path / "out"]


@pytest.mark.parametrize(
    "ending",
    [
        replace(GOOD, reckoning=Reckoning(100, lost=1)),
        replace(GOOD, reckoning=Reckoning(100, doubled=1)),
        replace(GOOD, differences=("orders-0 is unknown",)),
    ],
)
def test_the_exit_code_tells_that_something_did_not_hold(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "play", lambda *_, **__: ending)

    assert main(["demo"]) == demo.EXIT_BROKEN


def test_what_stands_in_the_way_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["demo", "--out", str(tmp_path)]) == 64
    assert "is not empty; remove it" in capsys.readouterr().err

    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    assert main(["demo"]) == 64
    assert "`pip install 'regent[demo]'` brings it" in capsys.readouterr().err


def _chapters(shown: str) -> list[tuple[str, str]]:
    parts = shown.split("\n── ")[1:]
    return [(part.splitlines()[0].strip(" ─"), part) for part in parts]


def test_the_report_is_made_by_the_commands_that_a_person_would_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that is not said as the commands have it."""
    given: list[pipeline.RunOptions] = []

    def take(options: pipeline.RunOptions) -> NoReturn:
        given.append(options)
        raise BadInput("far enough")

    monkeypatch.setattr(pipeline, "_sources", take)
    with pytest.raises(BadInput, match="far enough"):
        demo.report_on(tmp_path, Console(quiet=True))

    journal = str(tmp_path / "journal")
    assert given == [
        pipeline.RunOptions(out=tmp_path / "tables", journal=[journal], cluster="demo")
    ]
