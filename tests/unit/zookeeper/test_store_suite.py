"""What every ZooKeeper must do, asked through the Session protocol alone.

Another store joins by a parameter of `open_session`; no test here knows which one it speaks to.
Zxids are only ever compared with each other.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pytest

from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import (
    Answered,
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
    Session,
    SetData,
    Stat,
    WatchEvent,
    WatchKind,
    ZkError,
)
from tests.support.real_zookeeper import fresh_options, open_sessions

Opener: TypeAlias = Callable[[], Session]


@pytest.fixture(params=["memory", "real"])
def open_session(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens any number of sessions with one empty server, or one empty chroot of a real one."""
    if request.param == "memory":
        server = MemoryZooKeeper()
        yield lambda: MemorySession(server)
    else:
        with open_sessions(fresh_options()) as open_one:
            yield open_one


def ask(session: Session, *requests: Request) -> Sequence[Answered]:
    return session.call(requests)


def data_of(session: Session, path: str) -> bytes | None:
    (reply,) = ask(session, GetData(path))
    assert isinstance(reply, Data)
    return reply.data


def stat_of(session: Session, path: str) -> Stat:
    (reply,) = ask(session, Exists(path))
    assert isinstance(reply, Done)
    assert reply.stat is not None
    return reply.stat


def no_node(path: str) -> Failed:
    return Failed(ZkError.NO_NODE, path)


# --- data and versions ----------------------------------------------------------------------


def test_a_znode_starts_at_version_0_and_each_write_counts(open_session: Opener) -> None:
    """The version is the partition epoch of Kafka: it must count writes, all of them."""
    session = open_session()

    ask(session, Create("/a", b"1"), SetData("/a", b"2"), SetData("/a", b"2", 1))

    assert stat_of(session, "/a").version == 2
    assert data_of(session, "/a") == b"2"


def test_a_stale_version_changes_nothing(open_session: Opener) -> None:
    """Compare-and-set is the only lock that controllers have."""
    session = open_session()
    ask(session, Create("/a", b"1"), SetData("/a", b"2"))

    replies = ask(session, SetData("/a", b"x", 0), Delete("/a", 0), SetData("/a", b"x", 7))

    assert list(replies) == [Failed(ZkError.BAD_VERSION, "/a")] * 3
    assert data_of(session, "/a") == b"2"


def test_null_data_is_not_empty_data(open_session: Opener) -> None:
    """Kafka reads null as nothing yet, and fails to parse a content of length zero."""
    session = open_session()

    ask(
        session, Create("/null"), Create("/empty", b""), Create("/was", b"x"), SetData("/was", None)
    )

    assert [data_of(session, path) for path in ("/null", "/empty", "/was")] == [None, b"", None]


def test_czxid_names_one_life_and_mzxid_the_last_write(open_session: Opener) -> None:
    """The broker epoch is a czxid: a new life must have a larger one, an update the same."""
    session = open_session()
    ask(session, Create("/a"))
    born = stat_of(session, "/a")
    ask(session, SetData("/a", b"x"))
    written = stat_of(session, "/a")
    ask(session, Delete("/a"), Create("/a"))
    reborn = stat_of(session, "/a")

    assert born.czxid == born.mzxid
    assert written.czxid == born.czxid
    assert born.mzxid < written.mzxid < reborn.czxid
    assert reborn == Stat(czxid=reborn.czxid, mzxid=reborn.czxid, version=0)


def test_what_is_missing_is_named(open_session: Opener) -> None:
    """Every request on a missing znode says so itself; a bulk read says it for each."""
    session = open_session()
    ask(session, Create("/a", b"1"))
    there = Data(b"1", stat_of(session, "/a"))

    replies = ask(
        session,
        GetData("/x"),
        Exists("/x"),
        GetChildren("/x"),
        SetData("/x", b""),
        Delete("/x"),
        Create("/x/y"),
        GetMany(("/a", "/x", "/a")),
    )

    assert list(replies) == [
        *[no_node("/x")] * 5,
        no_node("/x/y"),
        Many((there, no_node("/x"), there)),
    ]


