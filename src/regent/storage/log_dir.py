"""One directory of logs, which may fail while the broker lives.

Every file operation of a log stands in a `with log_dir:`. An `OSError` in there (a full disk, a
pulled one, a failed sync) takes the directory offline for good, reports it once, and comes out as
`LogDirOffline`; so does every later attempt. A directory comes back with a restart, as in Kafka.
"""

import fcntl
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from regent.errors import BadInput, LogDirOffline

#: Is told which directory failed, and why.
FailureListener: TypeAlias = Callable[[Path, str], None]

_LOCK_NAME: Final = ".lock"
_CLEAN_SHUTDOWN_NAME: Final = ".kafka_cleanshutdown"

logger = logging.getLogger(__name__)


def ignore_failure(_directory: Path, _reason: str) -> None:
    """For logs whose failures nobody waits for."""


class LogDir:
    """A directory, locked by this process from `claim` to `release`."""

    def __init__(self, path: Path, on_failure: FailureListener = ignore_failure) -> None:
        self.path = path
        #: Why it is offline; None while all is well.
        self.trouble: str | None = None
        #: Whether the last process that had it closed every log.
        self.was_closed_cleanly = False
        self._on_failure = on_failure
        self._lock: int | None = None

    def __enter__(self) -> Self:
        if self.trouble is not None:
            raise LogDirOffline(str(self.path), self.trouble)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            self.fail(str(error))
            raise LogDirOffline(str(self.path), str(error)) from error

    def fail(self, reason: str) -> None:
        """Go offline, if that has not happened yet."""
        if self.trouble is None:
            self.trouble = reason
            logger.error("log directory %s is offline: %s", self.path, reason)
            self._on_failure(self.path, reason)

    def claim(self) -> None:
        """Make it ours, or say who else has it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BadInput(f"cannot keep logs in {self.path}: {error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise BadInput(
                f"{self.path} is in use by another process; stop that one or choose another folder"
            ) from error
        self._lock = lock
        with self:
            marker = self.path / _CLEAN_SHUTDOWN_NAME
            self.was_closed_cleanly = marker.exists()
            marker.unlink(missing_ok=True)

    def release(self, *, closed_cleanly: bool) -> None:
        """Let others have it; a clean end spares them the recovery."""
        if closed_cleanly and self.trouble is None:
            with suppress(OSError):
                (self.path / _CLEAN_SHUTDOWN_NAME).touch()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
