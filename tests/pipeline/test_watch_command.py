"""`regent pipeline watch` at the terminal: what it prints, and how it ends (Q8)."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from regent.cli.main import EXIT_USAGE, main
from regent.cli.pipeline_watch import EXIT_DIED, SHOWN_MAX
from regent.pipeline import session
from regent.pipeline import watch as watching
from regent.pipeline.watch import QueryDied, WatchPlan

pytestmark = pytest.mark.requirement("Q8")

ALERT = {
    "at_ms": 3_723_000,
    "severity": "warning",
    "cluster": "east",
    "topic": "t",
    "partition": 7,
    "rule": "broker_died",
    "detail": "broker 3 has gone",
}


class Double:
    """In the place of Spark and its queries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session, "session_for", self._session)
        monkeypatch.setattr(watching, "watch", self._watch)
        self.does: Callable[[WatchPlan, threading.Event], None] = lambda _plan, _stopping: None

    @contextmanager
    def _session(self, *_: object) -> Iterator[None]:
        yield

    def _watch(self, _spark: object, plan: WatchPlan, stopping: threading.Event) -> None:
        self.does(plan, stopping)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Double:
    return Double(monkeypatch)


def run(tmp_path: Path, *options: str) -> int:
    where = ("--journal", str(tmp_path), "--out", str(tmp_path / "out"))
    return main(["pipeline", "watch", *where, *options])


def test_an_alert_is_one_line_and_a_storm_is_cut_short(
    double: Double, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storm: list[dict[str, Any]] = [{**ALERT, "topic": None, "partition": None}]
    storm += [ALERT] * (SHOWN_MAX + 2)
    double.does = lambda plan, _: plan.on_alerts(storm, Path("file.jsonl"))

    assert run(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "01:02:03 warning east  broker_died: broker 3 has gone",
        "01:02:03 warning east t-7  broker_died: broker 3 has gone",
    ]
    assert lines[SHOWN_MAX:] == ["and 3 more in file.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_in_good_order(
    number: signal.Signals, double: Double, tmp_path: Path
) -> None:
    was_stopped: list[bool] = []

    def wait(_: WatchPlan, stopping: threading.Event) -> None:
        os.kill(os.getpid(), number)
        was_stopped.append(stopping.wait(30))

    double.does = wait

    assert run(tmp_path) == 0
    assert was_stopped == [True]


def test_a_query_that_died_is_an_exit_code_and_a_sentence(
    double: Double, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def die(*_: object) -> None:
        raise QueryDied("alerts", "it broke")

    double.does = die

    assert run(tmp_path) == EXIT_DIED
    said = " ".join(capsys.readouterr().err.split())
    assert said == "the watch has stopped, because its query `alerts` died: it broke"


def test_limits_are_what_was_asked_for(double: Double, tmp_path: Path) -> None:
    plans: list[WatchPlan] = []
    double.does = lambda plan, _: plans.append(plan)

    assert run(tmp_path, "--offline-longer-than-s", "2.5", "--min-isr", "2", "--once") == 0
    (plan,) = plans
    assert (plan.limits.offline_longer_than_ms, plan.limits.min_isr) == (2_500, 2)
    assert (plan.is_once, plan.from_start) == (True, False)
    assert run(tmp_path, "--interval-s", "0") == EXIT_USAGE
