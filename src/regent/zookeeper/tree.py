"""The znodes of the in-memory twin, and what one change may do to them.

A flat dict from path to znode, so that a lookup is one hash. A change is checked before it
touches anything, and what it touches is noted in a `Change`, so that a multi can be undone
without ever copying the tree. Sessions, watches and replies are `memory`'s business.
"""

from typing import TypeAlias

from msgspec import Struct

from regent.zookeeper.paths import parent
from regent.zookeeper.store import (
    ANY_VERSION,
    Check,
    Create,
    Data,
    Delete,
    Done,
    SetData,
    Stat,
    WatchKind,
    ZkError,
)


class Znode(Struct, eq=False):
    """One znode. Its names of children are the keys of `children`."""

    data: bytes | None
    czxid: int
    mzxid: int
    ephemeral_owner: int
    version: int = 0
    #: How many children were ever created: the number of the next sequential one.
    created_count: int = 0
    children: dict[str, None] = {}

    def stat(self) -> Stat:
        """What the server tells about the znode."""
        child_count = len(self.children)
        return Stat(
            self.czxid,
            self.mzxid,
            self.version,
            # Creations and deletions: as many deletions as created children are missing.
            2 * self.created_count - child_count,
            self.ephemeral_owner,
            child_count,
        )

    def accepts(self, version: int) -> bool:
        """Whether a request that expects this version may go on."""
        return version == self.version or version == ANY_VERSION  # noqa: PLR1714 - the hot path


class Undo(Struct, frozen=True, gc=False):
    """How one znode was before the change; None where there was none."""

    path: str
    before: Znode | None
    data: bytes | None = None
    mzxid: int = 0


class Change(Struct, eq=False):
    """One transaction in the making: all of it has one zxid."""

    zxid: int
    session_id: int
    undos: list[Undo] = []
    #: What happened where, in order; the watches on it fire when the change is final.
    happened: list[tuple[WatchKind, str]] = []


Applied: TypeAlias = Done | ZkError


class ZnodeTree:
    """All znodes by path, and which of them die with which session."""

    def __init__(self) -> None:
        self.nodes: dict[str, Znode] = {"/": Znode(None, 0, 0, 0)}
        #: Session to the paths of its ephemerals, in the order of their creation.
        self._ephemerals: dict[int, dict[str, None]] = {}

    def read(self, path: str) -> Data | None:
        """A znode's data and stat."""
        node = self.nodes.get(path)
        return None if node is None else Data(node.data, node.stat())

    def ephemerals(self, session_id: int) -> tuple[str, ...]:
        """What dies with this session."""
        return tuple(self._ephemerals.get(session_id, ()))

    # --- the four ops -----------------------------------------------------------------------

    def create(self, op: Create, change: Change) -> Applied:
        """Make a znode below one that can have children."""
        path = op.path
        if not path.startswith("/") or "//" in path or (path[-1] == "/" and not op.sequential):
            return ZkError.BAD_ARGUMENTS
        above = self.nodes.get(parent(path))
        if above is None:
            return ZkError.NO_NODE
        if op.sequential:
            path = f"{path}{above.created_count:010d}"
        if path in self.nodes:
            return ZkError.NODE_EXISTS
        if above.ephemeral_owner:
            return ZkError.NO_CHILDREN_FOR_EPHEMERALS
        owner = change.session_id if op.ephemeral else 0
        node = Znode(op.data, change.zxid, change.zxid, owner)
        self._link(path, node)
        above.created_count += 1
        change.undos.append(Undo(path, None))
        change.happened.append((WatchKind.CREATED, path))
        return Done(path, node.stat())

    def set(self, op: SetData, change: Change) -> Applied:
        """Replace the data of a znode."""
        node = self.nodes.get(op.path)
        if node is None:
            return ZkError.NO_NODE
        if not node.accepts(op.version):
            return ZkError.BAD_VERSION
        change.undos.append(Undo(op.path, node, node.data, node.mzxid))
        node.data = op.data
        node.mzxid = change.zxid
        node.version += 1
        change.happened.append((WatchKind.DATA_CHANGED, op.path))
        return Done(op.path, node.stat())

    def delete(self, op: Delete, change: Change) -> Applied:
        """Remove a znode that has no children."""
        node = self.nodes.get(op.path)
        if node is None:
            return ZkError.NO_NODE
        if op.path == "/":
            return ZkError.BAD_ARGUMENTS
        if not node.accepts(op.version):
            return ZkError.BAD_VERSION
        if node.children:
            return ZkError.NOT_EMPTY
        change.undos.append(Undo(op.path, node, node.data, node.mzxid))
        self._unlink(op.path, node)
        change.happened.append((WatchKind.DELETED, op.path))
        return Done(op.path)

    def check(self, op: Check, _change: Change) -> Applied:
        """Only look, in a multi."""
        node = self.nodes.get(op.path)
        if node is None:
            return ZkError.NO_NODE
        return Done(op.path) if node.accepts(op.version) else ZkError.BAD_VERSION

    # --- back again -------------------------------------------------------------------------

    def undo(self, change: Change) -> None:
        """Make everything as it was before the change, the last op first."""
        for undo in reversed(change.undos):
            now = self.nodes.get(undo.path)
            if undo.before is None:
                assert now is not None, "what is to be removed was created"
                self._unlink(undo.path, now)
                self.nodes[parent(undo.path)].created_count -= 1
            elif now is None:
                self._link(undo.path, undo.before)
            else:
                now.data = undo.data
                now.mzxid = undo.mzxid
                now.version -= 1

    def _link(self, path: str, node: Znode) -> None:
        above, _, name = path.rpartition("/")
        self.nodes[path] = node
        self.nodes[above or "/"].children[name] = None
        if node.ephemeral_owner:
            self._ephemerals.setdefault(node.ephemeral_owner, {})[path] = None

    def _unlink(self, path: str, node: Znode) -> None:
        above, _, name = path.rpartition("/")
        del self.nodes[path]
        del self.nodes[above or "/"].children[name]
        if node.ephemeral_owner:
            del self._ephemerals[node.ephemeral_owner][path]
