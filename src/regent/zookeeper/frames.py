"""From requests to what is really sent: few frames for many requests, and back.

A connection handles frames one by one at a price that is much higher than that of a znode in a
frame. So runs of reads travel as multi-reads. Those cannot set watches; these are set before, in
one request of their own, so that a change between the two is told of and not missed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, repeat
from operator import attrgetter
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from regent.zookeeper.jute import RequestEncoder
from regent.zookeeper.jute_replies import (
    decode_children,
    decode_created,
    decode_data,
    decode_multi,
    decode_multi_read,
    decode_stat,
)
from regent.zookeeper.store import (
    Answered,
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
    MultiFailed,
    Request,
    SetData,
    ZkError,
)
from regent.zookeeper.watch_table import PathWatch, WatchType

_path_of: Final = attrgetter("path")
#: So many reads that follow each other are worth a frame of their own kind.
_BULK_FROM: Final = 16
_READS_PER_FRAME: Final = 1000
_WATCHES_PER_FRAME: Final = 1000
#: Far below what a server accepts, whatever the paths are like.
_FRAME_BYTES: Final = 256 * 1024
#: What the connection puts before a payload, and a server counts.
_XID_BYTES: Final = 4
#: Later than any change: a watch set as of then cannot have missed one.
_END_OF_TIME: Final = 2**63 - 1
#: These are about the connection and not about a znode.
CONNECTION_ERRORS: Final = frozenset((ZkError.CONNECTION_LOSS, ZkError.SESSION_EXPIRED))


class FrameReply(Struct, frozen=True):
    """What came back for a frame; the body is there if the error is OK."""

    error: ZkError
    buffer: bytes = b""
    offset: int = 0


class Frame(Struct, frozen=True, eq=False):
    """What is sent as one and answered as one."""

    payload: bytes
    #: In the thread of whoever asked: the connection has better things to do.
    decode: Callable[[FrameReply], Any]
    #: What is watched after a good answer, and after the answer that there is no such znode.
    watch: PathWatch | None = None
    watch_if_missing: PathWatch | None = None
    #: What is watched once the answer is there, unless an event says otherwise before.
    bulk_watches: tuple[PathWatch, ...] = ()


class Piece(Protocol):
    """Some of the requests of a call that are sent and answered together."""

    def frames(self) -> Iterator[Frame]:
        """In the order of sending, encoded as late as possible."""

    def answers(self, decoded: Sequence[Any]) -> Iterable[Answered]:
        """One for each request, from what all the frames brought."""


def plan(
    requests: Sequence[Request], encoder: RequestEncoder, frame_bytes_max: int
) -> Iterator[Piece]:
    """All requests in their order."""
    for is_read, group in groupby(requests, key=lambda request: type(request) in _BULK_READS):
        run = tuple(group)
        is_bulk = is_read and (len(run) >= _BULK_FROM or any(type(r) is GetMany for r in run))
        if is_bulk and all(_first_bad(request) is None for request in run):
            yield _BulkRead(run, encoder)
        else:
            for request in run:
                yield _Single(request, encoder, frame_bytes_max)


def paths_of(request: Request) -> tuple[str, ...]:
    """What a request is about, as far as one can say before."""
    if isinstance(request, GetMany):
        return request.paths
    if isinstance(request, Multi):
        return tuple(map(_path_of, request.ops))
    return (request.path,)


def _first_bad(request: Request) -> int | None:
    """Which of a request's paths no znode can have; the chroot would make a good one of some."""
    paths = paths_of(request)
    # Nearly always all are good, and to see that takes no look at each from here.
    if not all(map(str.startswith, paths, repeat("/"))):
        return next(index for index, path in enumerate(paths) if not path.startswith("/"))
    ops = request.ops if isinstance(request, Multi) else (request,)
    if Create in map(type, ops):
        for index, op in enumerate(ops):
            if type(op) is Create and _is_unmakeable(op):
                return index
    return None


