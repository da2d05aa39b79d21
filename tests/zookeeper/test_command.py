"""`regent zookeeper`, as a person runs it."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Create, Data, GetData

#: The command by itself, whatever name the program gives it.
_COMMAND = [
    sys.executable,
    "-c",
    "import typer; from regent.cli.zookeeper import zookeeper; typer.run(zookeeper)",
]


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own command
        [*_COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_it_is_interrupted_and_keeps_what_it_was_given(
    how: signal.Signals, tmp_path: Path
) -> None:
    """The first line says where it is; the end is clean and leaves the znodes."""
    for written in (None, b"x"):
        with start("--port", "0", "--data", str(tmp_path)) as command:
            assert command.stdout is not None
            said = command.stdout.readline()
            found = re.match(r"ZooKeeper listens on (127\.0\.0\.1:\d+) \(process \d+\)", said)
            assert found is not None, said
            assert command.stdout.readline() == "Stop it with Ctrl-C.\n"
            session = KazooSession.open(ZooKeeperOptions(connect=found[1]))
            (read,) = session.call([GetData("/kept")])
            assert (read.data if isinstance(read, Data) else None) == written
            session.call([Create("/kept", b"x")])
            session.close()

            command.send_signal(how)
            output, complaints = command.communicate()

        assert (command.returncode, output, complaints) == (0, "ZooKeeper has stopped.\n", "")


def test_a_port_in_use_is_a_sentence() -> None:
    """The same for whoever runs a ZooKeeper already."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        start("--port", str(taken.getsockname()[1])) as command,
    ):
        _, complaints = command.communicate()

    assert command.returncode != 0
    assert "is in use; name another" in complaints
