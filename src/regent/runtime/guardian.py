"""Ending a dead process's ZooKeeper session at once, instead of waiting for it to time out.

A launcher gives its child one end of a pipe; the child writes the credentials of its session into
it. When the child is dead, and only then, the launcher closes the session, and whatever the child
held in ZooKeeper is free within milliseconds. A child that hangs is not dead, and a machine that
is gone takes its launcher along: for those the session's timeout remains.
"""

import logging
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from regent.errors import RegentError
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_ending import end_session

#: Where a child finds its end of the pipe.
PIPE_VARIABLE: Final = "REGENT_GUARDIAN_FD"
#: How often a session is taken from a child that lives and wants it back.
_TAKE_OVERS: Final = 10
#: How often ZooKeeper is asked to end the session of one that is dead; it may be slow.
_FAREWELLS: Final = 3

logger = logging.getLogger(__name__)


class Credentials(Struct, frozen=True):
    """What it takes to speak for a session. The password is a secret of these two processes."""

    session_id: int
    password: bytes


class Ward:
    """The child's side: says which session it has. Without a guardian, says it to nobody."""

    def __init__(self, pipe: int | None) -> None:
        self._pipe = pipe

    @classmethod
    def from_environment(cls) -> "Ward":
        """The end of the pipe that a launcher left for us; children of ours get none."""
        text = os.environ.pop(PIPE_VARIABLE, "")
        if not text.isdecimal():
            return cls(None)
        os.set_inheritable(int(text), False)  # noqa: FBT003 - the system's own signature
        return cls(int(text))

    def report(self, session_id: int, password: bytes) -> None:
        """Name the session that is to be closed when we are dead."""
        if self._pipe is not None:
            line = msgspec.json.encode(Credentials(session_id, password)) + b"\n"
            try:
                os.write(self._pipe, line)
            except OSError as error:
                logger.warning("the launcher does not listen (%s): going on without it", error)
                self._pipe = None


class GuardedProcess:
    """The launcher's side: a child, and what is to be done when it is dead."""

    def __init__(
        self,
        arguments: Sequence[str],
        zookeeper: ZooKeeperOptions,
        *,
        environment: Mapping[str, str] | None = None,
        on_end: Callable[[int], None] | None = None,
        output: int | None = None,
    ) -> None:
        hears, says = os.pipe()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - the caller's own command
                arguments,
                env={
                    **(os.environ if environment is None else environment),
                    PIPE_VARIABLE: str(says),
                },
                pass_fds=(says,),
                stdout=output,
                stderr=output,
            )
        except OSError:
            os.close(hears)
            raise
        finally:
            os.close(says)
        self._zookeeper = zookeeper
        self._on_end = on_end
        self._credentials: Credentials | None = None
        self._thread = threading.Thread(
            target=self._guard, args=(hears,), name=f"guardian of {self.process.pid}", daemon=True
        )
        self._thread.start()

    @property
    def pid(self) -> int:
        """The child."""
        return self.process.pid

    def wait(self) -> int:
        """Wait until the child is dead and its session closed; the child's exit code."""
        self._thread.join()
        return self.process.wait()

    def expire(self) -> bool:
        """End the session of a child that lives, as ZooKeeper does with one that was silent.

        For tests of what the child does then. False if it has not named any session yet.
        """
        credentials = self._credentials
        if credentials is None:
            return False
        self._end_session(credentials, _TAKE_OVERS)
        return True

    def _end_session(self, credentials: Credentials, tries: int) -> None:
        end_session(self._zookeeper, credentials.session_id, credentials.password, tries=tries)

    def _guard(self, hears: int) -> None:
        with os.fdopen(hears, "rb") as lines:
            for line in lines:
                # A child that dies while writing leaves half a line.
                if line.endswith(b"\n"):
                    self._credentials = msgspec.json.decode(line, type=Credentials)
        # The pipe ends with the child, and this makes sure of it.
        code = self.process.wait()
        if self._credentials is not None:
            try:
                self._end_session(self._credentials, _FAREWELLS)
            except RegentError as error:
                logger.warning("its session goes on until it times out: %s", error)
        if self._on_end is not None:
            self._on_end(code)
