"""`regent controller` as a process of its own, in front of Apache's brokers."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from regent.errors import RegentError
from regent.journal.reader import read
from regent.journal.record import Record
from regent.runtime.guardian import GuardedProcess
from regent.zookeeper.tied_process import pause_child, tied
from tests.interop.apache_cluster import ApacheCluster

NODE_ID: Final = 100
#: As long as Apache's brokers have it: only who was killed is dead.
SESSION_TIMEOUT_MS: Final = 60_000
STOP_WITHIN_S: Final = 60.0


class RegentController:
    """One life after the other under one id; its journals and its log stay."""

    def __init__(self, cluster: ApacheCluster, node_id: int = NODE_ID) -> None:
        self.node_id = node_id
        self._cluster = cluster
        self._folder = cluster.folder / f"controller-{node_id}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._guarded: GuardedProcess | None = None

    @property
    def journal(self) -> Path:
        """Where it writes down what it decides."""
        return self._folder / "journal"

    @property
    def log(self) -> str:
        """What it has said, in all its lives."""
        return (self._folder / "controller.log").read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._guarded is not None and self._guarded.process.poll() is None

    def start(self, *options: str) -> None:
        """Start it as a person does; whether it is in office is another question."""
        assert not self.is_running, "it lives one life at a time"
        settings = self._folder / "controller.properties"
        settings.write_text(
            f"inter.broker.protocol.version={self._cluster.mode.protocol}\n"
            "auto.leader.rebalance.enable=false\n"
        )
        command = [
            *(sys.executable, "-m", "regent.cli.main", "controller", "--id", str(self.node_id)),
            *("--zookeeper", self._cluster.zookeeper, "--listen", "127.0.0.1:0"),
            *("--journal", str(self.journal), "--config", str(settings)),
            *("--session-timeout-ms", str(SESSION_TIMEOUT_MS), *options),
        ]
        with (self._folder / "controller.log").open("ab") as log:
            self._guarded = GuardedProcess(
                tied(command), self._cluster.zookeeper_options, output=log.fileno()
            )

    def take_office(self, *options: str) -> int:
        """Start it, and wait until it is the controller and all brokers follow; its epoch."""
        self.start(*options)
        epoch = self.wait_for_office()
        self._cluster.wait_until_followed(self.node_id)
        return epoch

    def wait_for_office(self) -> int:
        """Wait until it is the controller; in which epoch."""

        def is_in_office() -> bool:
            if not self.is_running:
                raise RegentError(f"controller {self.node_id} ended; it said: {self.log[-2000:]}")
            return self._cluster.holder().node_id == self.node_id

        self._cluster.wait_for(is_in_office, f"controller {self.node_id} in office")
        return self._cluster.holder().controller_epoch

    def kill(self) -> None:
        """End it as a crash does. Its session is over when this returns."""
        if self._guarded is not None:
            self._guarded.process.kill()
            self._guarded.wait()

    def stop(self) -> None:
        """SIGTERM: it gives the role up first."""
        if self._guarded is None:
            return
        self._guarded.process.terminate()
        try:
            self._guarded.process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise RegentError(f"controller {self.node_id} did not stop") from error
        self._guarded.wait()

    def pause(self) -> None:
        """Make it hang, with everything open."""
        pause_child(self._pid)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self._pid, signal.SIGCONT)

    def records(self) -> list[Record]:
        """Its journal so far."""
        return list(read([self.journal]))

    @property
    def _pid(self) -> int:
        assert self._guarded is not None, "it is started"
        return self._guarded.process.pid
