"""Controllers as processes of their own, started as a person starts them, killable at will."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from regent.journal.reader import read
from regent.journal.record import Record
from regent.model.facts import ControllerElected
from regent.runtime.guardian import PIPE_VARIABLE, Credentials
from regent.zookeeper.exchange import run
from regent.zookeeper.hand_over import Holder, read_holder
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_state import SessionState
from tests.support.waiting import eventually

SESSION_TIMEOUT_MS = 4_000


class ControllerProcess:
    """One `regent controller`, and the pipe on which it names its sessions."""

    def __init__(self, node_id: int, zookeeper: str, folder: Path, *options: str) -> None:
        self.node_id = node_id
        self.journal = folder / f"journal-{node_id}"
        self.log = folder / f"controller-{node_id}.log"
        hears, says = os.pipe()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [
                    *(sys.executable, "-m", "regent.cli.main", "controller"),
                    *("--id", str(node_id), "--zookeeper", zookeeper, "--listen", "127.0.0.1:0"),
                    *("--journal", str(self.journal)),
                    *("--session-timeout-ms", str(SESSION_TIMEOUT_MS)),
                    *options,
                ],
                stdout=log,
                stderr=log,
                pass_fds=(says,),
                env={**os.environ, PIPE_VARIABLE: str(says)},
            )
        os.close(says)
        self._pipe = os.fdopen(hears, "rb")

    def credentials(self) -> Credentials:
        """The next session that it names; waits for it."""
        return msgspec.json.decode(self._pipe.readline(), type=Credentials)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, by its pid."""
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """End it as a crash does, and wait until it is dead."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Leave nothing behind."""
        self.kill()
        self._pipe.close()

    def records(self) -> list[Record]:
        """Its journal so far."""
        return list(read([self.journal])) if self.journal.exists() else []


def log_lines(process: ControllerProcess, *words: str) -> list[str]:
    """The lines of its log so far that have all of these in them."""
    lines = process.log.read_text().splitlines()
    return [line for line in lines if all(word in line for word in words)]


def wait_for_log(process: ControllerProcess, *words: str, count: int = 1) -> list[str]:
    """Wait until so many lines have all of these in them."""

    def look() -> list[str] | None:
        found = log_lines(process, *words)
        return found if len(found) >= count else None

    return eventually(look, f"{count} lines with {words} of {process.node_id}")


class Controllers:
    """Several of them on one ZooKeeper, and a session that only looks."""

    def __init__(self, zookeeper: ZooKeeperOptions, folder: Path) -> None:
        self.zookeeper = zookeeper
        self._folder = folder
        self.by_id: dict[int, ControllerProcess] = {}
        self.session = KazooSession.open(zookeeper)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self.by_id.values():
            process.close()
            # pytest shows it where a test has failed.
            print(f"--- controller {process.node_id}\n{process.log.read_text()}")  # noqa: T201
        self.session.close()

    def start(self, node_id: int, *options: str, connect: str | None = None) -> ControllerProcess:
        """Start one, perhaps over another way to ZooKeeper."""
        made = self.by_id[node_id] = ControllerProcess(
            node_id, connect or self.zookeeper.connect, self._folder, *options
        )
        return made

    def holder(self) -> Holder | None:
        """Who is the controller now; looked at in a new session if the last one is over."""
        if self.session.state is SessionState.LOST:
            self.session.close()
            self.session = KazooSession.open(self.zookeeper)
        return run(self.session, read_holder())

    def elected(self, *, after: int = 0) -> Holder:
        """Who is the controller in an epoch later than this one; waits for it."""

        def look() -> Holder | None:
            holder = self.holder()
            return holder if holder is not None and holder.controller_epoch > after else None

        return eventually(look, f"a controller after epoch {after}")

    def reigns(self) -> dict[int, int]:
        """Who won which epoch, from everybody's journals; that two won the same one is an error."""
        found: dict[int, int] = {}
        for process in self.by_id.values():
            for record in process.records():
                if isinstance(record.fact, ControllerElected):
                    assert record.controller_epoch not in found, "two won the same epoch"
                    found[record.controller_epoch] = process.node_id
        return found
