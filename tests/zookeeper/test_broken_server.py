"""A server that restarts, falls silent or refuses under a session."""

import threading
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from regent.core.asks import ListTopics
from regent.errors import RegentError, SessionLost
from regent.zookeeper import paths
from regent.zookeeper.embedded import EmbeddedZooKeeper
from regent.zookeeper.exchange import read_one, run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.performer import perform
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import (
    Answered,
    Create,
    Data,
    Done,
    Exists,
    Failed,
    GetData,
    GetMany,
    Many,
    Multi,
    MultiFailed,
    SetData,
    WatchEvent,
    WatchKind,
    ZkError,
)
from tests.support.real_zookeeper import SETTINGS, fresh_options, open_sessions, shared_server
from tests.support.waiting import wait_until

EXPIRED = Failed(ZkError.SESSION_EXPIRED)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedZooKeeper]:
    """One that may be broken, and is whole again after each test."""
    with EmbeddedZooKeeper(settings=SETTINGS) as started:
        yield started


def test_a_session_survives_a_restart_of_its_server(server: EmbeddedZooKeeper) -> None:
    """Sessions, ephemerals and watches are the server's state and not the process's."""
    heard: list[WatchEvent] = []
    options = fresh_options(server, session_timeout_ms=30_000)
    session = KazooSession.open(options, on_watch=heard.append)
    session.call([Create("/e", b"1", ephemeral=True), GetData("/e", watch=True)])

    server.restart()

    read = run(session, read_one(GetData("/e")))
    assert isinstance(read, Data)
    assert read.stat.ephemeral_owner == session.session_id
    session.call([SetData("/e", b"2")])
    assert heard == [WatchEvent(WatchKind.DATA_CHANGED, "/e")]
    session.close()


def test_a_silent_server_costs_the_session(server: EmbeddedZooKeeper) -> None:
    """Nobody says so, and yet the session may be over: who asks must hear it, and the owner too."""
    states: list[SessionState] = []
    options = fresh_options(server, session_timeout_ms=2000)
    session = KazooSession.open(options, on_state=states.append)
    session.call([Create("/e", ephemeral=True)])
    answers: list[Answered] = []

    server.pause()
    try:
        asking = threading.Thread(target=lambda: answers.extend(session.call([GetData("/e")])))
        asking.start()
        asking.join()
        wait_until(lambda: SessionState.LOST in states, "the owner is told")
    finally:
        server.resume()

    assert answers == [EXPIRED]
    assert states.count(SessionState.LOST) == 1
    # The server answers again and may still know the session; we do not.
    assert list(session.call([Exists("/")])) == [EXPIRED]
    with open_sessions(options) as open_one:
        other = open_one()
        wait_until(
            lambda: list(other.call([Exists("/e")])) == [Failed(ZkError.NO_NODE, "/e")],
            "what the lost session held is gone",
        )
    session.close()


def test_an_idle_owner_hears_of_silence_too(server: EmbeddedZooKeeper) -> None:
    """It asks nothing, and must resign all the same."""
    states: list[SessionState] = []
    session = KazooSession.open(
        fresh_options(server, session_timeout_ms=2000), on_state=states.append
    )

    server.pause()
    try:
        wait_until(lambda: SessionState.LOST in states, "the owner is told")
    finally:
        server.resume()

    with pytest.raises(SessionLost):
        run(session, read_one(GetData("/")))
    session.close()


def test_pings_keep_an_idle_session_alive(server: EmbeddedZooKeeper) -> None:
    """An owner that has nothing to ask for several timeouts loses nothing."""
    states: list[SessionState] = []
    options = fresh_options(server, session_timeout_ms=3000)
    session = KazooSession.open(options, on_state=states.append)
    session.call([Create("/e", ephemeral=True)])

    seen = {session.lives_until_s}

    def has_heard_two_pings() -> bool:
        seen.add(session.lives_until_s)
        return len(seen) > 2

    wait_until(has_heard_two_pings, "two pings have come back")

    assert SessionState.LOST not in states
    assert isinstance(session.call([Exists("/e")])[0], Done)
    session.close()


def test_a_session_can_be_closed_while_its_server_is_silent(server: EmbeddedZooKeeper) -> None:
    """A node that is told to stop must stop."""
    session = KazooSession.open(fresh_options(server))

    server.pause()
    try:
        session.close()
    finally:
        server.resume()

    assert list(session.call([Exists("/")])) == [EXPIRED]


def test_a_refused_access_is_an_answer() -> None:
    """The process lives, and the message says that credentials are missing."""
    options = fresh_options()
    with open_sessions(options) as open_one:
        session = open_one()
        session.call([Create("/open"), *(Create(path) for path in ("/brokers", paths.TOPICS))])
        owner = KazooClient(
            shared_server().address + options.chroot, auth_data=[("digest", "me:secret")]
        )
        owner.start()
        acl = make_digest_acl("me", "secret", all=True)
        owner.set_acls("/open", [acl])
        owner.set_acls(paths.TOPICS, [acl])
        owner.stop()
        owner.close()

        replies = session.call(
            [
                GetData("/open"),
                SetData("/open", b""),
                GetMany(("/", "/open")),
                Multi((SetData("/", b""), SetData("/open", b""))),
            ]
        )

        refused = Failed(ZkError.NO_AUTH, "/open")
        assert replies[:2] == [refused, refused]
        assert isinstance(replies[2], Many)
        assert replies[2].items[1] == refused
        assert isinstance(replies[3], MultiFailed)
        assert (replies[3].error, replies[3].index) == (ZkError.NO_AUTH, 1)
        with pytest.raises(RegentError, match=r"refuses access to /brokers/topics .*credentials"):
            run(session, perform(ListTopics()))


def test_digest_credentials_open_what_an_acl_closes() -> None:
    """Kafka's `zookeeper.set.acl` is used with such credentials."""
    options = fresh_options(digest="me:secret")
    with open_sessions(options) as open_one:
        session = open_one()
        session.call([Create("/closed", b"x")])
        owner = KazooClient(shared_server().address + options.chroot)
        owner.start()
        owner.set_acls("/closed", [make_digest_acl("me", "secret", all=True)])
        owner.stop()
        owner.close()

        (read,) = session.call([GetData("/closed")])

        assert isinstance(read, Data)
        assert read.data == b"x"
