"""The embedded server: its start, its end, and what it says when something is missing."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from regent.errors import BadInput, RegentError
from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper
from regent.zookeeper.embedded_java import choose_jars, find_java
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Create, Data, GetData
from tests.support.real_zookeeper import SETTINGS
from tests.support.waiting import wait_until
from tests.testing.processes import is_gone

#: What a process of its own does: start a server, say where it is, and wait for its own end.
_PARENT = """
import sys, threading
from regent.zookeeper.embedded import EmbeddedZooKeeper
servers = [EmbeddedZooKeeper()]
# A thread that ends: the server is tied to the process and not to who started it.
starter = threading.Thread(target=servers[0].start)
starter.start()
starter.join()
print(servers[0].pid, flush=True)
sys.stdin.read()
"""


def test_what_was_written_is_there_after_a_restart_and_after_a_crash(tmp_path: Path) -> None:
    """The folder is the memory; the port stays the same, so that clients find their way."""
    with EmbeddedZooKeeper(tmp_path / "new" / "folder", settings=SETTINGS) as server:
        options = ZooKeeperOptions(connect=server.address)
        first = KazooSession.open(options)
        first.call([Create("/kept", b"x")])
        first.close()
        pid = server.pid

        server.kill()
        assert not server.is_running
        server.start()

        assert is_gone(pid)
        assert server.address == options.connect
        second = KazooSession.open(options)
        (read,) = second.call([GetData("/kept")])
        second.close()
        assert isinstance(read, Data)
        assert read.data == b"x"
        pid = server.pid
    assert is_gone(pid)


@pytest.mark.parametrize("language", ["C.UTF-8", "C"])
def test_a_folder_may_have_any_name(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java has its own idea of letters, in its settings and in the names of files."""
    monkeypatch.setenv("LC_ALL", language)
    folder = tmp_path / "jürgen\\neu 🦀"

    with EmbeddedZooKeeper(folder, settings=SETTINGS):
        assert (folder / "znodes" / "version-2").is_dir()

    assert list(tmp_path.iterdir()) == [folder]


def test_it_dies_with_its_parent() -> None:
    """However the parent dies, and not with the thread that started it."""
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:  # noqa: S603 - our own
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid)

        os.kill(parent.pid, signal.SIGKILL)

        wait_until(lambda: is_gone(pid), "the server has died with its parent")


def test_a_port_in_use_is_named() -> None:
    """Not a stack trace of Java's, and not a server of somebody else's."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(BadInput, match=f"port {port} of 127.0.0.1 is in use; name another"):
            EmbeddedZooKeeper(port=port).start()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Such as a file."""
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="file cannot be used as a folder"):
        EmbeddedZooKeeper(tmp_path / "file").start()


def test_a_server_that_cannot_start_says_why() -> None:
    """A line in its configuration that makes no sense, for example."""
    settings = EmbeddedSettings(extra={"tickTime": "nonsense"})

    with (
        pytest.raises(RegentError, match="ended with code 2 before it was ready; it said: "),
        EmbeddedZooKeeper(settings=settings),
    ):
        pass


def test_missing_java_is_one_sentence_with_a_command(tmp_path: Path) -> None:
    """Whoever tries Regent for the first time meets this."""
    with pytest.raises(BadInput, match=r"needs Java.*apt-get install openjdk-17-jre-headless"):
        find_java({"PATH": str(tmp_path)})


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    """As everywhere in the world of Java."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("")

    assert find_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]}) == java


def test_a_missing_jar_is_named(tmp_path: Path) -> None:
    """A future PySpark may come without ZooKeeper."""
    with pytest.raises(BadInput, match=r"has no zookeeper-\*\.jar.*pip install"):
        choose_jars(tmp_path)
