"""Servers of Spark's own, from the wheel, for as long as a test needs them.

They listen on this machine only, at ports that the system chooses, and say which in their logs.
"""

import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

SPARK_HOME: Final = Path(pyspark.__file__).parent
LOOPBACK: Final = "127.0.0.1"
PATIENCE_S: Final = 300
#: What our own package looks like where packages are installed, in place or by a link to it.
OURSELVES: Final = re.compile(r"(__editable__\W+)?regent\b")


@contextmanager
def server(
    log: Path, *command: str, said: str, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """A process that has said, in the words of a pattern, that it is ready; gives its group 1."""
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - Spark's own classes
            [str(SPARK_HOME / "bin" / command[0]), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=surroundings(environment),
            cwd=log.parent,
        )
    try:
        yield _wait_until_said(log, process, said)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def surroundings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that must not leave this machine."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**inherited, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": LOOPBACK, **(more or {})}


def _wait_until_said(log: Path, process: "subprocess.Popen[bytes]", said: str) -> str:
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s and process.poll() is None:
        if found := re.search(said, log.read_text("utf-8", errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} never said `{said}`:\n{log.read_text('utf-8')[-2000:]}")


def python_without_regent(directory: Path) -> Path:
    """A Python as a machine of a cluster has it: with all that Regent needs, but not Regent."""
    venv.create(directory, symlinks=True, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    bare = directory / "lib" / version / "site-packages"
    for package in SPARK_HOME.parent.iterdir():
        if not OURSELVES.match(package.name):
            (bare / package.name).symlink_to(package)
    python = directory / "bin" / "python"
    command = [str(python), "-c", "import pyspark, regent"]
    tried = subprocess.run(  # noqa: S603 - our own Python
        command, capture_output=True, text=True, check=False, cwd=directory, env=surroundings()
    )
    assert "No module named 'regent'" in tried.stderr, "this Python was to lack one package only"
    return python
