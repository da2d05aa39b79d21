"""One broker of a local cluster: a folder, a port, and the process that lives with them.

The process comes and goes; the rest stays, so that a broker that starts again is the same one.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Final

from regent.errors import BadInput, RegentError
from regent.runtime.guardian import GuardedProcess
from regent.testing.cut_file import CutFile
from regent.testing.held_port import HOST, HeldPort
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.tied_process import pause_child

#: The module that has the command `node`. The front door stands above this room, so it is named.
PROGRAM: Final = "regent.cli.main"
#: A broker that moves its leaderships away first needs a while for it.
STOP_WITHIN_S: Final = 60.0
LAST_LINES: Final = 8


class Condition(Enum):
    """How a broker's process is."""

    RUNNING = "running"
    PAUSED = "paused"
    #: Not started yet, stopped in order, or dead.
    DOWN = "down"


class BrokerProcess:
    """Started, ended and started again under one id."""

    def __init__(  # noqa: PLR0913 - what a broker keeps for all its lives
        self,
        broker_id: int,
        folder: Path,
        port: HeldPort,
        *,
        journal_dir: Path,
        properties: Path,
        rack: str | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.rack = rack
        self.journal_dir = journal_dir
        self.data_dir = folder / "data"
        self.log_file = folder / "node.log"
        self.cut_file = CutFile(folder / "cuts.json")
        self._folder = folder
        self._held = port
        self._properties = properties
        self._guarded: GuardedProcess | None = None
        self._is_paused = False

    @property
    def port(self) -> int:
        """The same in every life."""
        return self._held.port

    @property
    def address(self) -> str:
        """Where clients and other brokers reach it."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self.condition is Condition.DOWN else self._living().pid

    @property
    def condition(self) -> Condition:
        """How the process is now, whoever changed it."""
        if self._guarded is None or self._guarded.process.poll() is not None:
            return Condition.DOWN
        return Condition.PAUSED if self._is_paused else Condition.RUNNING

    @property
    def exit_code(self) -> int | None:
        """How its last life ended; None while it lives and before its first one."""
        return None if self._guarded is None else self._guarded.process.poll()

    # --- its life -----------------------------------------------------------------------------

    def launch(self, zookeeper: ZooKeeperOptions) -> None:
        """Start the process; whether it is ready is another question."""
        if self.condition is not Condition.DOWN:
            raise BadInput(f"broker {self.broker_id} is {self.condition.value} already")
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._guarded = GuardedProcess(
                self._command(zookeeper.connect), zookeeper, output=log.fileno()
            )
        self._is_paused = False

    def kill(self) -> None:
        """End it as a crash does; its session is over when this returns."""
        guarded = self._living()
        guarded.process.kill()
        guarded.wait()

    def ask_to_stop(self) -> None:
        """Have it move its leaderships away and end; does not wait for it."""
        guarded = self._living()
        self.resume()
        guarded.process.terminate()

    def wait_for_end(self, within_s: float = STOP_WITHIN_S) -> None:
        """Until it has ended by itself; one that does not is killed, and that is an error."""
        guarded = self._guarded
        if guarded is None:
            return
        try:
            guarded.process.wait(within_s)
        except subprocess.TimeoutExpired as error:
            guarded.process.kill()
            guarded.wait()
            raise RegentError(
                f"broker {self.broker_id} did not stop within {within_s:g} s, and was killed; its"
                f" log is {self.log_file}"
            ) from error
        guarded.wait()

    def pause(self) -> None:
        """Fall silent, as a machine does that hangs; connections stay open."""
        pause_child(self._living().pid)
        self._is_paused = True

    def resume(self) -> None:
        """Go on after `pause`."""
        os.kill(self._living().pid, signal.SIGCONT)
        self._is_paused = False

    def expire_session(self) -> None:
        """Take its ZooKeeper session away, while it lives; that is over when this returns."""
        if not self._living().expire():
            raise BadInput(f"broker {self.broker_id} has no session yet; wait until it is ready")

    def end_for_good(self) -> None:
        """Kill it if it lives; its port is anybody's from now on."""
        if self.condition is not Condition.DOWN:
            self.kill()
        self._held.release()

    def last_words(self) -> str:
        """The end of its log, on one line."""
        if not self.log_file.exists():
            return "nothing"
        lines = self.log_file.read_text(errors="replace").splitlines()
        return " | ".join(lines[-LAST_LINES:]) or "nothing"

    # --- inside -------------------------------------------------------------------------------

    def _living(self) -> GuardedProcess:
        if self._guarded is None or self._guarded.process.poll() is not None:
            raise BadInput(f"broker {self.broker_id} is down; start it first")
        return self._guarded

    def _command(self, zookeeper: str) -> Sequence[str]:
        """What a person would type, under `node_main`."""
        rack = () if self.rack is None else ("--rack", self.rack)
        return [
            *(sys.executable, "-m", "regent.testing.node_main"),
            *(str(os.getpid()), str(self.cut_file.path), PROGRAM),
            *("node", "--id", str(self.broker_id), "--listen", self.address),
            *("--zookeeper", zookeeper, "--config", str(self._properties)),
            *("--data", str(self.data_dir), "--journal", str(self.journal_dir), *rack),
        ]
