"""The Spark session that a command or a test needs.

Most journals are small, and then nearly all the time goes into starting up and compiling. The
light profile does without the optimising compiler and without generated code, which halves it; for
big input that would cost far more than it saves.
"""

import shutil
from enum import StrEnum
from typing import Final

from pyspark.sql import SparkSession

from regent.errors import BadInput

LOCAL: Final = "local[*]"

#: For every run: times in UTC, nothing on the terminal, tables small on disk.
COMMON: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.log.level": "ERROR",
}


class Profile(StrEnum):
    """How much is expected of a session."""

    LIGHT = "light"
    FULL = "full"


# fmt: off
PROFILES: Final = {
    Profile.LIGHT: {
        "spark.driver.extraJavaOptions":     "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory":               "1g",
        "spark.sql.shuffle.partitions":      "1",
        "spark.sql.codegen.wholeStage":      "false",
        "spark.sql.codegen.factoryMode":     "NO_CODEGEN",
    },
    Profile.FULL: {
        "spark.driver.memory":               "4g",
        "spark.sql.shuffle.partitions":      "32",
    },
}
# fmt: on


def open_session(
    master: str = LOCAL, profile: Profile = Profile.FULL, name: str = "regent"
) -> SparkSession:
    """A session on this master, or the one that this process has already."""
    if shutil.which("java") is None:
        raise BadInput(
            "Spark needs Java, and there is no `java` on the PATH; install Java 17, for example"
            " with `apt-get install openjdk-17-jre-headless`"
        )
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in {**COMMON, **PROFILES[profile]}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
