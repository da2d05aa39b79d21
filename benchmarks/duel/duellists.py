"""The two controllers, each as the process that a person would start.

Both stand by, and either can be made to take office by pausing the other: whoever hangs does not
stand for election. Their sessions are longer than any pause.

Apache's is a broker that holds no replicas, in a JVM with Java's own choice of collector and all of
its compiler, a heap of one to two gigabytes, and the log levels that Kafka comes with. Regent's is
`regent controller`, with its journal. Neither balances leaders by itself.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Final

from regent.client.addresses import Address
from regent.testing.held_port import HOST, HeldPort
from regent.zookeeper.embedded_java import find_java
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.tied_process import TiedProcess, pause_child

#: As long as the ZooKeeper of `benchmarks.live_cluster` grants.
SESSION_TIMEOUT_MS: Final = 300_000
#: What a Kafka of this size is run with: all of the compiler, its default collector, room enough.
JAVA_OPTIONS: Final = ("-Xms1g", "-Xmx2g")
#: As in the configuration that Kafka comes with: no TRACE.
LOG4J: Final = """\
log4j.rootLogger=INFO, server
log4j.appender.server=org.apache.log4j.FileAppender
log4j.appender.server.File={folder}/server.log
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class Duellist:
    """A controller's process, by its id."""

    name: str

    def __init__(self, node_id: int, port: HeldPort, process: TiedProcess) -> None:
        self.node_id = node_id
        self.address = Address(HOST, port.port)
        self._port = port
        self._process = process

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.process.pid

    def pause(self) -> None:
        """Make it hang; it does nothing any more when this returns."""
        pause_child(self.pid)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it."""
        self._process.end(signal.SIGKILL)
        self._port.release()


class Apache(Duellist):
    """A broker of Apache's that holds no replicas."""

    name = "apache"

    def __init__(self, node_id: int, folder: Path, options: ZooKeeperOptions, jars: Path) -> None:
        port = HeldPort()
        folder.mkdir(parents=True)
        log4j, config = folder / "log4j.properties", folder / "server.properties"
        log4j.write_text(LOG4J.format(folder=folder))
        settings = {
            "broker.id": str(node_id),
            "listeners": f"PLAINTEXT://{HOST}:{port.port}",
            "log.dirs": str(folder / "data"),
            "zookeeper.connect": options.connect,
            "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
            "auto.leader.rebalance.enable": "false",
        }
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        command = [
            *(str(find_java()), *JAVA_OPTIONS, f"-Dlog4j.configuration=file:{log4j}"),
            *("-cp", f"{jars}{os.sep}*", "kafka.Kafka", str(config)),
        ]
        super().__init__(node_id, port, TiedProcess(self.name, command, folder / "stdout.log"))


class Regent(Duellist):
    """`regent controller`, with its journal."""

    name = "regent"

    def __init__(self, node_id: int, folder: Path, options: ZooKeeperOptions) -> None:
        port = HeldPort()
        folder.mkdir(parents=True)
        config = folder / "controller.properties"
        config.write_text("inter.broker.protocol.version=3.9\nauto.leader.rebalance.enable=false\n")
        command = [
            *(sys.executable, "-m", "regent.cli.main", "controller", "--id", str(node_id)),
            *("--zookeeper", options.connect, "--listen", f"{HOST}:{port.port}"),
            *("--journal", str(folder / "journal"), "--config", str(config)),
            *("--session-timeout-ms", str(SESSION_TIMEOUT_MS)),
        ]
        super().__init__(node_id, port, TiedProcess(self.name, command, folder / "stdout.log"))
