"""The shared memory as an interface: what one client may ask of a ZooKeeper, and what comes back.

Requests are values, replies are values, and errors are replies: nothing here raises. The in-memory
twin (`memory`) and the real one speak these types and must pass the same tests. A session's
requests are carried out in the order in which they were sent, and a watch event reaches a client
before any reply that already shows the change.
"""

from collections.abc import Sequence
from enum import Enum, IntEnum, auto
from typing import Protocol, TypeAlias

from msgspec import Struct

#: Matches any version in a conditional request.
ANY_VERSION = -1


class ZkError(IntEnum):
    """ZooKeeper's own codes, those that a client of ours can see."""

    OK = 0
    #: Also any code that is not in this list.
    SYSTEM_ERROR = -1
    #: In the failure vector of a multi: this op came after the one that failed.
    RUNTIME_INCONSISTENCY = -2
    #: The request may or may not have been carried out.
    CONNECTION_LOSS = -4
    #: The server is too old for what was asked.
    UNIMPLEMENTED = -6
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    AUTH_FAILED = -115
    #: Another server has the session now; this one did nothing.
    SESSION_MOVED = -118
    #: The server has lost its quorum and only answers reads.
    NOT_READ_ONLY = -119
    QUOTA_EXCEEDED = -125
    THROTTLED = -127


class Stat(Struct, frozen=True, gc=False):
    """What ZooKeeper knows of a znode beside its data."""

    czxid: int
    mzxid: int
    version: int
    #: Changes of the list of children.
    cversion: int = 0
    #: The session that an ephemeral dies with; 0 for a persistent znode.
    ephemeral_owner: int = 0
    child_count: int = 0


# --- requests -------------------------------------------------------------------------------


class GetData(Struct, frozen=True):
    """A znode's data; the watch is set only if the znode is there."""

    path: str
    watch: bool = False


class Exists(Struct, frozen=True):
    """A znode's stat; the watch is set whether or not the znode is there."""

    path: str
    watch: bool = False


class GetChildren(Struct, frozen=True):
    """The names below a znode, sorted; the watch is set only if the znode is there."""

    path: str
    watch: bool = False


class GetMany(Struct, frozen=True):
    """Many znodes' data at once, without watches; a missing one is an error of its own."""

    paths: tuple[str, ...]


class Create(Struct, frozen=True, gc=False):
    """Make a znode. A sequential one gets a ten-digit number behind its name."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


class SetData(Struct, frozen=True, gc=False):
    """Replace a znode's data if its version is the expected one."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class Delete(Struct, frozen=True):
    """Remove a znode without children if its version is the expected one."""

    path: str
    version: int = ANY_VERSION


class Check(Struct, frozen=True):
    """Only in a multi: fail all of it unless the znode has this version."""

    path: str
    version: int


class Multi(Struct, frozen=True):
    """All or nothing."""

    ops: "tuple[Create | SetData | Delete | Check, ...]"


Request: TypeAlias = GetData | Exists | GetChildren | GetMany | Create | SetData | Delete | Multi


# --- replies --------------------------------------------------------------------------------


class Data(Struct, frozen=True, gc=False):
    """The answer to GetData, and one item of the answer to GetMany."""

    data: bytes | None
    stat: Stat


class Children(Struct, frozen=True):
    """The answer to GetChildren."""

    names: tuple[str, ...]
    stat: Stat


class Many(Struct, frozen=True):
    """The answer to GetMany, in the order of the paths."""

    items: "tuple[Data | Failed, ...]"


class Done(Struct, frozen=True, gc=False):
    """The answer to Exists, Create, SetData and Delete. A Delete or Check has no stat."""

    path: str
    stat: Stat | None = None


class MultiDone(Struct, frozen=True):
    """The answer to a Multi that was carried out whole."""

    results: tuple[Done, ...]


class Failed(Struct, frozen=True):
    """The request was refused, or (connection loss) nobody knows."""

    error: ZkError
    path: str = ""
    #: What a person can do about it, where the code does not say it.
    reason: str = ""


class MultiFailed(Struct, frozen=True):
    """Nothing was carried out: ops before `index` would have gone well, that one failed so."""

    error: ZkError
    index: int
    #: One code for each op, as ZooKeeper reports them.
    errors: tuple[ZkError, ...] = ()


Answered: TypeAlias = Data | Children | Many | Done | MultiDone | Failed | MultiFailed


# --- watches and sessions -------------------------------------------------------------------


class WatchKind(Enum):
    """What a one-shot watch saw."""

    CREATED = auto()
    DELETED = auto()
    DATA_CHANGED = auto()
    CHILDREN_CHANGED = auto()


class WatchEvent(Struct, frozen=True):
    """A one-shot watch fired."""

    kind: WatchKind
    path: str


class Session(Protocol):
    """One client's session, spoken to one call at a time. The simulator uses the parts instead."""

    @property
    def session_id(self) -> int:
        """Who owns the ephemerals made here."""

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Send all of these in order and wait for all the answers."""

    def watch_events(self) -> Sequence[WatchEvent]:
        """The watch events that have arrived since the last look, in order."""

    def close(self) -> None:
        """End the session; its ephemerals go at once."""
