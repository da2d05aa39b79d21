"""Apache Kafka's jars, fetched by Maven once for each version and kept in a cache of the user's.

They are never part of the checkout. Who has no Maven or no network is told what to do.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from regent.errors import RegentError
from tests.interop.apache_mode import release_of

FETCH_WITHIN_S: Final = 900.0
#: The first release that was built for Scala 2.13, as all are here that have the choice.
SCALA_2_13_SINCE: Final = (2, 4)
POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>regent</groupId><artifactId>interop</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
DEPENDENCY: Final = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
#: A logging back-end is no part of Kafka's own artifacts.
LOGGING: Final = ("org.slf4j", "slf4j-reload4j", "1.7.36")
#: But for old ones, which bring one that a Java of today cannot run.
OLD_LOGGING: Final = "log4j,slf4j-log4j12"
#: Java had it when releases before 1.0 were made.
XML: Final = ("javax.xml.bind", "jaxb-api", "2.3.1")
XML_MISSED_BEFORE: Final = (1, 0)


class JarsMissing(RegentError):  # noqa: N818 - the name says it
    """Kafka's jars are not here and cannot be had; the message says why and what to do."""


def kafka_jars(version: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder with all the jars of one version; fetched if it is not there yet."""
    home = environment.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    cache = Path(home, "regent")
    folder = cache / f"kafka-{version}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"kafka-{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Whoever had the lock before may have fetched it.
        if not folder.is_dir():
            _fetch(version, folder, environment)
    return folder


def _pom(version: str, broker: str) -> str:
    release = release_of(version)
    wanted = [
        ("org.apache.kafka", broker, version),
        ("org.apache.kafka", "kafka-tools", version),
        LOGGING,
        *([XML] if release < XML_MISSED_BEFORE else []),
    ]
    return POM.format(dependencies="".join(DEPENDENCY.format(*each) for each in wanted))


def _fetch(version: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Whole or not at all: the folder gets its name when everything is in it."""
    maven = shutil.which("mvn", path=environment.get("PATH", os.defpath))
    if maven is None:
        raise JarsMissing(
            f"Apache Kafka {version} is not in {folder}, and there is no `mvn` to fetch it; install"
            " Maven, for example by `apt-get install maven`, or copy that folder from elsewhere"
        )
    broker = f"kafka_2.{13 if release_of(version) >= SCALA_2_13_SINCE else 12}"
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        pom, jars = Path(made, "pom.xml"), Path(made, "jars")
        pom.write_text(_pom(version, broker))
        goal = (
            *("dependency:copy-dependencies", f"-DoutputDirectory={jars}"),
            f"-DexcludeArtifactIds={OLD_LOGGING}",
        )
        try:
            fetched = subprocess.run(  # noqa: S603 - our own command
                [maven, "-q", "-B", "-f", str(pom), *goal],
                env=dict(environment),
                capture_output=True,
                text=True,
                timeout=FETCH_WITHIN_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise JarsMissing(f"`mvn` did not end within {FETCH_WITHIN_S:g} s") from error
        if fetched.returncode != 0 or not any(jars.glob(f"{broker}-{version}.jar")):
            said = " ".join(f"{fetched.stdout} {fetched.stderr}".split())[:500]
            raise JarsMissing(
                f"`mvn` could not fetch Apache Kafka {version} into {folder}: {said or 'nothing'};"
                " it needs Maven Central or a mirror, which ~/.m2/settings.xml can name"
            )
        jars.rename(folder)