def _is_unmakeable(create: Create) -> bool:
    path = create.path
    return "//" in path or (path[-1] == "/" and not create.sequential)


def _bad_path(request: Request, index: int) -> Failed | MultiFailed:
    if not isinstance(request, Multi):
        return Failed(ZkError.BAD_ARGUMENTS, paths_of(request)[index])
    later = len(request.ops) - index - 1
    errors = (
        *(ZkError.OK for _ in range(index)),
        ZkError.BAD_ARGUMENTS,
        *(ZkError.RUNTIME_INCONSISTENCY for _ in range(later)),
    )
    return MultiFailed(ZkError.BAD_ARGUMENTS, index, errors)


# --- one request, one frame -----------------------------------------------------------------


class _Single(Struct, frozen=True, eq=False):
    request: Request
    encoder: RequestEncoder
    frame_bytes_max: int

    def frames(self) -> Iterator[Frame]:
        if _first_bad(self.request) is None:
            payload = self.encoder.encode(self.request)
            if len(payload) + _XID_BYTES <= self.frame_bytes_max:
                yield Frame(payload, self._decode, *_watches_of(self.request))

    def answers(self, decoded: Sequence[Any]) -> Iterable[Answered]:
        return decoded or (self._refusal(),)

    def _decode(self, reply: FrameReply) -> Answered:
        if reply.error is ZkError.OK:
            body = _BODIES[type(self.request)]
            return body(self.request, reply, self.encoder.from_server)
        if reply.error in CONNECTION_ERRORS or isinstance(self.request, Multi):
            return Failed(reply.error)
        return Failed(reply.error, paths_of(self.request)[0])

    def _refusal(self) -> Failed | MultiFailed:
        """Why it was not sent: a server would misunderstand it, or close the connection on it."""
        paths = paths_of(self.request)
        bad = _first_bad(self.request)
        if bad is not None:
            return _bad_path(self.request, bad)
        size = len(self.encoder.encode(self.request)) + _XID_BYTES
        others = f" and {len(paths) - 1} others" if len(paths) > 1 else ""
        reason = (
            f"{paths[0]}{others} cannot be written: the request has {size} bytes and ZooKeeper "
            f"takes {self.frame_bytes_max}; make it smaller, or raise jute.maxbuffer of all "
            "servers and the limit of this client"
        )
        return Failed(ZkError.BAD_ARGUMENTS, paths[0], reason)


def _watches_of(request: Request) -> tuple[PathWatch | None, PathWatch | None]:
    """What is watched after a good answer, and after the answer that there is no such znode."""
    match request:
        case GetData(path, watch=True):
            return PathWatch(WatchType.DATA, path), None
        case Exists(path, watch=True):
            return PathWatch(WatchType.DATA, path), PathWatch(WatchType.ABSENT, path)
        case GetChildren(path, watch=True):
            return PathWatch(WatchType.CHILDREN, path), None
        case _:
            return None, None


def _created(_request: Create, reply: FrameReply, from_server: Callable[[str], str]) -> Done:
    path, stat = decode_created(reply.buffer, reply.offset)
    return Done(from_server(path), stat)


_Body: TypeAlias = Callable[[Any, FrameReply, Callable[[str], str]], Answered]
_BODIES: Final[Mapping[type, _Body]] = {
    GetData: lambda _, reply, __: decode_data(reply.buffer, reply.offset),
    Exists: lambda asked, reply, _: Done(asked.path, decode_stat(reply.buffer, reply.offset)),
    GetChildren: lambda _, reply, __: decode_children(reply.buffer, reply.offset),
    Create: _created,
    SetData: lambda asked, reply, _: Done(asked.path, decode_stat(reply.buffer, reply.offset)),
    Delete: lambda asked, _, __: Done(asked.path),
    Multi: lambda asked, reply, paths: decode_multi(reply.buffer, reply.offset, asked.ops, paths),
}


