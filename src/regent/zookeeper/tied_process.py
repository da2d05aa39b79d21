"""A process that dies with the one that started it, whatever that dies of.

The kernel does it, where it can (Linux); elsewhere the child outlives a parent that was killed.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from regent.errors import RegentError

_STOP_WITHIN_S: Final = 10.0
#: Becomes the command. The kernel ends it together with its parent, or now if that is gone already.
_EXEC_TIED_TO_PARENT: Final = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
except AttributeError:
    pass
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


def tied(command: Sequence[str]) -> list[str]:
    """The same command, tied to the thread that starts it; it names its program by a whole path."""
    python = [sys.executable, "-I", "-S", "-c", _EXEC_TIED_TO_PARENT]
    return [*python, str(os.getpid()), *command]


def pause_child(pid: int) -> None:
    """SIGSTOP to a child; when this returns, nothing of it runs until SIGCONT."""
    os.kill(pid, signal.SIGSTOP)
    # Its threads stop one after the other, and until then it may still answer and write.
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


class TiedProcess:
    """The process, started and awaited by a thread of its own.

    The kernel ties a child to the thread that started it. That thread must not end before.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        output: Path,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """All that it says goes to the end of `output`."""
        self._command = command
        self._output = output
        self._environment = environment
        self._started = threading.Event()
        self._failure: OSError | None = None
        self.process: subprocess.Popen[bytes]
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {name}", daemon=True)
        self._keeper.start()
        self._started.wait()
        if self._failure is not None:
            raise RegentError(f"{name} could not be started: {self._failure}")

    def _keep(self) -> None:
        try:
            with self._output.open("ab") as output:
                self.process = subprocess.Popen(  # noqa: S603 - the caller's own command
                    tied(self._command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=self._environment,
                    # A Ctrl-C in the terminal is for the parent, which stops the child in order.
                    start_new_session=True,
                )
        except OSError as error:
            self._failure = error
            return
        finally:
            self._started.set()
        self.process.wait()

    @property
    def is_running(self) -> bool:
        """Whether it is there, paused or not."""
        return self.process.poll() is None

    def end(self, how: signal.Signals, within_s: float = _STOP_WITHIN_S) -> bool:
        """Send the signal, and see to it that the process is gone; whether the signal sufficed."""
        if self.is_running:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.send_signal(how)
        self._keeper.join(within_s)
        if not self._keeper.is_alive():
            return True
        self.process.kill()
        self._keeper.join()
        return False
