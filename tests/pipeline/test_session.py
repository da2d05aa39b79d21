"""Where a session runs, what is said when nobody is there, and what Java is asked (Q9)."""

import os
import socket
from typing import cast
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from regent.errors import BadInput
from regent.pipeline.session import _is_on_this_machine, open_session, ship

pytestmark = pytest.mark.requirement("Q9")


def test_a_master_that_does_not_answer_is_named_and_what_to_do_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "not needed for this")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{nobody.getsockname()[1]}"

        with pytest.raises(BadInput, match="no Spark master answers") as refused:
            open_session(master)

    told = str(refused.value)
    assert told.startswith(f"no Spark master answers at {master} (")
    assert told.endswith("; start one, or use --master local[*]")
    assert "refused" in told
    assert "PYSPARK_PYTHON" not in os.environ


def test_a_port_that_is_none_is_a_master_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "not needed for this")

    with pytest.raises(BadInput, match=r"no Spark master answers at spark://here:port \("):
        open_session("spark://here:port")


@pytest.mark.parametrize(
    ("master", "is_here"),
    [
        ("local[2]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://spark-master.example:7077", False),
        ("yarn", False),
    ],
)
def test_executors_run_this_python_only_where_it_is(master: str, *, is_here: bool) -> None:
    assert _is_on_this_machine(master) is is_here


class Recorder:
    """All of a session that shipping uses."""

    def __init__(self) -> None:
        self.archives: list[str] = []

    def addArtifacts(self, path: str, *, pyfile: bool) -> None:  # noqa: N802 - Spark's name
        """Remember what was given."""
        assert pyfile
        self.archives.append(path)


def test_what_is_shipped_stays_for_executors_that_start_late() -> None:
    session = Recorder()

    ship(cast("SparkSession", session))

    (archive,) = session.archives
    names = set(ZipFile(archive).namelist())
    assert {"regent/__init__.py", "regent/pipeline/sources/journal_lines.py"} <= names


def test_java_is_asked_once_what_a_name_means(spark: SparkSession) -> None:
    """Each question is a message to Java and back, and there are tens of thousands in a run."""
    java = spark._jvm
    assert java is not None

    assert java.functions is java.functions
    assert java.functions.col is java.functions.col
