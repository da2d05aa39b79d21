"""Apache's own command-line tools, as the classes that their shell scripts start.

Between 2.8 and 3.9 they moved from Scala to Java, and to another package.
"""

import os
import subprocess
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

from regent.errors import RegentError
from regent.zookeeper.embedded_java import find_java

TOOL_WITHIN_S: Final = 300.0
_QUIET: Final = """\
log4j.rootLogger=WARN, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%p %m (%c)%n
"""


class Tool(Enum):
    """What operators call."""

    TOPICS = "kafka-topics"
    ELECTION = "kafka-leader-election"
    REASSIGN = "kafka-reassign-partitions"
    PRODUCER = "kafka-producer-perf-test"


_SCALA: Final[Mapping[Tool, str]] = {
    Tool.TOPICS: "kafka.admin.TopicCommand",
    Tool.ELECTION: "kafka.admin.LeaderElectionCommand",
    Tool.REASSIGN: "kafka.admin.ReassignPartitionsCommand",
    Tool.PRODUCER: "org.apache.kafka.tools.ProducerPerformance",
}
_JAVA: Final[Mapping[Tool, str]] = {
    Tool.TOPICS: "org.apache.kafka.tools.TopicCommand",
    Tool.ELECTION: "org.apache.kafka.tools.LeaderElectionCommand",
    Tool.REASSIGN: "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    Tool.PRODUCER: "org.apache.kafka.tools.ProducerPerformance",
}


class ToolFailed(RegentError):  # noqa: N818 - the name says it
    """A tool ended with another code than 0; the message has what it said."""


class ApacheTools:
    """The tools of one version."""

    def __init__(self, version: str, jars: Path, folder: Path) -> None:
        self._classes = _SCALA if version.startswith("2.") else _JAVA
        self._jars = jars
        self._log4j = folder / "tools-log4j.properties"
        self._log4j.write_text(_QUIET)

    def run(self, tool: Tool, *arguments: str) -> str:
        """What it prints on its standard output."""
        command = [
            *(str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            f"-Dlog4j.configuration=file:{self._log4j}",
            *("-cp", f"{self._jars}{os.sep}*", self._classes[tool], *arguments),
        ]
        done = subprocess.run(  # noqa: S603 - our own command
            command, capture_output=True, text=True, timeout=TOOL_WITHIN_S, check=False
        )
        if done.returncode != 0:
            raise ToolFailed(f"{tool.value} {' '.join(arguments)}: {done.stdout}\n{done.stderr}")
        return done.stdout
