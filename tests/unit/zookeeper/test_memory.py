"""What only the twin can show: expiry and broken connections on demand, and a model of multi."""

from hypothesis import given
from hypothesis import strategies as st

from regent.zookeeper.memory import MemoryZooKeeper, Watch, Watched
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import (
    Check,
    Create,
    Data,
    Delete,
    Exists,
    Failed,
    GetChildren,
    GetData,
    Multi,
    MultiDone,
    MultiFailed,
    SetData,
    Stat,
    WatchEvent,
    WatchKind,
    ZkError,
)

LOST = Failed(ZkError.CONNECTION_LOSS)

# --- sessions -------------------------------------------------------------------------------


def test_an_expired_session_takes_its_ephemerals_along_in_one_change() -> None:
    """All die at once: nobody may see half of a dead session."""
    server = MemoryZooKeeper()
    dying, living = server.open_session(), server.open_session()
    for path in ("/z", "/a"):
        server.handle(dying, Create(path, ephemeral=True))
        server.handle(living, Exists(path, watch=True))

    server.expire_session(dying)

    assert (server.is_alive(dying), server.is_alive(living)) == (False, True)
    assert server.dump() == {}
    assert server.handle(dying, GetData("/")) == Failed(ZkError.SESSION_EXPIRED)
    assert server.take_events(living) == [
        WatchEvent(WatchKind.DELETED, "/z"),
        WatchEvent(WatchKind.DELETED, "/a"),
    ]


def test_session_ids_count_from_1() -> None:
    """A run of the simulator must not depend on where an id came from."""
    server = MemoryZooKeeper()

    assert [server.open_session() for _ in range(3)] == [1, 2, 3]


def test_ending_a_session_twice_does_nothing() -> None:
    """A client may close what the server has just expired."""
    server = MemoryZooKeeper()
    session_id = server.open_session()
    server.expire_session(session_id)

    server.close_session(session_id)

    assert (server.take_events(session_id), server.drop_watches(session_id)) == ([], ())


def test_a_dead_sessions_watches_do_not_fire() -> None:
    """Nor does its own death fire them."""
    server = MemoryZooKeeper()
    dying, living = server.open_session(), server.open_session()
    server.handle(dying, Create("/e", ephemeral=True))
    server.handle(dying, GetData("/e", watch=True))
    server.expire_session(dying)

    server.handle(living, Create("/e"))

    assert server.take_events(dying) == []


def test_checkers_see_everything_without_a_session() -> None:
    """What a checker reads must not leave traces, nor need a session."""
    server = MemoryZooKeeper()
    session_id = server.open_session()
    server.handle(session_id, Create("/b", b"1"))
    server.handle(session_id, Create("/a"))
    server.handle(session_id, SetData("/b", b"2"))

    assert server.dump() == {"/a": (None, 0), "/b": (b"2", 1)}
    assert server.peek("/b") == Data(b"2", Stat(czxid=1, mzxid=3, version=1))
    assert server.peek("/c") is None


# --- broken connections ---------------------------------------------------------------------


def test_a_lost_connection_hides_whether_the_request_arrived() -> None:
    """The client sees the same in both cases; that is the whole difficulty."""
    for applied, expected in (
        (True, {"/a": (None, 0), "/b": (None, 0)}),
        (False, {"/a": (None, 0)}),
    ):
        server = MemoryZooKeeper()
        session = MemorySession(server)
        session.lose_connection(1, applied=applied)

        replies = session.call([Create("/a"), Create("/b"), Create("/c")])

        assert list(replies[1:]) == [LOST, LOST]
        assert server.dump() == expected


def test_the_call_after_a_lost_connection_is_answered() -> None:
    """The session survives its connection."""
    server = MemoryZooKeeper()
    session = MemorySession(server)
    session.call([Create("/e", ephemeral=True)])
    session.lose_connection(0, applied=False)
    session.call([GetData("/e")])

    (reply,) = session.call([GetData("/e")])

    assert reply == server.peek("/e")


def test_watches_are_lost_with_the_connection_and_named_once() -> None:
    """The client must look at all of them again, or it will never hear of a change."""
    server = MemoryZooKeeper()
    session, other = MemorySession(server), MemorySession(server)
    session.call([Create("/a"), GetData("/a", watch=True), GetChildren("/a", watch=True)])
    session.lose_connection(1, applied=True)
    session.call([Exists("/b", watch=True), Exists("/c", watch=True)])

    other.call([SetData("/a", b"x"), Create("/b"), Create("/c"), Create("/a/d")])

    assert list(session.watch_events()) == []
    assert session.lost_watches() == (
        Watch(Watched.DATA, "/a"),
        Watch(Watched.DATA, "/b"),
        Watch(Watched.DATA, "/c"),
        Watch(Watched.CHILDREN, "/a"),
    )
    assert session.lost_watches() == ()


