"""One broker of Apache Kafka: a folder, a port, and the Java process that lives with them."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from regent.errors import RegentError
from regent.testing.held_port import HOST, HeldPort
from regent.zookeeper.embedded_java import find_java
from regent.zookeeper.tied_process import TiedProcess, pause_child

#: Small and quick to start: several of them share two cores with everything else.
JAVA_OPTIONS: Final = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
#: A broker that moves its leaderships away first needs a while for it.
STOP_WITHIN_S: Final = 120.0
LAST_LINES: Final = 12
RELEASED: Final = "Controlled shutdown request returned successfully"
LOG4J: Final = """\
log4j.rootLogger=INFO, server
log4j.appender.server=org.apache.log4j.FileAppender
log4j.appender.server.File={folder}/server.log
log4j.appender.server.layout=org.apache.log4j.PatternLayout
log4j.appender.server.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.state.change.logger=TRACE, stateChange
log4j.additivity.state.change.logger=false
log4j.appender.stateChange=org.apache.log4j.FileAppender
log4j.appender.stateChange.File={folder}/state-change.log
log4j.appender.stateChange.layout=org.apache.log4j.PatternLayout
log4j.appender.stateChange.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.controller=TRACE, controller
log4j.additivity.kafka.controller=false
log4j.appender.controller=org.apache.log4j.FileAppender
log4j.appender.controller.File={folder}/controller.log
log4j.appender.controller.layout=org.apache.log4j.PatternLayout
log4j.appender.controller.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class ApacheBroker:
    """Started, ended and started again under one id, port and folder."""

    def __init__(
        self, broker_id: int, folder: Path, jars: Path, properties: Mapping[str, str]
    ) -> None:
        self.broker_id = broker_id
        self.folder = folder
        #: Two, so that one can fail.
        self.log_dirs = tuple(folder / name for name in ("disk-a", "disk-b"))
        self._held = HeldPort()
        self._jars = jars
        self._properties = properties
        self._child: TiedProcess | None = None

    @property
    def address(self) -> str:
        """Where clients and others reach it, in every life."""
        return f"{HOST}:{self._held.port}"

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._child is not None and self._child.is_running

    @property
    def pid(self) -> int:
        """The Java process of this life."""
        assert self._child is not None, "it is launched"
        return self._child.process.pid

    @property
    def was_released(self) -> bool:
        """Whether it has ever been told that it leads nothing any more and may go."""
        log = (self.folder / "server.log").read_text(errors="replace")
        return RELEASED in log

    def launch(self) -> None:
        """Start the process; whether it is ready is another question."""
        assert not self.is_running, "it lives one life at a time"
        for log_dir in self.log_dirs:
            log_dir.mkdir(parents=True, exist_ok=True)
        log4j = self.folder / "log4j.properties"
        log4j.write_text(LOG4J.format(folder=self.folder))
        config = self.folder / "server.properties"
        config.write_text("".join(f"{k}={v}\n" for k, v in self._settings().items()))
        command = [
            *(str(find_java()), *JAVA_OPTIONS, f"-Dlog4j.configuration=file:{log4j}"),
            *("-cp", f"{self._jars}{os.sep}*", "kafka.Kafka", str(config)),
        ]
        self._child = TiedProcess(f"broker {self.broker_id}", command, self.folder / "stdout.log")

    def _settings(self) -> dict[str, str]:
        return {
            "broker.id": str(self.broker_id),
            "listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": ",".join(map(str, self.log_dirs)),
            **self._properties,
        }

    def kill(self) -> None:
        """End it as a crash does; its session goes on."""
        if self._child is not None:
            self._child.end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order: it moves its leaderships away first."""
        if self._child is not None and not self._child.end(signal.SIGTERM, STOP_WITHIN_S):
            raise RegentError(
                f"broker {self.broker_id} did not stop within {STOP_WITHIN_S:g} s; it said:"
                f" {self.last_words()}"
            )

    def pause(self) -> None:
        """Make it hang, with everything open."""
        if self._child is not None:
            pause_child(self._child.process.pid)

    def resume(self) -> None:
        """Let it go on."""
        if self._child is not None:
            self._child.process.send_signal(signal.SIGCONT)

    def end_for_good(self) -> None:
        """Kill it if it lives; its port is anybody's from now on."""
        self.kill()
        self._held.release()

    def last_words(self) -> str:
        """The end of its log, on one line."""
        log = self.folder / "server.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return " | ".join(lines[-LAST_LINES:]) or "nothing"
