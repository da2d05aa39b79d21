"""Plays a story from beginning to end, and says what came of it."""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct
from rich.console import Console

from regent.demo.arrivals import Silence
from regent.demo.growing_journals import GrowingJournals
from regent.demo.reckoning import Reckoning
from regent.demo.stage import Stage
from regent.demo.story import STORY, Chapter
from regent.demo.telling import Telling

#: What is shorter than this is how often records are written, not a disturbance.
WORTH_TELLING_S: Final = 0.05


class Felt(Struct, frozen=True):
    """How long clients noticed what happened in a chapter, at most; None while there were none."""

    title: str
    writes: Silence | None
    reads: Silence | None


class Ending(Struct, frozen=True):
    """What is left in the end."""

    reckoning: Reckoning
    #: Records that the producer gave up, by the reason. They were never acknowledged.
    refused: Mapping[str, int]
    read_count: int
    elections: int
    reigns: int
    felt: Sequence[Felt]
    #: Where the journal, replayed, is not what ZooKeeper holds.
    differences: Sequence[str]
    seconds: float

    @property
    def is_good(self) -> bool:
        """Whether every promise was kept."""
        return not (self.reckoning.lost or self.reckoning.doubled or self.differences)


def play(
    console: Console,
    styles: Mapping[str, str],
    *,
    story: Sequence[Chapter] = STORY,
    journal_to: Path | None = None,
) -> Ending:
    """The whole story; the journal is copied before the curtain falls on the brokers."""
    began_s = time.monotonic()
    telling = Telling(console, styles)
    with closing(Stage(telling.act)) as stage, telling:
        telling.follow(GrowingJournals(stage.cluster.journal_dir), stage.describe)
        felt = [
            _play_chapter(stage, telling, chapter, is_first=chapter is story[0])
            for chapter in story
        ]
        telling.act("stop the clients, and look for every acknowledged record")
        reckoning = stage.settle()
        different = stage.journal_differences()
        telling.catch_up()
        if journal_to is not None:
            shutil.copytree(stage.cluster.journal_dir, journal_to)
        ending = Ending(
            reckoning=reckoning,
            refused=stage.refused,
            read_count=stage.read_count,
            elections=telling.elections,
            reigns=telling.reigns,
            felt=felt,
            differences=different,
            seconds=time.monotonic() - began_s,
        )
        _sum_up(ending, telling)
    return ending


def _play_chapter(stage: Stage, telling: Telling, chapter: Chapter, *, is_first: bool) -> Felt:
    telling.catch_up()
    telling.begin(chapter, is_first=is_first)
    began_s = time.monotonic()
    stage.carry_out(chapter.deed)
    time.sleep(chapter.rest_s)
    telling.catch_up()
    felt = Felt(
        chapter.title,
        writes=stage.write_times.longest_silence(began_s),
        reads=stage.read_times.longest_silence(began_s),
    )
    if felt.writes is not None:
        telling.note(f"longest without an acknowledged write: {say_silence(felt.writes)}")
    if felt.reads is not None:
        telling.note(f"longest without a record read: {say_silence(felt.reads)}")
    return felt


def say_silence(silence: Silence | None) -> str:
    """How long, and where."""
    if silence is None:
        return "-"
    if silence.seconds < WORTH_TELLING_S:
        return f"under {WORTH_TELLING_S * 1_000:.0f} ms"
    return f"{silence.seconds * 1_000:,.0f} ms, in {silence.name}"


def _sum_up(ending: Ending, telling: Telling) -> None:
    reckoning = ending.reckoning
    telling.rule("The end")
    telling.rows(
        [
            ("records acknowledged", f"{reckoning.acknowledged:,}"),
            ("of these lost", f"{reckoning.lost:,}"),
            ("there more than once", f"{reckoning.doubled:,}"),
            ("given up by the producer", f"{sum(ending.refused.values()):,}"),
            ("read by the group", f"{ending.read_count:,}"),
            ("leader elections", f"{ending.elections:,}"),
            ("controllers in office", f"{ending.reigns:,}"),
            ("journal, replayed", _judge_replay(ending.differences)),
            ("time", f"{ending.seconds:.0f} s"),
        ]
    )
    telling.rule("What clients noticed: the longest time without a record in any one partition")
    telling.rows(
        [
            ("", "acknowledged writes", "reads of the group"),
            *(
                (felt.title, say_silence(felt.writes), say_silence(felt.reads))
                for felt in ending.felt
                if felt.writes is not None
            ),
        ]
    )
    telling.judge("everything held" if ending.is_good else "not all held", is_good=ending.is_good)


def _judge_replay(different: Sequence[str]) -> str:
    if different:
        return "differs from ZooKeeper: " + "; ".join(different[:3])
    return "gives exactly what ZooKeeper holds"