# --- a run of reads -------------------------------------------------------------------------

_BULK_READS: Final = frozenset((GetData, GetChildren, GetMany))
_Item: TypeAlias = Data | tuple[str, ...] | ZkError


class _BulkRead(Struct, frozen=True, eq=False):
    requests: tuple[Request, ...]
    encoder: RequestEncoder

    def frames(self) -> Iterator[Frame]:
        yield from self._watching()
        parts = self._parts()
        while batch := list(islice(parts, _READS_PER_FRAME)):
            for fitting in _halved_until_small(batch):
                yield self._reading(fitting)

    def _watching(self) -> Iterator[Frame]:
        watches = [watch for r in self.requests if (watch := _watches_of(r)[0]) is not None]
        for start in range(0, len(watches), _WATCHES_PER_FRAME):
            chunk = tuple(watches[start : start + _WATCHES_PER_FRAME])
            payload = self.encoder.set_watches(
                _END_OF_TIME,
                data=[watch.path for watch in chunk if watch.watched is WatchType.DATA],
                children=[watch.path for watch in chunk if watch.watched is WatchType.CHILDREN],
            )
            yield Frame(payload, lambda reply: reply.error, bulk_watches=chunk)

    def _parts(self) -> Iterator[bytes]:
        for request in self.requests:
            yield from self.encoder.read_data(paths_of(request))
            if isinstance(request, GetChildren):
                # The names come without a stat in a multi-read, and the data has brought it.
                yield self.encoder.read_children(request.path)

    def _reading(self, parts: Sequence[bytes]) -> Frame:
        count = len(parts)

        def decode(reply: FrameReply) -> list[_Item]:
            if reply.error is not ZkError.OK:
                return [reply.error] * count
            return decode_multi_read(reply.buffer, reply.offset)

        return Frame(self.encoder.multi_read(parts), decode)

    def answers(self, decoded: Sequence[Any]) -> Iterable[Answered]:
        items: list[_Item] = []
        for each in decoded:
            if isinstance(each, list):
                items += each
            elif each is not ZkError.OK:
                # Nothing is watched, so nothing was read.
                return [Failed(each) for _ in self.requests]
        return self._fold(iter(items))

    def _fold(self, items: Iterator[_Item]) -> Iterator[Answered]:
        for request in self.requests:
            if isinstance(request, GetMany):
                yield _to_many(request.paths, items)
            elif isinstance(request, GetChildren):
                yield _to_children(request.path, next(items), next(items))
            else:
                assert isinstance(request, GetData), "these are all that a run is made of"
                found = next(items)
                yield found if isinstance(found, Data) else _failed(found, request.path)


def _halved_until_small(parts: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    if len(parts) > 1 and sum(map(len, parts)) > _FRAME_BYTES:
        middle = len(parts) // 2
        yield from _halved_until_small(parts[:middle])
        yield from _halved_until_small(parts[middle:])
    else:
        yield parts


def _to_many(paths: Sequence[str], items: Iterator[_Item]) -> Many | Failed:
    found = tuple(islice(items, len(paths)))
    if set(map(type, found)) == {Data}:
        return Many(found)  # type: ignore[arg-type]  # it was looked at
    read: list[Data | Failed] = []
    for path, item in zip(paths, found, strict=True):
        if type(item) is Data:
            read.append(item)
        elif item in CONNECTION_ERRORS:
            return _failed(item, path)
        else:
            read.append(_failed(item, path))
    return Many(tuple(read))


def _to_children(path: str, found: _Item, names: _Item) -> Children | Failed:
    if isinstance(found, Data) and isinstance(names, tuple):
        return Children(names, found.stat)
    return _failed(found if isinstance(found, ZkError) else names, path)


def _failed(item: _Item, path: str) -> Failed:
    assert isinstance(item, ZkError), "what is neither data nor names is an error"
    return Failed(item) if item in CONNECTION_ERRORS else Failed(item, path)
