"""A small file that is always whole: the new content takes the place of the old in one step."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes, *, sync: bool) -> None:
    """Write beside the file and rename. With `sync` it also outlasts a loss of power."""
    beside = path.with_name(path.name + ".tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        written_bytes = 0
        while written_bytes < len(content):
            written_bytes += os.write(descriptor, content[written_bytes:])
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    beside.replace(path)
    if sync:
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make names that were added, changed or removed outlast a loss of power."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
