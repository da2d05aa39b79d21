"""Nodes as processes of their own, started as a person starts them, killable at will."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from regent.runtime.guardian import GuardedProcess
from regent.zookeeper.exchange import run
from regent.zookeeper.hand_over import read_holder
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from tests.support.waiting import LOOK_EVERY_S, eventually

SESSION_TIMEOUT_MS: Final = 4_000
#: A machine that does ten other things takes its time to start three processes.
START_PATIENCE_S: Final = 60.0

#: Short times, so that a test need not wait for what Kafka waits for.
SETTINGS: Final = """
min.insync.replicas=2
default.replication.factor=3
num.partitions=3
replica.lag.time.max.ms=3000
offsets.topic.num.partitions=5
offsets.topic.replication.factor=3
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
controlled.shutdown.retry.backoff.ms=200
"""


def free_port() -> int:
    """A port that nobody has at the moment; nodes keep theirs over restarts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Nodes:
    """Several of them on one ZooKeeper, and a session that only looks."""

    def __init__(
        self,
        zookeeper: ZooKeeperOptions,
        folder: Path,
        settings: str = SETTINGS,
        program: str = "regent.cli.main",
    ) -> None:
        self.zookeeper = zookeeper
        self._program = program
        self._folder = folder
        self._ports: dict[int, int] = {}
        self.by_id: dict[int, GuardedProcess] = {}
        self.session = KazooSession.open(zookeeper)
        self.settings = folder / "server.properties"
        self.settings.write_text(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node_id in tuple(self.by_id):
            self.kill(node_id)
        for log in sorted(self._folder.glob("node-*.log")):
            # pytest shows it where a test has failed.
            print(f"--- {log.name}\n{log.read_text()[-8000:]}")  # noqa: T201
        self.session.close()

    def log(self, node_id: int) -> Path:
        """What it writes."""
        return self._folder / f"node-{node_id}.log"

    def data(self, node_id: int) -> Path:
        """Where its logs are."""
        return self._folder / f"data-{node_id}"

    def command(self, node_id: int, *options: str) -> list[str]:
        """How it is started."""
        port = self._ports.setdefault(node_id, free_port())
        return [
            *(sys.executable, "-m", self._program, "node", "--id", str(node_id)),
            *("--zookeeper", self.zookeeper.connect, "--listen", f"127.0.0.1:{port}"),
            *("--data", str(self.data(node_id)), "--config", str(self.settings)),
            *("--journal", str(self._folder / f"journal-{node_id}")),
            *("--session-timeout-ms", str(SESSION_TIMEOUT_MS), *options),
        ]

    def start(self, *node_ids: int) -> None:
        """Start them all, and wait until they can be reached."""
        for node_id in node_ids:
            with self.log(node_id).open("ab") as log:
                self.by_id[node_id] = GuardedProcess(
                    self.command(node_id),
                    self.zookeeper,
                    environment=dict(os.environ),
                    output=log.fileno(),
                )
        deadline_s = time.monotonic() + START_PATIENCE_S
        for node_id in node_ids:
            while not self._is_open(node_id):
                assert time.monotonic() < deadline_s, f"node {node_id} does not open its port"
                time.sleep(LOOK_EVERY_S)

    def refused(self, node_id: int, *options: str) -> str:
        """What a process says that does not even start."""
        ended = subprocess.run(  # noqa: S603 - our own command
            self.command(node_id, *options), capture_output=True, text=True, check=False, timeout=60
        )
        assert ended.returncode != 0
        return ended.stderr

    def _is_open(self, node_id: int) -> bool:
        process = self.by_id[node_id].process
        assert process.poll() is None, self.log(node_id).read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._ports[node_id])) == 0

    def kill(self, node_id: int) -> None:
        """End it as a crash does; its session ends with it."""
        guarded = self.by_id.pop(node_id)
        if guarded.process.poll() is None:
            guarded.process.kill()
        guarded.wait()

    def stop(self, node_id: int) -> int:
        """End it as a person does; its exit code."""
        guarded = self.by_id.pop(node_id)
        guarded.process.send_signal(signal.SIGTERM)
        return guarded.wait()

    @property
    def bootstrap(self) -> str:
        """Where clients call, whoever is alive."""
        return ",".join(f"127.0.0.1:{self._ports[node_id]}" for node_id in self.by_id)

    def controller(self) -> int:
        """Who is the controller; waits for one that is alive."""

        def look() -> int | None:
            holder = run(self.session, read_holder())
            return holder.node_id if holder is not None and holder.node_id in self.by_id else None

        return eventually(look, "a controller")
