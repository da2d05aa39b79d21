"""Getting Kafka's jars: what is there is used, and what cannot be had is said."""

import stat
from pathlib import Path

import pytest

from tests.interop.kafka_jars import JarsMissing, kafka_jars


def environment(tmp_path: Path, maven: str | None = None) -> dict[str, str]:
    """A cache of its own, and perhaps a Maven: a script that gets the arguments of the real one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    if maven is not None:
        script = programs / "mvn"
        script.write_text(f"#!/bin/sh\n{maven}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{programs}:/usr/bin:/bin"}


#: Puts a jar where the option for it says.
FETCHES = """
echo fetched >> "$XDG_CACHE_HOME/calls"
for each in "$@"; do case "$each" in -DoutputDirectory=*)
    mkdir -p "${each#*=}" && touch "${each#*=}/kafka_2.13-9.9.9.jar";;
esac; done
"""


def test_jars_are_fetched_once(tmp_path: Path) -> None:
    given = environment(tmp_path, FETCHES)

    folders = [kafka_jars("9.9.9", given) for _ in range(2)]

    assert folders == [tmp_path / "cache" / "regent" / "kafka-9.9.9"] * 2
    assert [jar.name for jar in folders[0].iterdir()] == ["kafka_2.13-9.9.9.jar"]
    assert (tmp_path / "cache" / "calls").read_text() == "fetched\n"


def test_a_fetch_that_fails_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    """The next try starts from the beginning."""
    given = environment(tmp_path, "echo no route to host; exit 1")

    with pytest.raises(JarsMissing, match=r"no route to host.*needs Maven Central"):
        kafka_jars("9.9.9", given)

    left = [each.name for each in (tmp_path / "cache" / "regent").iterdir()]
    assert left == ["kafka-9.9.9.lock"]


def test_a_fetch_without_the_broker_in_it_is_none(tmp_path: Path) -> None:
    """A proxy that answers everything with a page of its own can look like success."""
    with pytest.raises(JarsMissing):
        kafka_jars("9.9.9", environment(tmp_path, "exit 0"))


def test_without_maven_the_reason_says_what_to_do(tmp_path: Path) -> None:
    given = environment(tmp_path)
    given["PATH"] = str(tmp_path / "bin")

    with pytest.raises(JarsMissing, match=r"no `mvn` to fetch it; install Maven"):
        kafka_jars("9.9.9", given)
