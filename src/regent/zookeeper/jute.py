"""ZooKeeper's own encoding, as far as a client of ours needs it: requests.

Everything is big-endian; strings, buffers and lists begin with their length, and a length of -1
means null. Paths are put below the chroot here and nowhere else. What is decoded from replies is in
`jute_replies`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from struct import Struct as Layout
from typing import Any, Final

from regent.zookeeper.store import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Request,
    SetData,
)

INT: Final = Layout("!i")
LONG: Final = Layout("!q")
#: What stands before each part of a multi: its opcode, whether it is the end, an error.
MULTI_HEADER: Final = Layout("!iBi")
_NULL: Final = INT.pack(-1)


class Opcode(IntEnum):
    """The requests we make. `*_2` are the forms whose answers carry a stat."""

    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_CHILDREN = 8
    SYNC = 9
    GET_CHILDREN_2 = 12
    CHECK = 13
    MULTI = 14
    CREATE_2 = 15
    MULTI_READ = 22
    SET_WATCHES = 101


#: One entry: everything (31) to anyone in the world, as Kafka writes without `zookeeper.set.acl`.
_OPEN_ACL: Final = b"".join(
    (INT.pack(1), INT.pack(31), INT.pack(5), b"world", INT.pack(6), b"anyone")
)
_HEADERS: Final = {opcode: MULTI_HEADER.pack(opcode, 0, -1) for opcode in Opcode}
_END_OF_MULTI: Final = MULTI_HEADER.pack(-1, 1, -1)


# One call writes a whole part of a multi. There are as many lengths as paths and contents have.
@lru_cache(maxsize=4096)
def _packer_of_read(path_bytes: int) -> Callable[..., bytes]:
    """Takes the header, the length and the path; sets no watch."""
    return Layout(f"!{MULTI_HEADER.size}si{path_bytes}sx").pack


@lru_cache(maxsize=65_536)
def _packer_of_write(path_bytes: int, data_bytes: int) -> Callable[..., bytes]:
    """Takes the header, both lengths, each before what it counts, and the version."""
    return Layout(f"!{MULTI_HEADER.size}si{path_bytes}si{data_bytes}si").pack


def to_buffer(content: bytes | None) -> bytes:
    """Bytes with their length, or null."""
    return _NULL if content is None else INT.pack(len(content)) + content


class RequestEncoder:
    """Turns requests into what is sent, the opcode first; below one chroot."""

    def __init__(self, chroot: str) -> None:
        self._chroot = chroot
        self._prefix = chroot.encode()
        self._encoders: Mapping[type, Callable[[Any], tuple[Opcode, bytes]]] = {
            GetData: lambda r: (Opcode.GET_DATA, self._looking(r)),
            Exists: lambda r: (Opcode.EXISTS, self._looking(r)),
            GetChildren: lambda r: (Opcode.GET_CHILDREN_2, self._looking(r)),
            Create: self._create,
            SetData: self._set_data,
            Delete: lambda r: (Opcode.DELETE, self._versioned(r)),
            Check: lambda r: (Opcode.CHECK, self._versioned(r)),
            Multi: self._multi,
        }

    def encode(self, request: Request) -> bytes:
        """Any request but GetMany, which is made of `multi_read`s."""
        opcode, body = self._encoders[type(request)](request)
        return INT.pack(opcode) + body

    def multi_read(self, reads: Iterable[bytes]) -> bytes:
        """One request for what `read_data` and `read_children` made."""
        return b"".join((INT.pack(Opcode.MULTI_READ), *reads, _END_OF_MULTI))

    def read_data(self, paths: Sequence[str]) -> list[bytes]:
        """Parts of a `multi_read`. They cannot set watches: servers ignore that there."""
        header, below = _HEADERS[Opcode.GET_DATA], self._prefix
        if "/" in paths:
            return [header + self._path(path) + b"\0" for path in paths]
        return [
            _packer_of_read(len(encoded := below + path.encode()))(header, len(encoded), encoded)
            for path in paths
        ]

    def read_children(self, path: str) -> bytes:
        """One part of a `multi_read`; its answer has no stat."""
        return _HEADERS[Opcode.GET_CHILDREN] + self._path(path) + b"\0"

    def set_watches(
        self,
        zxid: int,
        *,
        data: Sequence[str] = (),
        absent: Sequence[str] = (),
        children: Sequence[str] = (),
    ) -> bytes:
        """Watches on many paths; those on which something happened after `zxid` fire at once."""
        opcode = INT.pack(Opcode.SET_WATCHES)
        paths = map(self._paths, (data, absent, children))
        return b"".join((opcode, LONG.pack(zxid), *paths))

    def sync(self) -> bytes:
        """Answered when the server has seen all that any server had answered before."""
        return INT.pack(Opcode.SYNC) + self._path("/")

    def from_server(self, path: str) -> str:
        """A path as the server names it, seen from the chroot."""
        return path[len(self._chroot) :] or "/"

    # --- bodies -------------------------------------------------------------------------------

    def _path(self, path: str) -> bytes:
        encoded = self._prefix + path.encode() if path != "/" else self._prefix or b"/"
        return INT.pack(len(encoded)) + encoded

    def _paths(self, paths: Sequence[str]) -> bytes:
        return INT.pack(len(paths)) + b"".join(map(self._path, paths))

    def _looking(self, request: GetData | Exists | GetChildren) -> bytes:
        return self._path(request.path) + bytes((request.watch,))

    def _versioned(self, request: Delete | Check) -> bytes:
        return self._path(request.path) + INT.pack(request.version)

    def _create(self, request: Create) -> tuple[Opcode, bytes]:
        flags = INT.pack(request.ephemeral | request.sequential << 1)
        parts = (self._path(request.path), to_buffer(request.data), _OPEN_ACL, flags)
        return Opcode.CREATE_2, b"".join(parts)

    def _set_data(self, request: SetData) -> tuple[Opcode, bytes]:
        body = self._path(request.path) + to_buffer(request.data) + INT.pack(request.version)
        return Opcode.SET_DATA, body

    def _multi(self, request: Multi) -> tuple[Opcode, bytes]:
        parts: list[bytes] = []
        # Bulk writes are replacements below the root: those go the short way.
        header, below = _HEADERS[Opcode.SET_DATA], self._prefix
        for op in request.ops:
            if type(op) is SetData and (data := op.data) is not None and op.path != "/":
                path = below + op.path.encode()
                path_bytes, data_bytes = len(path), len(data)
                pack = _packer_of_write(path_bytes, data_bytes)
                parts.append(pack(header, path_bytes, path, data_bytes, data, op.version))
            else:
                opcode, body = self._encoders[type(op)](op)
                parts += (_HEADERS[opcode], body)
        parts.append(_END_OF_MULTI)
        return Opcode.MULTI, b"".join(parts)