def test_a_path_must_be_absolute_and_plain(open_session: Opener) -> None:
    """A slip in a path is an error at once, not a znode that nobody finds again."""
    session = open_session()

    replies = ask(session, Create("a"), Create("/a/"), Create("//a"))

    assert [reply.error for reply in replies if isinstance(reply, Failed)] == [
        ZkError.BAD_ARGUMENTS
    ] * 3


# --- parents and children -------------------------------------------------------------------


def test_children_are_listed_sorted_and_their_changes_counted(open_session: Opener) -> None:
    """The order must not depend on who came first; cversion counts comings and goings."""
    session = open_session()
    ask(session, Create("/p"), Create("/p/b"), Create("/p/a"), Create("/p/c"), Delete("/p/b"))

    (reply,) = ask(session, GetChildren("/p"))

    stat = stat_of(session, "/p")
    assert reply == Children(("a", "c"), stat)
    assert (stat.version, stat.cversion, stat.child_count) == (0, 4, 2)


def test_a_parent_cannot_go_before_its_children(open_session: Opener) -> None:
    """Deletion of a topic is bottom up because of this."""
    session = open_session()
    ask(session, Create("/p"), Create("/p/c"))

    replies = ask(session, Delete("/p"), Delete("/p/c"), Delete("/p"), Exists("/p"))

    assert list(replies) == [
        Failed(ZkError.NOT_EMPTY, "/p"),
        Done("/p/c"),
        Done("/p"),
        no_node("/p"),
    ]


def test_a_second_creation_is_refused(open_session: Opener) -> None:
    """Whoever comes second must learn of it: this is how controllers are elected."""
    session = open_session()
    ask(session, Create("/a", b"first"))

    assert list(ask(session, Create("/a", b"second"))) == [Failed(ZkError.NODE_EXISTS, "/a")]
    assert data_of(session, "/a") == b"first"


def test_sequential_numbers_grow_and_are_never_used_again(open_session: Opener) -> None:
    """A notification must not take the number of one already deleted."""
    session = open_session()
    ask(session, Create("/q"))

    replies = ask(
        session,
        Create("/q/n_", sequential=True),
        Create("/q/n_", sequential=True),
        Delete("/q/n_0000000001"),
        Create("/q/n_", sequential=True),
    )

    assert [reply.path for reply in replies if isinstance(reply, Done)] == [
        "/q/n_0000000000",
        "/q/n_0000000001",
        "/q/n_0000000001",
        "/q/n_0000000002",
    ]


# --- ephemerals -----------------------------------------------------------------------------


@pytest.mark.behaviour("zk-033")
def test_an_ephemeral_dies_with_its_session_only(open_session: Opener) -> None:
    """Liveness is nothing but this: the end of a session is the end of what it held."""
    mine, theirs = open_session(), open_session()
    ask(mine, Create("/mine", ephemeral=True), Create("/stays"))
    ask(theirs, Create("/theirs", ephemeral=True))
    assert stat_of(theirs, "/mine").ephemeral_owner == mine.session_id

    mine.close()

    (reply,) = ask(theirs, GetChildren("/"))
    assert isinstance(reply, Children)
    assert {"mine", "theirs", "stays"} & set(reply.names) == {"theirs", "stays"}


def test_an_ephemeral_has_no_children(open_session: Opener) -> None:
    """Otherwise a session's end would leave orphans."""
    session = open_session()
    ask(session, Create("/e", ephemeral=True))

    assert list(ask(session, Create("/e/c"))) == [
        Failed(ZkError.NO_CHILDREN_FOR_EPHEMERALS, "/e/c")
    ]


def test_a_closed_session_is_answered_with_its_end(open_session: Opener) -> None:
    """Every kind of request, so that nobody goes on believing."""
    session = open_session()
    session.close()

    replies = ask(
        session,
        GetData("/"),
        Exists("/"),
        GetChildren("/"),
        GetMany(("/",)),
        Create("/a"),
        SetData("/", b""),
        Delete("/a"),
        Multi((Check("/", 0),)),
    )

    assert list(replies) == [Failed(ZkError.SESSION_EXPIRED)] * 8


