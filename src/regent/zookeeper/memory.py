"""A ZooKeeper in memory: sessions, watches and atomic requests over a tree of znodes.

The twin of the real one, for tests and for the simulator; one thread, no clock, no chance. A
change queues its watch events in the sessions' outboxes before anybody can be answered with what
it did. A driver that takes a session's events before it delivers each reply therefore keeps
ZooKeeper's promise that a client hears of a change before it can read it.

Zxids count successful changes. Real servers spend some on sessions and failures too, so only
their order means anything.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from msgspec import Struct

from regent.zookeeper.paths import parent
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
    SetData,
    WatchEvent,
    WatchKind,
    ZkError,
)
from regent.zookeeper.tree import Applied, Change, ZnodeTree


class Watched(Enum):
    """What a watch is about. Looking at data and looking whether it exists are the same."""

    DATA = auto()
    CHILDREN = auto()


class Watch(Struct, frozen=True):
    """A watch that has not fired yet."""

    watched: Watched
    path: str


class _WatchTable:
    """The watches of one kind; both dicts hold the same pairs, in the order of their setting."""

    def __init__(self) -> None:
        self._sessions_at: dict[str, dict[int, None]] = {}
        self._paths_of: dict[int, dict[str, None]] = {}

    def add(self, session_id: int, path: str) -> None:
        self._sessions_at.setdefault(path, {})[session_id] = None
        self._paths_of.setdefault(session_id, {})[path] = None

    def fire(self, path: str) -> dict[int, None]:
        """Who watched this path; now they do no more."""
        session_ids = self._sessions_at.pop(path, {})
        for session_id in session_ids:
            del self._paths_of[session_id][path]
        return session_ids

    def forget(self, session_id: int) -> tuple[str, ...]:
        """Drop the watches of one session, and say where they were."""
        forgotten = tuple(self._paths_of.pop(session_id, ()))
        for path in forgotten:
            session_ids = self._sessions_at[path]
            del session_ids[session_id]
            if not session_ids:
                del self._sessions_at[path]
        return forgotten


class MemoryZooKeeper:
    """The server. Requests come with the id of an open session and are carried out at once."""

    def __init__(self) -> None:
        self._tree = ZnodeTree()
        self._zxid = 0
        #: Shown every change as it becomes final, for those who check a whole history.
        self.on_change: Callable[[Change], None] | None = None
        #: Each live session's outbox.
        self._sessions: dict[int, list[WatchEvent]] = {}
        self._opened_count = 0
        self._data_watches = _WatchTable()
        self._child_watches = _WatchTable()
        self._handlers: Mapping[type, Callable[[int, Any], Answered]] = {
            GetData: self._get_data,
            Exists: self._exists,
            GetChildren: self._get_children,
            GetMany: self._get_many,
            Create: self._change_one,
            SetData: self._change_one,
            Delete: self._change_one,
            Multi: self._multi,
        }
        self._appliers: Mapping[type, Callable[[Any, Change], Applied]] = {
            Create: self._tree.create,
            SetData: self._tree.set,
            Delete: self._tree.delete,
            Check: self._tree.check,
        }

    # --- sessions ---------------------------------------------------------------------------

    def open_session(self) -> int:
        """A new session; the ids are 1, 2, 3, ..."""
        self._opened_count += 1
        self._sessions[self._opened_count] = []
        return self._opened_count

    def is_alive(self, session_id: int) -> bool:
        """Whether the session has neither been closed nor expired."""
        return session_id in self._sessions

    def close_session(self, session_id: int) -> None:
        """End a session: its watches are forgotten and its ephemerals die in one change."""
        if self._sessions.pop(session_id, None) is None:
            return
        self.drop_watches(session_id)
        change = Change(self._zxid + 1, session_id)
        for path in self._tree.ephemerals(session_id):
            applied = self._tree.delete(Delete(path), change)
            assert isinstance(applied, Done), "an ephemeral has no children"
        if change.happened:
            self._finish(change)

    def expire_session(self, session_id: int) -> None:
        """The server gives a silent client up; to the client it makes no difference."""
        self.close_session(session_id)

    def take_events(self, session_id: int) -> list[WatchEvent]:
        """The watch events queued for a session, which are then its client's to deliver."""
        taken = self._sessions.get(session_id, [])
        if taken:
            self._sessions[session_id] = []
        return taken

    def drop_watches(self, session_id: int) -> tuple[Watch, ...]:
        """Forget what a session watches, as when its connection breaks; says what to look at again.

        Events already queued stay: a real client would hear of those changes when it sets its
        watches again.
        """
        return (
            *(Watch(Watched.DATA, path) for path in self._data_watches.forget(session_id)),
            *(Watch(Watched.CHILDREN, path) for path in self._child_watches.forget(session_id)),
        )

    # --- looking from outside ---------------------------------------------------------------

    def dump(self) -> dict[str, tuple[bytes | None, int]]:
        """Every znode's data and version by path, sorted, without the root."""
        nodes = self._tree.nodes
        return {
            path: (nodes[path].data, nodes[path].version) for path in sorted(nodes) if path != "/"
        }

    def peek(self, path: str) -> Data | None:
        """A znode as it is now, for those who check and have no session."""
        return self._tree.read(path)

    # --- requests ---------------------------------------------------------------------------

    def handle(self, session_id: int, request: Request) -> Answered:
        """Carry out one request, whole or not at all."""
        if session_id not in self._sessions:
            return Failed(ZkError.SESSION_EXPIRED)
        return self._handlers[type(request)](session_id, request)

    def _get_data(self, session_id: int, request: GetData) -> Answered:
        found = self._tree.read(request.path)
        if found is None:
            return Failed(ZkError.NO_NODE, request.path)
        if request.watch:
            self._data_watches.add(session_id, request.path)
        return found

    def _exists(self, session_id: int, request: Exists) -> Answered:
        if request.watch:
            self._data_watches.add(session_id, request.path)
        node = self._tree.nodes.get(request.path)
        if node is None:
            return Failed(ZkError.NO_NODE, request.path)
        return Done(request.path, node.stat())

    def _get_children(self, session_id: int, request: GetChildren) -> Answered:
        node = self._tree.nodes.get(request.path)
        if node is None:
            return Failed(ZkError.NO_NODE, request.path)
        if request.watch:
            self._child_watches.add(session_id, request.path)
        return Children(tuple(sorted(node.children)), node.stat())

    def _get_many(self, _session_id: int, request: GetMany) -> Answered:
        read = self._tree.read
        return Many(tuple(read(path) or Failed(ZkError.NO_NODE, path) for path in request.paths))

    def _change_one(self, session_id: int, op: Create | SetData | Delete) -> Answered:
        change = Change(self._zxid + 1, session_id)
        applied = self._appliers[type(op)](op, change)
        if isinstance(applied, ZkError):
            return Failed(applied, op.path)
        self._finish(change)
        return applied

    def _multi(self, session_id: int, request: Multi) -> Answered:
        change = Change(self._zxid + 1, session_id)
        results: list[Done] = []
        for index, op in enumerate(request.ops):
            applied = self._appliers[type(op)](op, change)
            if isinstance(applied, ZkError):
                self._tree.undo(change)
                later = len(request.ops) - index - 1
                errors = (
                    *(ZkError.OK for _ in range(index)),
                    applied,
                    *(ZkError.RUNTIME_INCONSISTENCY for _ in range(later)),
                )
                return MultiFailed(applied, index, errors)
            results.append(applied)
        self._finish(change)
        return MultiDone(tuple(results))

    # --- watches ----------------------------------------------------------------------------

    def _finish(self, change: Change) -> None:
        """The change is final: it has its zxid, and those who watched hear of it."""
        self._zxid = change.zxid
        if self.on_change is not None:
            self.on_change(change)
        for kind, path in change.happened:
            watchers = self._data_watches.fire(path)
            if kind is WatchKind.DELETED:
                # Who watched both hears once.
                watchers |= self._child_watches.fire(path)
            if watchers:
                self._tell(watchers, kind, path)
            if kind is not WatchKind.DATA_CHANGED:
                above = parent(path)
                watchers = self._child_watches.fire(above)
                if watchers:
                    self._tell(watchers, WatchKind.CHILDREN_CHANGED, above)

    def _tell(self, session_ids: dict[int, None], kind: WatchKind, path: str) -> None:
        event = WatchEvent(kind, path)
        for session_id in session_ids:
            self._sessions[session_id].append(event)
