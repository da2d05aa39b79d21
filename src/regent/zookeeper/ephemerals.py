"""Holding an ephemeral znode that says that somebody is here, from one session to the next."""

from collections.abc import Callable

from regent.errors import RegentError, SessionLost
from regent.zookeeper.exchange import (
    RACES_MAX,
    Exchange,
    data_or_none,
    is_lost,
    read_one,
    send,
    unexpected,
)
from regent.zookeeper.store import (
    Create,
    Data,
    Delete,
    Done,
    GetData,
    Multi,
    MultiDone,
    MultiFailed,
    SetData,
)

Ops = tuple[Create | SetData, ...]


def hold_ephemeral(
    path: str,
    create: Ops,
    *,
    session_id: int,
    previous_session_id: int | None,
    taken: Callable[[Data], RegentError],
) -> Exchange[int]:
    """Create an ephemeral, and learn the transaction that created it.

    One of this very session stands as it is: it is our own attempt, seen again. One of our
    previous session is a life that is over and is replaced, so that a new life begins. Anybody
    else's means that the place is taken.
    """
    ops: tuple[Create | SetData | Delete, ...] = create
    for _ in range(RACES_MAX):
        (reply,) = yield from send((Multi(ops),))
        if isinstance(reply, MultiDone):
            return _created_by(reply.results[-1])
        if not isinstance(reply, MultiFailed) and not is_lost(reply):
            raise unexpected(reply)
        found = data_or_none((yield from read_one(GetData(path))))
        ops = create
        if found is not None and found.stat.ephemeral_owner == session_id:
            return found.stat.czxid
        if found is not None:
            if found.stat.ephemeral_owner != previous_session_id:
                raise taken(found)
            ops = (Delete(path), *create)
    raise SessionLost(f"could not register at {path} {RACES_MAX} times in a row")


def _created_by(last: Done) -> int:
    assert last.stat is not None, "a SetData is answered with the stat it made"
    return last.stat.czxid
