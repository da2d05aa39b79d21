"""A child that hangs does nothing: neither answers nor writes, in any of its threads."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.zookeeper.tied_process import TiedProcess, pause_child

#: Several threads that always want to run.
BUSY = """
import threading
def count():
    number = 0
    while True:
        number += 1
for _ in range(4):
    threading.Thread(target=count).start()
print("counting", flush=True)
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[TiedProcess]:
    output = tmp_path / "output"
    child = TiedProcess("busy", [sys.executable, "-c", BUSY], output)
    while not output.read_text():
        assert child.is_running, "it counts until it is ended"
    yield child
    child.end(signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_nothing_of_a_child_runs_once_it_is_paused(busy: TiedProcess) -> None:
    """Else it could win an election after it was taken to hang, and hold the office in silence."""
    pid = busy.process.pid
    seen = set()
    for _ in range(20):
        pause_child(pid)
        seen |= {_state_of(task) for task in Path(f"/proc/{pid}/task").iterdir()}
        os.kill(pid, signal.SIGCONT)

    assert seen == {"T"}


def _state_of(task: Path) -> str:
    """The letter after the name, which may hold anything."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]
