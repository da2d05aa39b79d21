"""`regent controller --guard`: a parent that frees a killed child's role, and is else not felt."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.cli.main import EXIT_USAGE
from regent.zookeeper.options import ZooKeeperOptions
from tests.support.controllers import ControllerProcess, Controllers
from tests.support.waiting import eventually

WAIT_S = 60
#: What the server grants at most, and longer than any of this may take.
SESSION = ("--session-timeout-ms", "60000")


@pytest.fixture
def guarded(controllers: Controllers) -> ControllerProcess:
    """The guard, with a child that is in office."""
    process = controllers.start(101, "--guard", *SESSION)
    controllers.elected()
    return process


@pytest.fixture
def orphans() -> Iterator[list[int]]:
    """Children that nobody would end when a test has failed; each by its pid."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, signal.SIGKILL)


def child_of(process: ControllerProcess) -> int:
    """The one process that it has started."""
    pid = process.process.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


@pytest.mark.requirement("E5")
def test_the_role_of_a_killed_child_is_free_when_the_guard_ends(
    controllers: Controllers, guarded: ControllerProcess, orphans: list[int]
) -> None:
    """Its session would have lived for another minute. The guard ends as a shell would say it."""
    child = child_of(guarded)
    orphans.append(child)
    controllers.start(102, *SESSION)

    os.kill(child, signal.SIGKILL)

    assert guarded.process.wait(WAIT_S) == 128 + signal.SIGKILL
    eventually(lambda: controllers.holder() is not None, "the next one")
    assert controllers.elected().node_id == 102


@pytest.mark.requirement("E9")
def test_sigterm_is_passed_on_and_the_code_is_the_childs(
    controllers: Controllers, guarded: ControllerProcess, orphans: list[int]
) -> None:
    """The child resigns in order, as it does without a guard."""
    child = child_of(guarded)
    orphans.append(child)

    guarded.signal(signal.SIGTERM)

    assert guarded.process.wait(WAIT_S) == 0
    assert controllers.holder() is None
    assert not Path(f"/proc/{child}").exists()
    assert "resigned: asked to resign" in guarded.log.read_text()


def test_what_makes_no_sense_to_the_child_is_said_once(
    zookeeper_options: ZooKeeperOptions, tmp_path: Path
) -> None:
    """With its exit code."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = "{}:{}".format(*other.getsockname())
        process = ControllerProcess(
            101, zookeeper_options.connect, tmp_path, "--guard", "--listen", address
        )
        try:
            assert process.process.wait(WAIT_S) == EXIT_USAGE
        finally:
            process.close()

    assert process.log.read_text().count("another process listens there") == 1