def test_an_event_that_was_queued_survives_the_connection() -> None:
    """Its watch is spent, so nobody would look again because of `lost_watches`."""
    server = MemoryZooKeeper()
    session, other = MemorySession(server), MemorySession(server)
    session.call([Create("/a"), GetData("/a", watch=True)])
    other.call([SetData("/a", b"x")])
    session.lose_connection(0, applied=False)
    session.call([GetData("/a")])

    assert list(session.watch_events()) == [WatchEvent(WatchKind.DATA_CHANGED, "/a")]
    assert session.lost_watches() == ()


# --- multi against a model ------------------------------------------------------------------

Op = Create | SetData | Delete | Check
Model = dict[str, tuple[bytes | None, int]]

PATHS = st.sampled_from(["/a", "/a/b", "/a/b/c", "/d", "/d/e"])
VERSIONS = st.sampled_from([-1, -1, 0, 1])
CONTENTS = st.sampled_from([None, b"", b"x"])
OPS: st.SearchStrategy[Op] = st.one_of(
    st.builds(Create, PATHS, CONTENTS),
    st.builds(SetData, PATHS, CONTENTS, VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
    st.builds(Check, PATHS, VERSIONS),
)


def refusal_of(model: Model, op: Op) -> ZkError:
    """ZooKeeper's rules, written a second time on a bare dict."""
    if isinstance(op, Create):
        parent = op.path[: op.path.rindex("/")]
        if parent and parent not in model:
            return ZkError.NO_NODE
        return ZkError.NODE_EXISTS if op.path in model else ZkError.OK
    if op.path not in model:
        return ZkError.NO_NODE
    if op.version not in (-1, model[op.path][1]):
        return ZkError.BAD_VERSION
    has_children = any(path.startswith(f"{op.path}/") for path in model)
    return ZkError.NOT_EMPTY if isinstance(op, Delete) and has_children else ZkError.OK


def apply_to_model(model: Model, op: Op) -> ZkError:
    """Carry the op out on the dict, unless it is refused."""
    refusal = refusal_of(model, op)
    if refusal is ZkError.OK:
        if isinstance(op, Create):
            model[op.path] = (op.data, 0)
        elif isinstance(op, SetData):
            model[op.path] = (op.data, model[op.path][1] + 1)
        elif isinstance(op, Delete):
            del model[op.path]
    return refusal


@given(st.lists(st.lists(OPS, min_size=1, max_size=6), max_size=12))
def test_a_multi_is_its_ops_one_by_one_or_nothing(multis: list[list[Op]]) -> None:
    """Whatever the ops, a failing multi leaves no trace, not even in a parent's counters."""
    server = MemoryZooKeeper()
    session_id = server.open_session()
    model: Model = {}

    for ops in multis:
        before = {path: server.peek(path) for path in ("/", *server.dump())}
        attempt = dict(model)
        errors = [apply_to_model(attempt, op) for op in ops]
        failed_at = next((i for i, error in enumerate(errors) if error is not ZkError.OK), None)

        reply = server.handle(session_id, Multi(tuple(ops)))

        if failed_at is None:
            model = attempt
            assert isinstance(reply, MultiDone)
        else:
            assert isinstance(reply, MultiFailed)
            assert (reply.index, reply.error) == (failed_at, errors[failed_at])
            assert {path: server.peek(path) for path in ("/", *server.dump())} == before
        assert server.dump() == dict(sorted(model.items()))


@given(st.lists(st.tuples(st.booleans(), PATHS), max_size=20))
def test_an_undone_ephemeral_is_nobodys(steps: list[tuple[bool, str]]) -> None:
    """What a failed multi created or deleted must not come up at the end of the session."""
    server = MemoryZooKeeper()
    session_id = server.open_session()
    for create, path in steps:
        op = Create(path, ephemeral=True) if create else Delete(path)
        server.handle(session_id, Multi((op, Check("/nowhere", 0))))
        server.handle(session_id, op)
        server.handle(session_id, Multi((Delete(path), Check("/nowhere", 0))))

    server.close_session(session_id)

    assert server.dump() == {}
