"""The Spark session that a command or a test needs.

Most journals are small, and then nearly all the time goes into starting up and compiling. The
light profile does without the optimising compiler and without generated code, which halves it; for
big input that would cost far more than it saves.
"""

import atexit
import logging
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO, Final
from urllib.parse import urlparse
from zipfile import ZipFile

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from regent.errors import BadInput
from regent.pipeline import java_classes, java_names

LOCAL: Final = "local[*]"
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
MASTER_TIMEOUT_S: Final = 5
#: Below this much input, starting up costs more than the work.
LIGHT_BYTES: Final = 64 * 1024 * 1024
LOGGING: Final = Path(__file__).with_name("log4j2.properties")

#: For every run: times in UTC, nothing on the terminal, tables small on disk.
COMMON: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    # What follows from a filter with many clauses is not worth deriving: it can take for ever.
    "spark.sql.constraintPropagation.enabled": "false",
    # Otherwise every column that Python names costs ten messages to Java, to say from which line.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The first word in lower case would load all of Unicode.
    "spark.sql.icu.caseMappings.enabled": "false",
}


class Profile(StrEnum):
    """How much is expected of a session."""

    LIGHT = "light"
    FULL = "full"


# fmt: off
PROFILES: Final = {
    Profile.LIGHT: {
        "spark.driver.memory":                         "1g",
        "spark.sql.shuffle.partitions":                "1",
        "spark.sql.adaptive.enabled":                  "false",
        "spark.sql.codegen.wholeStage":                "false",
        "spark.sql.codegen.factoryMode":               "NO_CODEGEN",
        "spark.sql.subexpressionElimination.enabled":  "false",
        # Files are listed here, and not by a job of its own.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    },
    Profile.FULL: {
        "spark.driver.memory":                         "4g",
        "spark.sql.shuffle.partitions":                "32",
        # Java does not compile a longer method: in one piece it would be slower than in many.
        "spark.sql.codegen.hugeMethodLimit":           "8000",
        # Rows that go to several files need not be sorted by file first.
        "spark.sql.maxConcurrentOutputFileWriters":    "64",
    },
}
#: No optimising compiler, and from the start as much memory as there will be.
LIGHT_JAVA: Final = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    " -XX:+UseSerialGC -Xms1g -Xmn640m -XX:MetaspaceSize=300m"
)
JAVA_OPTIONS: Final = {
    Profile.LIGHT: LIGHT_JAVA,
    # Nobody waits for single answers: pauses do not matter, and the work for short ones does.
    Profile.FULL:  "-XX:+UseParallelGC",
}
# fmt: on


def open_session(
    master: str = LOCAL, profile: Profile = Profile.FULL, name: str = "regent"
) -> SparkSession:
    """A session on this master, or the one that this process has already."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise BadInput(
            "Spark needs Java, and there is no `java` on the PATH; install Java 17, for example"
            " with `apt-get install openjdk-17-jre-headless`"
        )
    _knock(master)
    if _is_on_this_machine(master):
        # The Python that runs this has all that the readers need; the one on the PATH may not.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java_options = (
        f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        JAVA_OPTIONS[profile],
        java_classes.options_for(profile),
    )
    builder = (
        SparkSession.builder.appName(name)
        .master(master)
        .config("spark.driver.extraJavaOptions", " ".join(java_options))
    )
    for key, value in {**COMMON, **PROFILES[profile]}.items():
        builder = builder.config(key, value)
    java_names.remember()
    # Told by the exception that follows it; pyspark would print it as JSON as well.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    with TemporaryFile() as said_by_java:
        try:
            with _stderr_into(said_by_java):
                session = builder.getOrCreate()
        except (PySparkException, Py4JError, RuntimeError) as error:
            said_by_java.seek(0)
            said = said_by_java.read().decode(errors="replace")
            raise BadInput(
                f"Spark did not start on --master {master}: {_reason(error, said)}"
            ) from error
    if not master.startswith("local"):
        ship(session)
    return session


@contextmanager
def session_for(input_bytes: int, master: str = LOCAL) -> Iterator[SparkSession]:
    """A session for as long as it is used, as light as the input allows."""
    session = open_session(master, Profile.LIGHT if input_bytes < LIGHT_BYTES else Profile.FULL)
    try:
        yield session
    finally:
        session.stop()


def ship(session: SparkSession) -> None:
    """Give the executors of a cluster this package; what it depends on they must have.

    They fetch the archive when they start, which may be late, so it stays as long as this process.
    """
    package = Path(__file__).parents[1]
    scratch = Path(mkdtemp(prefix="regent-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    archive = scratch / "regent.zip"
    with ZipFile(archive, "w") as bundle:
        for file in sorted(package.rglob("*")):
            if file.suffix in {".py", ".properties"}:
                bundle.write(file, file.relative_to(package.parent))
    session.addArtifacts(str(archive), pyfile=True)


@contextmanager
def _stderr_into(file: IO[bytes]) -> Iterator[None]:
    """Java inherits this for life: what it has to say to a terminal is for nobody."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _reason(error: Exception, said_by_java: str) -> str:
    """The line that tells most: Spark's own, else the last of Java's, else Python's."""
    lines = [line.strip() for line in (*str(error).splitlines(), *said_by_java.splitlines())]
    telling = [line for line in lines if "SparkException" in line or "Error" in line]
    return (telling or [line for line in lines if line] or ["no reason was given"])[0]


def _is_on_this_machine(master: str) -> bool:
    """Whether all executors are here too: a master at a loopback address has no other workers."""
    return master.startswith("local") or urlparse(master).hostname in LOOPBACK


def _knock(master: str) -> None:
    """Ask once whether anybody is there: Spark itself asks for minutes."""
    address = urlparse(master)
    if address.scheme != "spark":
        return
    try:
        host, port = address.hostname or "", address.port or 7077
        with socket.create_connection((host, port), timeout=MASTER_TIMEOUT_S):
            return
    except (OSError, ValueError) as error:
        raise BadInput(
            f"no Spark master answers at {master} ({error}); start one, or use --master local[*]"
        ) from error
