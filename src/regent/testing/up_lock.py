"""Who owns the cluster in a folder: whoever holds this lock, from before its start to its end.

A control that does not answer says little: its owner may be starting still, or stopping already.
The lock says it for sure, because the kernel takes it away from a process that is dead.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from regent.errors import BadInput

FILE_NAME: Final = "up.lock"
_PID_BYTES_MAX: Final = 20


class UpLock:
    """The file in the folder, opened; `take` makes the folder ours until the end of the context."""

    def __init__(self, folder: Path) -> None:
        """The folder is made if need be. Children do not inherit the lock, so it dies with us."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BadInput(f"{folder} cannot be used as a folder: {error}") from error
        self._folder = folder

    def take(self) -> bool:
        """Make the folder ours; False: somebody else has it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise BadInput(f"{self._folder / FILE_NAME} cannot be locked: {error}") from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)
        return True

    def last_holder(self) -> str:
        """The process that took it last, for people."""
        return os.pread(self._file, _PID_BYTES_MAX, 0).decode(errors="replace") or "unknown"

    @property
    def is_deleted(self) -> bool:
        """Whether the file is gone, most likely with the folder: what is there now is not ours."""
        return os.fstat(self._file).st_nlink == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)


def was_ever_taken(folder: Path) -> bool:
    """Whether a `regent up` got so far as to want the lock; without it nobody can have it."""
    return (folder / FILE_NAME).exists()
