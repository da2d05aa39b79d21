"""Finding Kafka's logs, and reading their lines whatever state the files are in.

A file is gzipped when its content says so, not its name. One that breaks off in the middle gives
all lines up to there.
"""

import glob
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from regent.errors import BadInput

#: In a directory only these are taken, rotated and compressed ones too; a file that is named is
#: taken whatever its name.
NAMES: Final = ("*state-change.log*", "*controller.log*")

_BLOCK: Final = 1 << 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
#: A line longer than this is cut: a file that is no log may have no newline at all.
LINE_BYTES_MAX: Final = 1 << 24


class BrokenFile(ValueError):  # noqa: N818 - it is news about the file
    """A file cannot be read to its end; `rest` is the piece of a line that was read."""

    def __init__(self, reason: str, rest: bytes) -> None:
        super().__init__(reason)
        self.reason = reason
        self.rest = rest


# --- which files ------------------------------------------------------------------------------


def find_logs(paths: Sequence[str]) -> list[str]:
    """The log files at these paths: files, directories, and patterns with `*`; each once."""
    if not paths:
        raise BadInput("no log was named; give files, directories or patterns such as 'logs/*.log'")
    found = {file.resolve(): None for path in paths for file in _files_at(path)}
    return sorted(map(str, found))


def _files_at(path: str) -> list[Path]:
    if "://" in path and not path.startswith("file://"):
        raise BadInput(
            f"{path}: logs are read from directories that every worker has mounted;"
            " copy them to one, or mount the store"
        )
    plain = path.removeprefix("file://")
    matches = [plain] if Path(plain).exists() else glob.glob(plain, recursive=True)  # noqa: PTH207
    if not matches:
        raise BadInput(f"{path}: there is no such file; check the path, and quote patterns")
    files = [file for match in sorted(matches) for file in _inside(Path(match))]
    if not files:
        raise BadInput(
            f"{path}: no {' or '.join(NAMES)} in there; name the files if they are called otherwise"
        )
    return files


def _inside(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return [path]
    return sorted({file for name in NAMES for file in path.rglob(name) if file.is_file()})


# --- their lines ------------------------------------------------------------------------------


def raw_lines(path: str) -> Iterator[bytes]:
    """The lines of a file, without their ends; `BrokenFile` when it breaks off."""
    rest = b""
    try:
        for block in _blocks(path):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            while len(rest) > LINE_BYTES_MAX:
                yield rest[:LINE_BYTES_MAX]
                rest = rest[LINE_BYTES_MAX:]
    except (zlib.error, EOFError, OSError) as error:
        raise BrokenFile(str(error), rest) from error
    if rest:
        yield rest


def _blocks(path: str) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        block = file.read(_BLOCK)
        is_gzip = block.startswith(_GZIP_MAGIC)
        compressed = _following(block, iter(lambda: file.read(_BLOCK), b""))
        yield from _unzipped(compressed) if is_gzip else compressed


def _following(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from others


def _unzipped(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """What is inside a gzip file of any number of members."""
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    for compressed in blocks:
        block = compressed
        while block:
            if unzip.eof:
                unzip = zlib.decompressobj(_GZIP_WINDOW)
            before = unzip.copy()
            try:
                yield unzip.decompress(block)
            except zlib.error:
                yield from _as_far_as_possible(before, block)
                raise
            block = unzip.unused_data
    if not unzip.eof:
        raise EOFError("the compressed data ends too early")


def _as_far_as_possible(unzip: "zlib._Decompress", block: bytes) -> Iterator[bytes]:
    """The good part of a damaged block, byte by byte."""
    for position in range(len(block)):
        try:
            yield unzip.decompress(block[position : position + 1])
        except zlib.error:
            return