# --- multi ----------------------------------------------------------------------------------


def test_a_multi_sees_its_own_earlier_ops(open_session: Opener) -> None:
    """A parent and its child, or a delete and a new creation, fit into one step."""
    session = open_session()
    ask(session, Create("/old", b"1"))

    (reply,) = ask(
        session,
        Multi(
            (
                Create("/p"),
                Create("/p/c", b"x"),
                SetData("/p/c", b"y", 0),
                Delete("/old"),
                Create("/old", b"2"),
                Check("/p/c", 1),
            )
        ),
    )

    assert isinstance(reply, MultiDone)
    assert [result.path for result in reply.results] == [
        "/p",
        "/p/c",
        "/p/c",
        "/old",
        "/old",
        "/p/c",
    ]
    assert (data_of(session, "/p/c"), data_of(session, "/old")) == (b"y", b"2")
    assert reply.results[2].stat == stat_of(session, "/p/c")


def test_a_multi_is_one_change(open_session: Opener) -> None:
    """All its znodes carry the same zxid, and the next change another."""
    session = open_session()
    ask(session, Multi((Create("/a"), Create("/b"), SetData("/a", b"x"))), Create("/c"))

    a, b, c = (stat_of(session, path) for path in ("/a", "/b", "/c"))

    assert a.czxid == a.mzxid == b.czxid < c.czxid


@pytest.mark.parametrize(
    ("ops", "error", "index"),
    [
        ((Check("/a", 1), SetData("/a", b"x")), ZkError.BAD_VERSION, 0),
        ((Check("/x", 0), SetData("/a", b"x")), ZkError.NO_NODE, 0),
        ((Check("/a", 0), SetData("/a", b"x", 3)), ZkError.BAD_VERSION, 1),
        ((SetData("/a", b"x"), Create("/b"), Create("/b"), Delete("/a")), ZkError.NODE_EXISTS, 2),
        ((Create("/b"), Create("/b/c"), Delete("/b")), ZkError.NOT_EMPTY, 2),
        ((Delete("/a"), SetData("/a", b"x")), ZkError.NO_NODE, 1),
    ],
)
def test_a_failing_multi_changes_nothing_and_names_the_op(
    open_session: Opener,
    ops: tuple[Create | SetData | Delete | Check, ...],
    error: ZkError,
    index: int,
) -> None:
    """The fence is such an op; whoever fails must learn whether it was the fence."""
    session = open_session()
    ask(session, Create("/a", b"1"))
    before = ask(session, GetData("/a"), GetChildren("/"))

    (reply,) = ask(session, Multi(ops))

    later = [ZkError.RUNTIME_INCONSISTENCY] * (len(ops) - index - 1)
    assert reply == MultiFailed(error, index, (*[ZkError.OK] * index, error, *later))
    assert list(ask(session, GetData("/a"), GetChildren("/"))) == list(before)


# --- watches --------------------------------------------------------------------------------


@pytest.mark.behaviour("zk-028")
def test_a_watch_on_a_missing_znode_sees_its_creation(open_session: Opener) -> None:
    """Only Exists can watch for what is not there yet: the next controller."""
    watcher, writer = open_session(), open_session()
    ask(watcher, Exists("/a", watch=True), GetData("/b", watch=True), GetChildren("/b", watch=True))

    ask(writer, Create("/a"), Create("/b"))

    assert list(watcher.watch_events()) == [WatchEvent(WatchKind.CREATED, "/a")]


