"""The journal's thread: nothing is lost, and nothing is done while a decision is made."""

import threading
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from regent.journal.reader import read
from regent.journal.record import FactBatch
from regent.journal.writer import JournalWriter
from regent.model.facts import ControllerElected, ControllerResigned, Fact
from regent.model.ids import BrokerId, ControllerEpoch
from regent.runtime import journal_thread
from regent.runtime.journal_thread import JournalThread
from tests.support.waiting import wait_until

NODE = BrokerId(7)


@pytest.fixture
def thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JournalThread]:
    """One that has all the time in the world for a decision."""
    monkeypatch.setattr(journal_thread, "HOLD_S", 3600.0)
    made = JournalThread(JournalWriter(tmp_path, NODE))
    yield made
    made.close()


def batch(first_seq: int) -> FactBatch:
    facts: list[Fact] = [ControllerElected(), ControllerResigned("why not")]
    return FactBatch(first_seq, 5, NODE, ControllerEpoch(3), "test#1", facts)


def numbers(folder: Path) -> list[int]:
    return [record.seq for record in read([folder])]


def test_facts_are_written_once_the_decision_is_made(thread: JournalThread, tmp_path: Path) -> None:
    """In the order in which they were handed over, each with its number."""
    with thread.held():
        thread.append(batch(1))
        thread.append(batch(3))
        sleep(0.2)  # a thread that does not wait has written by now
        assert not list(tmp_path.iterdir())

    wait_until(lambda: bool(list(tmp_path.iterdir())) and numbers(tmp_path) == [1, 2, 3, 4], "all")


def test_between_decisions_facts_are_written_at_once(thread: JournalThread, tmp_path: Path) -> None:
    """Nobody needs to end anything first."""
    thread.append(batch(1))

    wait_until(lambda: bool(list(tmp_path.iterdir())) and numbers(tmp_path) == [1, 2], "both")


def test_a_decision_that_takes_long_holds_its_facts_up_once(tmp_path: Path) -> None:
    """Not once for each batch of them: it may wait for ZooKeeper between any two."""
    waits: list[bool] = []

    class Impatient(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            """Without waiting at all."""
            assert timeout == journal_thread.HOLD_S
            waits.append(self.is_set())
            return self.is_set()

    made = JournalThread(JournalWriter(tmp_path, NODE))
    made._is_free = Impatient()
    with made.held():
        for first_seq in (1, 3, 5):
            made.append(batch(first_seq))
        made.close()

    assert waits == [False, True, True]
    assert numbers(tmp_path) == [1, 2, 3, 4, 5, 6]
