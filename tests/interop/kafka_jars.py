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

FETCH_WITHIN_S: Final = 900.0
#: A logging back-end is no part of Kafka's own artifacts.
POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>regent</groupId><artifactId>interop</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""


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


def _fetch(version: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Whole or not at all: the folder gets its name when everything is in it."""
    maven = shutil.which("mvn", path=environment.get("PATH", os.defpath))
    if maven is None:
        raise JarsMissing(
            f"Apache Kafka {version} is not in {folder}, and there is no `mvn` to fetch it; install"
            " Maven, for example by `apt-get install maven`, or copy that folder from elsewhere"
        )
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        pom, jars = Path(made, "pom.xml"), Path(made, "jars")
        pom.write_text(POM.format(version=version))
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={jars}")
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
        if fetched.returncode != 0 or not any(jars.glob(f"kafka_2.13-{version}.jar")):
            said = " ".join(f"{fetched.stdout} {fetched.stderr}".split())[:500]
            raise JarsMissing(
                f"`mvn` could not fetch Apache Kafka {version} into {folder}: {said or 'nothing'};"
                " it needs Maven Central or a mirror, which ~/.m2/settings.xml can name"
            )
        jars.rename(folder)
