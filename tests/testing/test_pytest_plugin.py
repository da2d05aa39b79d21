"""The fixtures, in a test run of somebody else's."""

import subprocess
import sys
from pathlib import Path

SOMEBODYS_TESTS = """
import pytest

@pytest.mark.kafka_cluster(brokers=1)
def test_with_a_fixture(kafka_cluster, kafka_bootstrap):
    kafka_cluster.create_topic("orders", partitions=2)
    assert kafka_cluster.leader("orders", 1) == 1
    assert kafka_bootstrap == kafka_cluster.bootstrap

def test_with_a_factory(kafka_cluster_factory):
    one = kafka_cluster_factory(brokers=1)
    other = kafka_cluster_factory(1, config={"num.partitions": 2})
    assert one.bootstrap != other.bootstrap
    assert 1 / 0
"""


def test_clusters_are_fixtures(tmp_path: Path) -> None:
    """With the marker under strict rules, and the brokers' logs where a test fails."""
    file = tmp_path / "test_of_somebody.py"
    file.write_text(SOMEBODYS_TESTS)

    ran = subprocess.run(  # noqa: S603 - our own command
        [
            *(sys.executable, "-m", "pytest"),
            *("--strict-markers", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 failed, 1 passed" in ran.stdout, ran.stdout
    assert "ZeroDivisionError" in ran.stdout
    assert "--- broker 1" in ran.stdout
    assert "listens on 127.0.0.1:" in ran.stdout


def test_the_plugin_costs_nothing_until_a_cluster_is_wanted() -> None:
    """It is loaded in every test run on a machine that has Regent."""
    program = "import sys, regent.testing.pytest_plugin; print('kazoo' in sys.modules)"

    ran = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "False\n"
