"""Where Java and ZooKeeper's classes are found: on this machine, and in PySpark's wheel."""

import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from regent.errors import BadInput

#: The jars that a server needs of those that PySpark brings, as patterns without `-VERSION.jar`.
_JARS: Final = (
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "metrics-core",
    "snappy-java",
    "commons-io",
    "netty-handler",
    "netty-common",
    "netty-buffer",
    "netty-transport",
    "netty-codec",
    "netty-codec-base",
    "netty-resolver",
    "netty-transport-native-unix-common",
    "netty-transport-classes-epoll",
    "netty-tcnative-classes",
)


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The `java` that JAVA_HOME or the PATH names."""
    at_home = Path(environment.get("JAVA_HOME") or "/nonexistent") / "bin" / "java"
    if at_home.is_file():
        return at_home
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path is None:
        raise BadInput(
            "the embedded ZooKeeper needs Java, and there is no `java` in JAVA_HOME or on the "
            "PATH; install Java 17, for example by `apt-get install openjdk-17-jre-headless`"
        )
    return Path(on_path)


def find_jars() -> tuple[Path, ...]:
    """ZooKeeper's server and all that it needs."""
    # Not by an import: that would take a second, and only the pipeline is allowed to.
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise BadInput(
            "the embedded ZooKeeper is taken from PySpark's jars, and PySpark is not installed; "
            "install it by `pip install 'regent[spark]'`"
        )
    return choose_jars(Path(found.origin).parent / "jars")


def choose_jars(folder: Path) -> tuple[Path, ...]:
    """The jars that are needed of those in a folder; one that is missing is named."""
    chosen: list[Path] = []
    for name in _JARS:
        jars = sorted(folder.glob(f"{name}-[0-9]*.jar"))
        if not jars:
            raise BadInput(
                f"{folder} has no {name}-*.jar, which the embedded ZooKeeper needs; install a "
                "PySpark that brings it by `pip install 'pyspark>=4.2,<4.4'`"
            )
        chosen.append(jars[-1])
    return tuple(chosen)
