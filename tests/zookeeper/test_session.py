"""A session with a real ZooKeeper: what the store's suite cannot ask of both twins."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.core.asks import Fence
from regent.errors import BadInput, SessionLost, ZooKeeperUnreachable
from regent.model.ids import ControllerEpoch, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import read_one, run, unexpected
from regent.zookeeper.fencing import write_fenced
from regent.zookeeper.jute import RequestEncoder
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions, ZooKeeperTls
from regent.zookeeper.session_ending import SessionEnding, end_session
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import (
    Check,
    Children,
    Create,
    Data,
    Delete,
    Done,
    Exists,
    Failed,
    GetChildren,
    GetData,
    GetMany,
    Many,
    Multi,
    MultiDone,
    MultiFailed,
    Request,
    SetData,
    WatchEvent,
    WatchKind,
    ZkError,
)
from tests.support.real_zookeeper import fresh_options, open_sessions, shared_server
from tests.support.waiting import wait_until

EXPIRED = Failed(ZkError.SESSION_EXPIRED)


@pytest.fixture
def options() -> ZooKeeperOptions:
    return fresh_options()


@pytest.fixture
def session(options: ZooKeeperOptions) -> Iterator[KazooSession]:
    with open_sessions(options) as open_one:
        yield open_one()


# --- bulk -----------------------------------------------------------------------------------


def test_many_reads_are_answered_as_each_alone_would_be(session: KazooSession) -> None:
    """A run of reads travels in other frames than a single one, and nobody must be able to tell."""
    session.call([Create(f"/{n}", b"%d" % n) for n in range(40)])
    session.call([Create("/7/a"), Create("/7/b"), Create("/null")])
    reads: list[Request] = [GetData(f"/{n}") for n in range(45)]
    reads += [GetChildren("/7"), GetData("/null"), GetChildren("/99"), GetChildren("/")]
    reads += [GetMany(("/3", "/99", "/")), GetMany(()), GetData("/5")]

    together = session.call(reads)

    assert list(together) == [session.call([read])[0] for read in reads]


def test_a_read_of_many_thousand_znodes_keeps_its_order(session: KazooSession) -> None:
    """They come back in several frames, which must be put together as they were taken apart."""
    names = [f"/{n:0200d}" for n in range(3000)]
    session.call([Multi(tuple(Create(name, name.encode()) for name in names[:2500:2]))])

    (reply, last) = session.call([GetMany(tuple(names)), GetData("/")])

    assert isinstance(reply, Many)
    assert [item.data if isinstance(item, Data) else item for item in reply.items] == [
        name.encode() if n % 2 == 0 and n < 2500 else Failed(ZkError.NO_NODE, name)
        for n, name in enumerate(names)
    ]
    assert isinstance(last, Data)


def test_a_fenced_write_of_long_assignments_is_cut_into_requests_that_fit(
    session: KazooSession,
) -> None:
    """Topics with thousands of partitions: the server would close the connection on them all."""
    names = [f"/{n}" for n in range(100)]
    session.call([Create(paths.CONTROLLER_EPOCH), *(Create(name) for name in names)])
    fence = Fence(ControllerEpoch(1), ZkVersion(0))
    ops = [SetData(name, b"x" * 30_000, 0) for name in names]

    results = run(session, write_fenced(fence, ops, lambda _op, _sight: None))

    assert results == [1] * len(names)


def test_watches_set_in_bulk_fire_like_others(session: KazooSession) -> None:
    """What is missing is not watched; what is there is, once."""
    there = [f"/{n}" for n in range(30)]
    session.call([Create(path) for path in there])
    session.call([GetData(path, watch=True) for path in [*there, "/missing"]])
    session.call([GetChildren(path, watch=True) for path in [*there, "/missing"]])
    assert list(session.watch_events()) == []

    session.call([SetData("/3", b"x"), SetData("/3", b"y"), Create("/4/c"), Delete("/5")])
    session.call([Create("/missing")])

    assert list(session.watch_events()) == [
        WatchEvent(WatchKind.DATA_CHANGED, "/3"),
        WatchEvent(WatchKind.CHILDREN_CHANGED, "/4"),
        WatchEvent(WatchKind.DELETED, "/5"),
    ]


def test_a_watch_renewed_in_bulk_while_it_fires_is_not_forgotten(options: ZooKeeperOptions) -> None:
    """The event of the old watch must not be taken for the end of the new one."""
    with open_sessions(options) as open_one:
        watcher, writer = open_one(), open_one()
        paths = [f"/{n}" for n in range(20)]
        writer.call([Create(path) for path in paths])
        for round_number in range(50):
            watcher.call([GetData(path, watch=True) for path in paths])
            changing = threading.Thread(target=writer.call, args=([SetData("/7", b"x")],))
            changing.start()
            watcher.call([GetData(path, watch=True) for path in paths])
            changing.join()
            watcher.call([GetData(path, watch=True) for path in paths])
            watcher.watch_events()

            writer.call([SetData("/7", b"y")])

            heard = list(watcher.watch_events())
            assert heard == [WatchEvent(WatchKind.DATA_CHANGED, "/7")], round_number


def test_an_event_is_delivered_before_an_answer_that_shows_the_change(
    options: ZooKeeperOptions,
) -> None:
    """The library has a thread for each; whoever read the new data must have heard before."""
    heard: list[WatchEvent] = []
    watcher = KazooSession.open(options, on_watch=heard.append)
    try:
        with open_sessions(options) as open_one:
            writer = open_one()
            writer.call([Create("/a", b"0")])
            for n in range(300):
                watcher.call([GetData("/a", watch=True)])
                writer.call([SetData("/a", b"%d" % (n + 1))])
                (read,) = watcher.call([GetData("/a")])

                assert isinstance(read, Data)
                assert read.data == b"%d" % (n + 1)
                assert len(heard) == n + 1
    finally:
        watcher.close()


def test_a_session_can_be_used_by_several_threads(session: KazooSession) -> None:
    """Exchanges beside the controller's own run in the same session; no answer may be mixed up."""
    session.call([Create(f"/{n}", b"%d" % n) for n in range(8)])
    wrong: list[object] = []

    def read_own(n: int) -> None:
        for _ in range(100):
            (reply, many) = session.call([GetData(f"/{n}"), GetMany((f"/{n}",) * 30)])
            contents: set[object] = {reply.data} if isinstance(reply, Data) else {reply}
            if isinstance(many, Many):
                contents |= {item.data for item in many.items if isinstance(item, Data)}
            if contents != {b"%d" % n}:
                wrong.append(contents)

    threads = [threading.Thread(target=read_own, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# --- ends -----------------------------------------------------------------------------------


def test_a_session_that_has_expired_stays_so(options: ZooKeeperOptions) -> None:
    """The library would silently start another one, in which nobody has registered anything."""
    states: list[SessionState] = []
    session = KazooSession.open(options, on_state=states.append)
    session.call([Create("/e", ephemeral=True)])

    end_session(options, session.session_id, session.password, tries=10)

    wait_until(lambda: SessionState.LOST in states, "the session notices its end")
    assert list(session.call([GetData("/"), Multi((Check("/", 0),))])) == [EXPIRED, EXPIRED]
    with pytest.raises(SessionLost):
        run(session, read_one(GetData("/")))
    assert states[-1] is SessionState.LOST
    assert session.state is SessionState.LOST
    session.close()
    with open_sessions(options) as open_one:
        assert list(open_one().call([Exists("/e")])) == [Failed(ZkError.NO_NODE, "/e")]


def test_a_session_can_be_ended_only_once_and_with_its_password(options: ZooKeeperOptions) -> None:
    """Who guesses a session id cannot take a living controller's session."""
    with open_sessions(options) as open_one:
        session = open_one()
        stranger = end_session(options, session.session_id, b"x" * 16)

        assert stranger is SessionEnding.WAS_OVER
        assert isinstance(run(session, read_one(Exists("/"))), Done)
        end_session(options, session.session_id, session.password, tries=10)
        assert end_session(options, session.session_id, session.password) is SessionEnding.WAS_OVER


def test_an_abandoned_session_keeps_its_ephemerals_until_it_times_out(
    options: ZooKeeperOptions,
) -> None:
    """As after a crash: whoever waits for the ephemeral to go waits for the server."""
    with open_sessions(options) as open_one:
        other, session = open_one(), open_one()
        session.call([Create("/e", ephemeral=True)])

        session.abandon()

        assert list(session.call([Exists("/e")])) == [EXPIRED]
        assert isinstance(other.call([Exists("/e", watch=True)])[0], Done)
        ended = end_session(options, session.session_id, session.password)
        assert ended is SessionEnding.ENDED
        assert list(other.watch_events()) == [WatchEvent(WatchKind.DELETED, "/e")]


def test_the_owner_is_not_told_of_an_end_of_its_own_making(options: ZooKeeperOptions) -> None:
    """It would take it for the loss of the next session."""
    states: list[SessionState] = []

    KazooSession.open(options, on_state=states.append).close()
    KazooSession.open(options, on_state=states.append).abandon()

    assert states == []


# --- bad input ------------------------------------------------------------------------------


def test_a_chroot_that_is_not_there_is_named() -> None:
    """Otherwise the cluster would look empty, and be taken over as such."""
    address = shared_server().address
    options = ZooKeeperOptions(connect=f"{address}/no/such")

    with pytest.raises(BadInput, match=f"{address} has no znode /no/such; correct the chroot"):
        KazooSession.open(options)


def test_nobody_at_the_address_is_said_with_the_address() -> None:
    """And with what the network said; trying again is the caller's decision."""
    options = ZooKeeperOptions(connect="127.0.0.1:1", connect_timeout_ms=2000)

    with pytest.raises(ZooKeeperUnreachable, match=r"127\.0\.0\.1:1 within 2 s.*refused"):
        KazooSession.open(options)
    with pytest.raises(ZooKeeperUnreachable, match=r"127\.0\.0\.1:1 .* session 0x7.*refused"):
        end_session(options, 7, bytes(16))


def test_a_name_that_nobody_knows_is_said_too() -> None:
    """A slip of the pen is the most frequent reason."""
    options = ZooKeeperOptions(connect="no-such-host.invalid:2181", connect_timeout_ms=2000)

    with pytest.raises(ZooKeeperUnreachable, match=r"no-such-host\.invalid:2181"):
        KazooSession.open(options)


@pytest.mark.parametrize("connect", ["", "host:", "host:x", ":2181", "a:1,,b:2", "h:70000/x"])
def test_an_address_that_makes_no_sense_is_refused(connect: str) -> None:
    """At once, and with the form that is expected."""
    with pytest.raises(BadInput, match="expected host:port,host:port/chroot"):
        ZooKeeperOptions(connect=connect)


def test_addresses_are_read_as_kafka_reads_them() -> None:
    """The line is copied from a broker's configuration."""
    options = ZooKeeperOptions(connect="a:2182, b,[::1]:2183/kafka/east/")

    assert options.addresses() == (("a", 2182), ("b", 2181), ("::1", 2183))
    assert options.chroot == "/kafka/east"


def test_tls_files_that_are_missing_are_named(tmp_path: Path) -> None:
    """Before anything is connected."""
    tls = ZooKeeperTls(ca_file=tmp_path / "ca.pem")

    with pytest.raises(BadInput, match=r"ca\.pem is not there: TLS to ZooKeeper needs it"):
        KazooSession.open(ZooKeeperOptions(connect="127.0.0.1:1", tls=tls))


@pytest.mark.parametrize("is_multi", [False, True])
def test_a_znode_that_is_too_large_is_refused_here(session: KazooSession, is_multi: bool) -> None:  # noqa: FBT001 - pytest's way
    """The server would close the connection without a word, at every attempt."""
    large = Create("/large", b"x" * 1_100_000)
    request = Multi((Create("/small"), large)) if is_multi else large

    (reply,) = session.call([request])

    assert isinstance(reply, Failed)
    assert reply.error is ZkError.BAD_ARGUMENTS
    assert "/large" in reply.reason or "/small and 1 others" in reply.reason
    assert "ZooKeeper takes 1048575; make it smaller" in reply.reason
    assert str(unexpected(reply)) == reply.reason
    assert list(session.call([Exists("/small")])) == [Failed(ZkError.NO_NODE, "/small")]


def test_the_largest_request_that_is_let_through_is_accepted(
    session: KazooSession, options: ZooKeeperOptions
) -> None:
    """Our limit is the server's, to the byte: a client that is too careful refuses what works."""
    frame_bytes = len(RequestEncoder(options.chroot).encode(Create("/large", b""))) + 4
    content = b"x" * (0xFFFFF - frame_bytes)

    replies = session.call([Create("/larger", content), Create("/large", content)])

    assert [type(reply) for reply in replies] == [Failed, Done]
    (read,) = session.call([GetData("/large")])
    assert isinstance(read, Data)
    assert read.data == content


def test_a_bad_path_in_a_multi_is_named_by_its_place(session: KazooSession) -> None:
    """As the twin does it; the chroot would make `/roota` of it."""
    (reply,) = session.call([Multi((Create("/a"), Create("a"), Create("/b")))])

    assert isinstance(reply, MultiFailed)
    assert (reply.error, reply.index) == (ZkError.BAD_ARGUMENTS, 1)
    assert list(session.call([Exists("/a")])) == [Failed(ZkError.NO_NODE, "/a")]


def test_what_was_created_is_named_without_the_chroot(session: KazooSession) -> None:
    """In single answers, in multis, and with a number behind it."""
    (single, multi) = session.call(
        [Create("/a"), Multi((Create("/a/b"), Create("/a/q-", sequential=True)))]
    )

    assert isinstance(single, Done)
    assert isinstance(multi, MultiDone)
    assert [single.path, *(done.path for done in multi.results)] == [
        "/a",
        "/a/b",
        "/a/q-0000000001",
    ]
    (listed,) = session.call([GetChildren("/a")])
    assert isinstance(listed, Children)
    assert listed.names == ("b", "q-0000000001")
