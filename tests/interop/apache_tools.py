"""Apache's own command-line tools, as the classes that their shell scripts start.

They were rewritten twice: first to ask brokers instead of ZooKeeper, then in Java.
"""

import os
import subprocess
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

from msgspec import Struct

from regent.errors import RegentError
from regent.zookeeper.embedded_java import find_java
from tests.interop.apache_mode import Release, release_of

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


class ToolForm(Struct, frozen=True):
    """What a tool was, from one release on."""

    since: Release
    main_class: str
    #: The option that says which cluster, if it is one of its own.
    cluster_option: str | None


_BROKERS: Final = "--bootstrap-server"
_ZOOKEEPER: Final = "--zookeeper"
#: Newest first. The Java ones are older than 3.9, which is the only such release that is tried.
# fmt: off
_FORMS: Final[Mapping[Tool, tuple[ToolForm, ...]]] = {
    Tool.TOPICS: (
        ToolForm((3, 9), "org.apache.kafka.tools.TopicCommand", _BROKERS),
        ToolForm((2, 2), "kafka.admin.TopicCommand", _BROKERS),
        ToolForm((0, 8), "kafka.admin.TopicCommand", _ZOOKEEPER),
    ),
    Tool.ELECTION: (
        ToolForm((3, 9), "org.apache.kafka.tools.LeaderElectionCommand", _BROKERS),
        ToolForm((2, 4), "kafka.admin.LeaderElectionCommand", _BROKERS),
        ToolForm((0, 8), "kafka.admin.PreferredReplicaLeaderElectionCommand", _ZOOKEEPER),
    ),
    Tool.REASSIGN: (
        ToolForm((3, 9), "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", _BROKERS),
        ToolForm((2, 6), "kafka.admin.ReassignPartitionsCommand", _BROKERS),
        ToolForm((0, 8), "kafka.admin.ReassignPartitionsCommand", _ZOOKEEPER),
    ),
    Tool.PRODUCER: (
        ToolForm((0, 8), "org.apache.kafka.tools.ProducerPerformance", None),
    ),
}
# fmt: on


class ToolFailed(RegentError):  # noqa: N818 - the name says it
    """A tool ended with another code than 0; the message has what it said."""


class ApacheTools:
    """The tools of one version."""

    def __init__(self, version: str, jars: Path, folder: Path) -> None:
        release = release_of(version)
        self._forms = {
            tool: next(form for form in forms if release >= form.since)
            for tool, forms in _FORMS.items()
        }
        self._jars = jars
        self._log4j = folder / "tools-log4j.properties"
        self._log4j.write_text(_QUIET)

    def cluster_options(self, tool: Tool, bootstrap: str, zookeeper: str) -> tuple[str, ...]:
        """How a tool of this version is told which cluster it is about."""
        option = self._forms[tool].cluster_option
        if option is None:
            return ()
        return (option, bootstrap if option == _BROKERS else zookeeper)

    def run(self, tool: Tool, *arguments: str) -> str:
        """What it prints on its standard output."""
        command = [
            *(str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            f"-Dlog4j.configuration=file:{self._log4j}",
            *("-cp", f"{self._jars}{os.sep}*", self._forms[tool].main_class, *arguments),
        ]
        done = subprocess.run(  # noqa: S603 - our own command
            command, capture_output=True, text=True, timeout=TOOL_WITHIN_S, check=False
        )
        if done.returncode != 0:
            raise ToolFailed(f"{tool.value} {' '.join(arguments)}: {done.stdout}\n{done.stderr}")
        return done.stdout
