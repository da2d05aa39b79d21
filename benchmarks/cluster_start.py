"""How soon a cluster for a test can be written to: `python -m benchmarks.cluster_start --json`.

`regent.testing.Cluster` with three brokers is started, a topic with three replicas is created, and
one record is written to it with acks=all by confluent-kafka. Seconds until it is acknowledged.

- `cold_s`: the first cluster of a process, Java for ZooKeeper included (median, and each run).
- `second_s`: the next one of the same process, which shares that ZooKeeper.
- `zookeeper_s`: that Java alone, until it grants a session; `cold_ratio` is what the rest costs.
- `python_s`: an interpreter that imports what a broker imports, which each of them has to do;
  `second_ratio` is how many of those a cluster takes.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any, Final

import msgspec
from confluent_kafka import Producer

from benchmarks.report import show
from regent.testing import Cluster
from regent.testing.patient import PATIENCE_S
from regent.testing.shared_zookeeper import SETTINGS
from regent.zookeeper.embedded import EmbeddedZooKeeper

TOPIC: Final = "orders"
BROKER_IMPORTS: Final = (
    "import sys; sys.modules['hypothesis'] = None; import regent.cli.node, regent.node.broker_node"
)


def first_record_s() -> float:
    """From nothing to an acknowledged record."""
    start_s = perf_counter()
    with Cluster(brokers=3) as cluster:
        cluster.create_topic(TOPIC)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
        producer.produce(TOPIC, b"record")
        assert producer.flush(PATIENCE_S) == 0, "it is acknowledged"
        return perf_counter() - start_s


def zookeeper_s() -> float:
    """From nothing to a session."""
    start_s = perf_counter()
    with EmbeddedZooKeeper(settings=SETTINGS):
        return perf_counter() - start_s


def python_s() -> float:
    """The whole life of an interpreter that only imports."""
    start_s = perf_counter()
    subprocess.run([sys.executable, "-c", BROKER_IMPORTS], check=True)  # noqa: S603 - our own
    return perf_counter() - start_s


def in_a_fresh_process() -> tuple[float, float]:
    """The first and the second cluster of one process."""
    command = [sys.executable, "-m", "benchmarks.cluster_start", "--once"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - ourselves
    return msgspec.json.decode(done.stdout, type=tuple[float, float])


def measure(repetitions: int) -> dict[str, Any]:
    """Everything, in turn."""
    pairs = [in_a_fresh_process() for _ in range(repetitions)]
    cold, second = ([round(each, 2) for each in times] for times in zip(*pairs, strict=True))
    java_s, import_s = _median(zookeeper_s, repetitions), _median(python_s, repetitions)
    return {
        "benchmark": "cluster_start",
        "cold_s": round(median(cold), 2),
        "cold_runs_s": str(cold),
        "second_s": round(median(second), 2),
        "second_runs_s": str(second),
        "zookeeper_s": round(java_s, 2),
        "cold_ratio": round(median(cold) / java_s, 1),
        "python_s": round(import_s, 2),
        "second_ratio": round(median(second) / import_s, 1),
    }


def _median(measured: Callable[[], float], repetitions: int) -> float:
    return median(measured() for _ in range(repetitions))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure how soon a test cluster is ready.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.once:
        print(msgspec.json.encode((first_record_s(), first_record_s())).decode())
    else:
        show(measure(chosen.repetitions), as_json=chosen.json)


if __name__ == "__main__":
    main()
