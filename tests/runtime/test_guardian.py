"""The guardian: what a killed child held in ZooKeeper is free at once, and only then."""

import os
import sys

import pytest
from msgspec.structs import replace

from regent.runtime.guardian import PIPE_VARIABLE, GuardedProcess, Ward
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Done, Exists, Failed
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import eventually

#: So long that nothing here can have been freed by it.
TIMEOUT_MS = 60_000

CHILD = """
import sys, time
from regent.runtime.guardian import Ward
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Create

session = KazooSession.open(
    ZooKeeperOptions(connect=sys.argv[1], session_timeout_ms=int(sys.argv[2]), creates_chroot=True)
)
session.call([Create("/held", ephemeral=True)])
ward = Ward.from_environment()
if sys.argv[3] == "named":
    ward.report(session.session_id, session.password)
session.call([Create("/ready")])
time.sleep(600)
"""


def start(options: ZooKeeperOptions, *, named: bool = True) -> tuple[GuardedProcess, KazooSession]:
    """A guarded child that holds a znode, and a session to look with."""
    arguments = [sys.executable, "-c", CHILD, options.connect, str(TIMEOUT_MS)]
    child = GuardedProcess([*arguments, "named" if named else "unnamed"], options)
    session = KazooSession.open(options)
    eventually(lambda: is_there(session, "/ready"), "the child's session")
    return child, session


def is_there(session: KazooSession, path: str) -> bool:
    (reply,) = session.call([Exists(path)])
    assert isinstance(reply, Done | Failed)
    return isinstance(reply, Done)


def test_a_killed_child_leaves_its_place_free(zookeeper_options: ZooKeeperOptions) -> None:
    """By the time that `wait` returns: no timeout has anything to do with it."""
    child, session = start(zookeeper_options)
    assert is_there(session, "/held")

    child.process.kill()
    code = child.wait()

    assert code < 0
    assert not is_there(session, "/held")
    session.close()


def test_a_zookeeper_that_does_not_answer_is_asked_again(
    zookeeper_options: ZooKeeperOptions,
) -> None:
    """It may be slow, and the session is a minute long."""
    address, _, chroot = zookeeper_options.connect.partition("/")
    host, _, port = address.partition(":")
    with TcpProxy((host, int(port))) as way:
        child, session = start(replace(zookeeper_options, connect=f"{way.address}/{chroot}"))
        way.ignore_next()

        child.process.kill()
        child.wait()

        assert not is_there(session, "/held")
        session.close()


def test_a_child_that_never_named_its_session_keeps_it(zookeeper_options: ZooKeeperOptions) -> None:
    """There is nothing that the guardian could close."""
    child, session = start(zookeeper_options, named=False)

    child.process.kill()
    child.wait()

    assert is_there(session, "/held")
    session.close()


def test_half_a_line_from_a_dying_child_is_no_harm(zookeeper_options: ZooKeeperOptions) -> None:
    """It died while it was writing."""
    script = f"import os; os.write(int(os.environ['{PIPE_VARIABLE}']), b'{{\"session_id')"

    child = GuardedProcess([sys.executable, "-c", script], zookeeper_options)

    assert child.wait() == 0


def test_a_ward_without_a_guardian_speaks_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that a person starts has none."""
    monkeypatch.delenv(PIPE_VARIABLE, raising=False)

    Ward.from_environment().report(1, b"secret")


def test_a_ward_whose_guardian_is_gone_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so once; its own children do not inherit the pipe."""
    hears, says = os.pipe()
    monkeypatch.setenv(PIPE_VARIABLE, str(says))
    os.set_inheritable(says, True)
    ward = Ward.from_environment()
    os.close(hears)

    ward.report(1, b"secret")
    ward.report(1, b"secret")

    assert PIPE_VARIABLE not in os.environ
    assert not os.get_inheritable(says)
    os.close(says)