@pytest.mark.parametrize("look", [GetData("/a", watch=True), Exists("/a", watch=True)])
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (SetData("/a", b"x"), WatchKind.DATA_CHANGED),
        (Delete("/a"), WatchKind.DELETED),
    ],
)
def test_a_data_watch_fires_once(
    open_session: Opener, look: Request, change: Request, kind: WatchKind
) -> None:
    """One look, one event: who wants to hear more must look again."""
    watcher, writer = open_session(), open_session()
    ask(writer, Create("/a"))
    ask(watcher, look, look)

    ask(writer, change, Delete("/a"), Create("/a"), SetData("/a", b"y"))

    assert list(watcher.watch_events()) == [WatchEvent(kind, "/a")]
    assert list(watcher.watch_events()) == []


def test_a_child_watch_fires_once_for_comings_and_goings(open_session: Opener) -> None:
    """A change of a child's data is not a change of the list."""
    watcher, writer = open_session(), open_session()
    ask(writer, Create("/p"), Create("/p/a"))
    changed = [WatchEvent(WatchKind.CHILDREN_CHANGED, "/p")]

    ask(watcher, GetChildren("/p", watch=True))
    ask(writer, SetData("/p/a", b"x"), SetData("/p", b"x"))
    assert list(watcher.watch_events()) == []
    ask(writer, Create("/p/b"), Create("/p/c"))
    assert list(watcher.watch_events()) == changed
    ask(watcher, GetChildren("/p", watch=True))
    ask(writer, Delete("/p/b"), Delete("/p/c"))
    assert list(watcher.watch_events()) == changed


def test_a_deletion_is_told_once_to_who_watched_data_and_children(open_session: Opener) -> None:
    """And the parent's watchers hear of a changed list."""
    both, children, above, writer = (open_session() for _ in range(4))
    ask(writer, Create("/p"), Create("/p/a"))
    ask(both, GetData("/p/a", watch=True), GetChildren("/p/a", watch=True))
    ask(children, GetChildren("/p/a", watch=True))
    ask(above, GetChildren("/p", watch=True))

    ask(writer, Delete("/p/a"))

    gone = WatchEvent(WatchKind.DELETED, "/p/a")
    changed = WatchEvent(WatchKind.CHILDREN_CHANGED, "/p")
    assert [list(session.watch_events()) for session in (both, children, above)] == [
        [gone],
        [gone],
        [changed],
    ]


def test_the_end_of_a_session_fires_watches(open_session: Opener) -> None:
    """A dead controller is noticed by nothing else."""
    watcher, dying = open_session(), open_session()
    ask(dying, Create("/e", ephemeral=True))
    ask(watcher, Exists("/e", watch=True), GetChildren("/", watch=True))

    dying.close()

    assert list(watcher.watch_events()) == [
        WatchEvent(WatchKind.DELETED, "/e"),
        WatchEvent(WatchKind.CHILDREN_CHANGED, "/"),
    ]


def test_a_failed_multi_fires_nothing_and_a_good_one_all_in_order(open_session: Opener) -> None:
    """What did not happen must not be heard of."""
    watcher, writer = open_session(), open_session()
    ask(writer, Create("/a"), Create("/b"))
    ask(watcher, GetData("/a", watch=True), GetData("/b", watch=True), Exists("/c", watch=True))

    ask(writer, Multi((SetData("/a", b"x"), Delete("/b"), Create("/c"), Check("/a", 9))))
    assert list(watcher.watch_events()) == []

    ask(writer, Multi((SetData("/b", b"x"), Create("/c"), Delete("/a"))))
    assert list(watcher.watch_events()) == [
        WatchEvent(WatchKind.DATA_CHANGED, "/b"),
        WatchEvent(WatchKind.CREATED, "/c"),
        WatchEvent(WatchKind.DELETED, "/a"),
    ]


def test_the_event_is_there_before_the_data_it_tells_of(open_session: Opener) -> None:
    """Who has read the new data finds the event of the old watch waiting already."""
    watcher, writer = open_session(), open_session()
    ask(writer, Create("/a", b"old"))
    ask(watcher, GetData("/a", watch=True))
    ask(writer, SetData("/a", b"new"))

    read = data_of(watcher, "/a")

    assert read == b"new"
    assert list(watcher.watch_events()) == [WatchEvent(WatchKind.DATA_CHANGED, "/a")]
