"""The one-shot watches that a client has with its server and that have not fired.

Kept so that they can be set again on a new connection, and so that nobody hears of what is not
watched. Pure; everything happens in the order of what the server sent.
"""

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from msgspec import Struct

from regent.zookeeper.store import WatchEvent, WatchKind


class WatchType(Enum):
    """What a watch is about; a path can have one of each."""

    #: The data of a znode that is there.
    DATA = auto()
    #: The coming of a znode that is not there.
    ABSENT = auto()
    CHILDREN = auto()


class PathWatch(Struct, frozen=True):
    """A watch on a path."""

    watched: WatchType
    path: str


#: Which watches a change sets off.
_FIRED_BY = {
    WatchKind.CREATED: (WatchType.ABSENT, WatchType.DATA),
    WatchKind.DELETED: (WatchType.DATA, WatchType.ABSENT, WatchType.CHILDREN),
    WatchKind.DATA_CHANGED: (WatchType.DATA, WatchType.ABSENT),
    WatchKind.CHILDREN_CHANGED: (WatchType.CHILDREN,),
}


class WatchTable:
    """What is watched on one session."""

    def __init__(self) -> None:
        self._paths: dict[WatchType, dict[str, None]] = {kind: {} for kind in WatchType}
        #: Being set in bulk: the server tells at once of those that are not there to be watched.
        self._coming: dict[PathWatch, None] = {}

    def __len__(self) -> int:
        return sum(map(len, self._paths.values()))

    def add(self, watch: PathWatch) -> None:
        """The server has accepted a watch."""
        self._paths[watch.watched][watch.path] = None

    def announce(self, watches: Sequence[PathWatch]) -> None:
        """Watches are on their way to the server, to be set if there is something to watch."""
        self._coming.update(dict.fromkeys(watches))

    def settle(self, watches: Sequence[PathWatch]) -> None:
        """The server has done with what was announced; what it has complained about is not set."""
        for watch in watches:
            if watch in self._coming:
                del self._coming[watch]
                self.add(watch)

    def forget(self, watches: Sequence[PathWatch]) -> None:
        """What was announced has been lost on the way."""
        for watch in watches:
            self._coming.pop(watch, None)

    def fire(self, event: WatchEvent) -> bool:
        """Whether anybody watched this; now nobody does."""
        fired = [PathWatch(watched, event.path) for watched in _FIRED_BY[event.kind]]
        is_watched = False
        for watch in fired:
            if event.path in self._paths[watch.watched]:
                del self._paths[watch.watched][event.path]
                is_watched = True
        if not is_watched:
            # Not news, but the complaint that there is nothing to watch.
            self.forget(fired)
        return is_watched

    def chunks(self, count: int) -> Iterator[dict[WatchType, list[str]]]:
        """All watches, to be set again on a new connection, so many at a time."""
        watches = [(kind, path) for kind, paths in self._paths.items() for path in paths]
        for start in range(0, len(watches), count):
            chunk: dict[WatchType, list[str]] = {kind: [] for kind in WatchType}
            for kind, path in watches[start : start + count]:
                chunk[kind].append(path)
            yield chunk
