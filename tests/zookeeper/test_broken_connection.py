"""A connection that breaks under a session, at bad moments: through a wire that can be cut."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from regent.core.asks import Fence
from regent.model.ids import ControllerEpoch, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import read_many, read_one, run
from regent.zookeeper.fencing import Op, Sight, write_fenced
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_call import IN_FLIGHT
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import (
    Answered,
    Check,
    Create,
    Data,
    Done,
    Exists,
    Failed,
    GetChildren,
    GetData,
    GetMany,
    Many,
    Multi,
    MultiDone,
    Request,
    SetData,
    WatchEvent,
    WatchKind,
    ZkError,
)
from tests.support.real_zookeeper import fresh_options, open_sessions, shared_server
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until

LOST = Failed(ZkError.CONNECTION_LOSS)
FENCE = Fence(ControllerEpoch(1), ZkVersion(0))


class Stage:
    """A session behind a wire, and somebody who looks from the side."""

    def __init__(self, proxy: TcpProxy, options: ZooKeeperOptions, other: KazooSession) -> None:
        self.proxy = proxy
        self.other = other
        self.heard: list[WatchEvent] = []
        self.states: list[SessionState] = []
        direct, through = shared_server().address, proxy.address
        self.options = ZooKeeperOptions(
            connect=options.connect.replace(direct, through),
            session_timeout_ms=options.session_timeout_ms,
        )
        self.session = KazooSession.open(
            self.options, on_watch=self.heard.append, on_state=self.states.append
        )

    def version(self, path: str) -> int:
        """How often a znode has been written, seen from the side."""
        (reply,) = self.other.call([GetData(path)])
        assert isinstance(reply, Data)
        return reply.stat.version

    def wait_for(self, state: SessionState) -> None:
        """Until the session is as it should be."""
        wait_until(lambda: self.session.state is state, f"the session is {state.name}")

    def call_and_cut(self, requests: Sequence[Request], arrived: str) -> list[Answered]:
        """Cut the wire when the server has carried out a write that nobody was told of."""
        answers: list[Answered] = []
        self.proxy.hold_replies()
        asking = threading.Thread(target=lambda: answers.extend(self.session.call(requests)))
        asking.start()
        wait_until(lambda: self.version(arrived) > 0, "the server has carried it out")
        self.proxy.cut()
        asking.join()
        return answers


@contextmanager
def set_up(session_timeout_ms: int) -> Iterator[Stage]:
    options = fresh_options(session_timeout_ms=session_timeout_ms)
    server = shared_server()
    with open_sessions(options) as open_one, TcpProxy(("127.0.0.1", server.port)) as proxy:
        other = open_one()
        made = Stage(proxy, options, other)
        yield made
        made.session.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    with set_up(session_timeout_ms=30_000) as made:
        yield made


def test_a_bulk_write_that_is_cut_off_is_answered_with_loss(stage: Stage) -> None:
    """What was sent may have happened, and what was not sent must not happen later."""
    names = [f"/{n}" for n in range(IN_FLIGHT * 3)]
    stage.other.call([Create(name) for name in names])
    writes = [Multi((SetData(name, b"x", 0),)) for name in names]

    answers = stage.call_and_cut(writes, arrived=names[IN_FLIGHT - 1])

    assert answers == [LOST] * len(names)
    assert stage.session.state is SessionState.CONNECTED
    assert [stage.version(name) for name in names] == [1] * IN_FLIGHT + [0] * (IN_FLIGHT * 2)
    (reply,) = stage.session.call([Multi((Check("/0", 1), SetData(names[-1], b"y", 0)))])
    assert isinstance(reply, MultiDone)


def test_a_fenced_bulk_write_finds_out_what_was_written(stage: Stage) -> None:
    """Each znode is written once, and its writer learns the version, cut or no cut."""
    names = [f"/{n}" for n in range(6000)]
    stage.other.call([Multi((Create(paths.CONTROLLER_EPOCH), *map(Create, names)))])
    ops: list[Op] = [SetData(name, name.encode(), 0) for name in names]
    results: list[object] = []

    def judge(op: Op, sight: Sight) -> ZkVersion | None:
        assert sight.found is not None
        assert isinstance(op, SetData)
        return ZkVersion(sight.found.stat.version) if sight.found.data == op.data else None

    stage.proxy.hold_replies()
    writing = threading.Thread(
        target=lambda: results.extend(run(stage.session, write_fenced(FENCE, ops, judge)))
    )
    writing.start()
    wait_until(lambda: stage.version("/0") > 0, "some of it has been carried out")
    stage.proxy.cut()
    writing.join()

    assert results == [1] * len(names)
    found = run(stage.other, read_many(names))
    assert [(each.data, each.stat.version) for each in found if each is not None] == [
        (name.encode(), 1) for name in names
    ]


def test_watches_outlive_their_connection(stage: Stage) -> None:
    """What happened while nobody listened is told; what did not happen is told when it does."""
    stage.other.call([Create(path) for path in ("/data", "/gone", "/parent", "/quiet")])
    reads = [GetData(path, watch=True) for path in ("/data", "/gone", "/quiet")]
    stage.session.call([*reads, GetChildren("/parent", watch=True), Exists("/new", watch=True)])

    stage.proxy.part()
    stage.wait_for(SessionState.SUSPENDED)
    stage.other.call([SetData("/data", b"x"), Multi((Create("/parent/c"), Create("/new")))])
    stage.proxy.heal()
    run(stage.session, read_one(Exists("/")))

    assert sorted(stage.heard, key=lambda event: event.path) == [
        WatchEvent(WatchKind.DATA_CHANGED, "/data"),
        WatchEvent(WatchKind.CREATED, "/new"),
        WatchEvent(WatchKind.CHILDREN_CHANGED, "/parent"),
    ]
    stage.heard.clear()
    stage.other.call([SetData("/quiet", b"x"), SetData("/data", b"y")])
    run(stage.session, read_one(Exists("/")))
    assert stage.heard == [WatchEvent(WatchKind.DATA_CHANGED, "/quiet")]


def test_many_watches_outlive_their_connection(stage: Stage) -> None:
    """They are set again in a few frames; a cluster has thousands."""
    names = [f"/{n}" for n in range(2500)]
    stage.other.call([Multi(tuple(map(Create, names)))])
    stage.session.call([GetData(name, watch=True) for name in names])

    stage.proxy.cut()
    wait_until(lambda: SessionState.SUSPENDED in stage.states, "the cut is noticed")
    stage.wait_for(SessionState.CONNECTED)
    stage.other.call([Multi(tuple(SetData(name, b"x") for name in names))])
    run(stage.session, read_one(Exists("/")))

    assert stage.heard == [WatchEvent(WatchKind.DATA_CHANGED, name) for name in names]


def test_who_asks_without_a_connection_waits_for_it(stage: Stage) -> None:
    """Answers that come at once would be a busy loop; the session may live."""
    answers: list[Answered] = []
    stage.proxy.part()
    stage.wait_for(SessionState.SUSPENDED)
    asking = threading.Thread(target=lambda: answers.extend(stage.session.call([Exists("/")])))
    asking.start()

    stage.proxy.heal()
    asking.join()

    assert [type(answer) for answer in answers] == [Done]
    assert stage.states == [SessionState.SUSPENDED, SessionState.CONNECTED]


def test_a_read_that_is_cut_off_can_be_asked_again(stage: Stage) -> None:
    """A bulk read is lost as a whole: half of it would be a guess."""
    names = tuple(f"/{n}" for n in range(3000))
    stage.other.call([Multi(tuple(map(Create, names)))])

    first: list[Request] = [SetData("/0", b"x"), GetMany(names), GetMany(names[:10])]
    answers = stage.call_and_cut(first, arrived="/0")

    assert answers == [LOST] * 3
    again = run(stage.session, read_one(GetMany(names)))
    assert isinstance(again, Many)
    assert len(again.items) == 3000


def test_an_ephemeral_survives_a_broken_connection(stage: Stage) -> None:
    """The session goes on, and so does all that hangs on it."""
    stage.session.call([Create("/e", ephemeral=True)])
    session_id = stage.session.session_id

    stage.proxy.cut()
    wait_until(lambda: SessionState.SUSPENDED in stage.states, "the cut is noticed")
    stage.wait_for(SessionState.CONNECTED)

    reply = run(stage.session, read_one(Exists("/e")))
    assert isinstance(reply, Done)
    assert reply.stat is not None
    assert reply.stat.ephemeral_owner == session_id == stage.session.session_id


@pytest.mark.requirement("E4")
def test_a_server_that_never_answers_is_asked_again_in_time() -> None:
    """Seen of ZooKeepers that have just started: who waits for such a one loses the session."""
    with set_up(session_timeout_ms=9_000) as stage:
        stage.session.call([Create("/mine", ephemeral=True)])

        stage.proxy.ignore_next()
        stage.proxy.cut()
        stage.wait_for(SessionState.SUSPENDED)
        wait_until(
            lambda: stage.session.state is not SessionState.SUSPENDED, "the session has gone on"
        )

        assert stage.states == [SessionState.SUSPENDED, SessionState.CONNECTED]
        assert stage.version("/mine") == 0
