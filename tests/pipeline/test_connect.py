"""The Python API gives the same answers over Spark Connect (Q9)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from regent import pipeline
from regent.pipeline.session import COMMON, PROFILES, Profile
from regent.sim.campaign import JournalKeeper
from regent.sim.plan import draw_plan
from regent.sim.run import run as simulate
from regent.sim.state_change_log import StateChangeLogKeeper
from tests.pipeline import over_connect
from tests.pipeline.spark_processes import (
    LOOPBACK,
    PATIENCE_S,
    python_without_regent,
    server,
    surroundings,
)

ROOT: Final = Path(__file__).parents[2]
SERVER: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[str]:
    """The address of a server whose Python does not have this package."""
    options = {
        **COMMON,
        **PROFILES[Profile.LIGHT],
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
    }
    given = [word for key, value in options.items() for word in ("--conf", f"{key}={value}")]
    command = ("spark-submit", "--class", SERVER, *given, "spark-internal")
    python = {"PYSPARK_PYTHON": str(python_without_regent(tmp_path / "bare"))}
    ready = r"Spark Connect server started at: \S+:(\d+)"
    with server(tmp_path / "connect.log", *command, said=ready, environment=python) as port:
        yield f"sc://{LOOPBACK}:{port}"


@pytest.mark.cluster
@pytest.mark.requirement("Q9")
def test_connect_gives_the_answers_that_a_classic_session_gives(
    spark: SparkSession, remote: str, tmp_path: Path
) -> None:
    journals, logs = tmp_path / "journals", tmp_path / "logs"
    keepers = JournalKeeper(journals), StateChangeLogKeeper(logs)
    simulate(draw_plan(0), list(keepers))
    for keeper in keepers:
        keeper.close()

    asked = subprocess.run(  # noqa: S603 - it is us
        [sys.executable, "-m", over_connect.__name__, remote, str(journals), str(logs)],
        env=surroundings(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        timeout=3 * PATIENCE_S,
        check=True,
    )

    over_the_wire = json.loads(asked.stdout)
    for question, answer in over_connect.answers(spark, str(journals), str(logs)).items():
        assert over_the_wire[question] == answer, question
        assert answer or question == "violations", f"{question} has no rows, and shows nothing"


@pytest.mark.requirement("Q9")
@pytest.mark.parametrize("word", ["sparkContext", "_jvm", "_jdf", ".rdd"])
def test_nothing_needs_what_connect_does_not_have(word: str) -> None:
    files = sorted(Path(pipeline.__file__).parent.rglob("*.py"))

    assert len(files) > 50
    assert [file.name for file in files if word in file.read_text("utf-8")] == []
