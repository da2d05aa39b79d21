"""What a node's process does for its launcher: keeps away from cut ports, and dies with it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regent.testing.cut_file import CutFile
from regent.testing.patient import PATIENCE_S, wait_for, wait_until
from tests.testing.processes import is_gone

LAUNCHER = """
import os, subprocess, sys, time
node = [str(os.getpid()) if word == "our pid" else word for word in sys.argv[2:]]
with open(sys.argv[1], "w") as file:
    file.write(str(subprocess.Popen(node).pid))
time.sleep(600)
"""


def command(
    cut_file: CutFile, port: int, diary: Path, launcher: str = str(os.getpid())
) -> list[str]:
    return [
        *(sys.executable, "-m", "regent.testing.node_main", launcher, str(cut_file.path)),
        *("tests.testing.dialler", str(port), str(diary)),
    ]


@contextmanager
def running(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(arguments) as process:  # noqa: S603 - our own command
        try:
            yield process
        finally:
            process.kill()


def words(diary: Path) -> list[str]:
    return diary.read_text().splitlines() if diary.exists() else []


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_a_cut_breaks_connections_and_lets_none_come_about(
    peer: socket.socket, tmp_path: Path
) -> None:
    """Until it is healed; and what the launcher hears is so."""
    cut_file, diary = CutFile(tmp_path / "cuts.json"), tmp_path / "diary"
    port = peer.getsockname()[1]
    with running(command(cut_file, port, diary)):
        wait_until(lambda: words(diary) == ["open"], "a connection")

        cut = cut_file.order(frozenset({port}))
        wait_until(lambda: cut_file.is_confirmed(cut), "the cut")
        refused = f"cut off from port {port} by the test"
        wait_until(lambda: refused in words(diary), "a connection that is refused")
        assert words(diary)[:2] == ["open", "broken"]
        assert set(words(diary)[2:]) == {refused}

        cut_file.order(frozenset())
        wait_until(lambda: words(diary)[-1] == "open", "a connection again")


def test_a_node_that_starts_while_it_is_cut_off_reaches_nobody(
    peer: socket.socket, tmp_path: Path
) -> None:
    cut_file, diary = CutFile(tmp_path / "cuts.json"), tmp_path / "diary"
    cut_file.order(frozenset({peer.getsockname()[1]}))
    with running(command(cut_file, peer.getsockname()[1], diary)):
        wait_until(lambda: len(words(diary)) > 1, "attempts")

    assert "open" not in words(diary)


def test_other_ports_are_not_cut_off(peer: socket.socket, tmp_path: Path) -> None:
    cut_file, diary = CutFile(tmp_path / "cuts.json"), tmp_path / "diary"
    port = peer.getsockname()[1]
    with running(command(cut_file, port, diary)):
        wait_until(lambda: words(diary) == ["open"], "a connection")

        cut = cut_file.order(frozenset({port - 1, port + 1}))
        wait_until(lambda: cut_file.is_confirmed(cut), "the cut")
        assert words(diary) == ["open"]

        peer.accept()[0].close()
        wait_until(lambda: len(words(diary)) == 3, "another connection")
        assert words(diary) == ["open", "broken", "open"]


def test_a_node_dies_with_its_launcher(peer: socket.socket, tmp_path: Path) -> None:
    """A test run that is killed must not leave brokers behind."""
    cut_file, diary = CutFile(tmp_path / "cuts.json"), tmp_path / "diary"
    node = command(cut_file, peer.getsockname()[1], diary, "our pid")
    pid_file = tmp_path / "pid"
    with running([sys.executable, "-c", LAUNCHER, str(pid_file), *node]) as process:
        wait_until(lambda: words(diary) == ["open"], "a connection")
        node_pid = int(wait_for(lambda: pid_file.read_text() or None, "its pid"))
        assert os.getpgid(node_pid) == node_pid, "a Ctrl-C in the terminal must not reach it"

        process.kill()

    wait_until(lambda: is_gone(node_pid), "the death of the node")


def test_a_node_whose_launcher_was_dead_before_it_could_look_dies(
    peer: socket.socket, tmp_path: Path
) -> None:
    """Its parent is somebody else then, who may live for ever."""
    with subprocess.Popen([sys.executable, "-c", ""]) as launcher:
        launcher.wait()
    cut_file, diary = CutFile(tmp_path / "cuts.json"), tmp_path / "diary"
    node = command(cut_file, peer.getsockname()[1], diary, str(launcher.pid))

    with running(node) as process:
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
