"""A node's process under a launcher: `regent node`, and three things that only a launcher wants.

It leaves the terminal's group, because a Ctrl-C there is for the launcher, which stops its nodes in
order. It dies with its launcher, whatever that dies of. And it can be cut off from other nodes: the
file that its launcher names has the ports that it must not reach.

Each connection between two nodes is opened by one of them, so that it is enough when each of the
two keeps from the other's port. Connections are broken and refused, as by a firewall that answers;
silence is what a paused node gives.
"""

import os
import runpy
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from regent.testing.cut_file import CutFile, Cuts

LOOK_EVERY_S: Final = 0.02
DESCRIPTORS: Final = Path("/proc/self/fd")


class Severing:
    """The child's side of a cut: what is forbidden now, and seeing to it."""

    def __init__(self, file: CutFile) -> None:
        self._file = file
        self._cuts = Cuts()

    def start(self, launcher_pid: int) -> None:
        """Before anything is connected: a node that starts while it is cut off stays cut off."""
        self._look()
        sys.addaudithook(self._audit)
        threading.Thread(
            target=self._watch, args=(launcher_pid,), name="launcher", daemon=True
        ).start()

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Python asks before every connection that it opens."""
        if event == "socket.connect" and self._cuts.ports:
            address = arguments[1]
            if isinstance(address, tuple) and address[1] in self._cuts.ports:
                raise ConnectionRefusedError(f"cut off from port {address[1]} by the test")

    def _watch(self, launcher_pid: int) -> None:
        # Told by the launcher: it may have died before we could look who our parent is.
        while os.getppid() == launcher_pid:
            with suppress(OSError, msgspec.DecodeError):
                self._look()
            time.sleep(LOOK_EVERY_S)
        os.kill(os.getpid(), signal.SIGKILL)

    def _look(self) -> None:
        cuts = self._file.read()
        if cuts != self._cuts:
            self._cuts = cuts
            _hang_up(cuts.ports)
            self._file.confirm(cuts)


def _hang_up(ports: frozenset[int]) -> None:
    """End the connections that this process has opened to these ports."""
    if not ports or not DESCRIPTORS.exists():
        return
    for entry in list(DESCRIPTORS.iterdir()):
        # A descriptor that is no socket, or is closed meanwhile, is none of ours.
        with suppress(OSError), socket.socket(fileno=os.dup(int(entry.name))) as link:
            if link.family in (socket.AF_INET, socket.AF_INET6) and link.getpeername()[1] in ports:
                link.shutdown(socket.SHUT_RDWR)


def main() -> None:
    """The launcher, the file of cuts, the module that is the program, and its own arguments."""
    launcher_pid, cut_file, program, *arguments = sys.argv[1:]
    with suppress(PermissionError):  # the leader of a group stays where it is
        os.setsid()
    Severing(CutFile(Path(cut_file))).start(int(launcher_pid))
    sys.argv = ["regent", *arguments]
    # Where it is installed, kio's types load it for tests of their own, and every node starts a
    # third of a second later.
    sys.modules["hypothesis"] = None  # type: ignore[assignment]
    runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
