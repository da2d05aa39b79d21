"""ZooKeeper's own encoding, as far as a client of ours needs it: the bodies of replies.

Written for bulk: a reply with thousands of znodes is walked once, with few calls for each.
"""

from collections.abc import Callable, Sequence
from struct import Struct as Layout
from typing import Final

from regent.zookeeper.jute import INT, MULTI_HEADER, Opcode
from regent.zookeeper.store import (
    Check,
    Children,
    Create,
    Data,
    Delete,
    Done,
    MultiDone,
    MultiFailed,
    SetData,
    Stat,
    WatchEvent,
    WatchKind,
    ZkError,
)

#: Of a stat's eleven fields those that we keep: czxid, mzxid, version, cversion, owner, children.
_STAT: Final = Layout("!qq16xii4xq4xi8x")
#: In a multi: the header, and the length or error that follows it.
_HEADER_AND_INT: Final = Layout("!iBii")
_WATCH_EVENT: Final = Layout("!iii")
_FAILED: Final = -1

_WATCH_KINDS: Final = {
    1: WatchKind.CREATED,
    2: WatchKind.DELETED,
    3: WatchKind.DATA_CHANGED,
    4: WatchKind.CHILDREN_CHANGED,
}


def to_error(code: int) -> ZkError:
    """A code as the server sends it; those that we do not know have no meaning to us."""
    try:
        return ZkError(code)
    except ValueError:
        return ZkError.SYSTEM_ERROR


# --- single replies -------------------------------------------------------------------------


def decode_stat(buffer: bytes, offset: int) -> Stat:
    """The whole body of the answers to Exists and SetData."""
    return Stat(*_STAT.unpack_from(buffer, offset))


def decode_data(buffer: bytes, offset: int) -> Data:
    """The answer to GetData."""
    content, offset = _buffer(buffer, offset)
    return Data(content, decode_stat(buffer, offset))


def decode_children(buffer: bytes, offset: int) -> Children:
    """The answer to GetChildren, sorted here: a server has no order."""
    names, offset = _strings(buffer, offset)
    return Children(tuple(sorted(names)), decode_stat(buffer, offset))


def decode_created(buffer: bytes, offset: int) -> tuple[str, Stat]:
    """The answer to Create: the path as the server names it, and the stat."""
    path, offset = _buffer(buffer, offset)
    assert path is not None, "what was created has a path"
    return path.decode(), decode_stat(buffer, offset)


def decode_watch_event(buffer: bytes, offset: int) -> WatchEvent | None:
    """What a server sends unasked, the path as it names it; None: not about a znode."""
    code, _state, length = _WATCH_EVENT.unpack_from(buffer, offset)
    offset += _WATCH_EVENT.size
    kind = _WATCH_KINDS.get(code)
    return None if kind is None else WatchEvent(kind, buffer[offset : offset + length].decode())


# --- many in one ----------------------------------------------------------------------------


def decode_multi_read(buffer: bytes, offset: int) -> list[Data | tuple[str, ...] | ZkError]:
    """The answers of a multi-read in order: data, names of children, or an error each."""
    found: list[Data | tuple[str, ...] | ZkError] = []
    # The inside of the loop is a third of what a failover's reading costs.
    header_of, stat_of = _HEADER_AND_INT.unpack_from, _STAT.unpack_from
    is_data, add = int(Opcode.GET_DATA), found.append
    end = len(buffer) - MULTI_HEADER.size
    while offset < end:
        opcode, _, _, number = header_of(buffer, offset)
        offset += 13
        if opcode == is_data and number >= 0:
            after = offset + number
            add(Data(buffer[offset:after], Stat(*stat_of(buffer, after))))
            offset = after + 68
        elif opcode == is_data:
            add(Data(None, Stat(*stat_of(buffer, offset))))
            offset += 68
        elif opcode == _FAILED:
            add(to_error(number))
        else:
            names, offset = _strings(buffer, offset - INT.size)
            add(tuple(sorted(names)))
    return found


def decode_multi(
    buffer: bytes,
    offset: int,
    ops: Sequence[Create | SetData | Delete | Check],
    from_server: Callable[[str], str],
) -> MultiDone | MultiFailed:
    """The answer to a Multi that the server has looked at."""
    # A multi that failed is all errors, OK included, so the first part tells.
    if ops and INT.unpack_from(buffer, offset)[0] == _FAILED:
        return _decode_failures(buffer, offset, len(ops))
    results: list[Done] = []
    stat_of = _STAT.unpack_from
    for op in ops:
        offset += 9
        if type(op) is SetData:
            results.append(Done(op.path, Stat(*stat_of(buffer, offset))))
            offset += 68
        elif type(op) is Create:
            (length,) = INT.unpack_from(buffer, offset)
            offset += 4 + length
            # Only of a sequential one the path is news.
            path = (
                from_server(buffer[offset - length : offset].decode()) if op.sequential else op.path
            )
            results.append(Done(path, Stat(*stat_of(buffer, offset))))
            offset += 68
        else:
            results.append(Done(op.path))
    return MultiDone(tuple(results))


def _decode_failures(buffer: bytes, offset: int, count: int) -> MultiFailed:
    found = _HEADER_AND_INT.iter_unpack(buffer[offset : offset + count * _HEADER_AND_INT.size])
    errors = tuple(to_error(code) for _, _, _, code in found)
    index = next(i for i, error in enumerate(errors) if error is not ZkError.OK)
    return MultiFailed(errors[index], index, errors)


def _buffer(buffer: bytes, offset: int) -> tuple[bytes | None, int]:
    (length,) = INT.unpack_from(buffer, offset)
    offset += INT.size
    return (None, offset) if length < 0 else (buffer[offset : offset + length], offset + length)


def _strings(buffer: bytes, offset: int) -> tuple[list[str], int]:
    (count,) = INT.unpack_from(buffer, offset)
    offset += INT.size
    names: list[str] = []
    for _ in range(count):
        (length,) = INT.unpack_from(buffer, offset)
        offset += INT.size
        names.append(buffer[offset : offset + length].decode())
        offset += length
    return names, offset
