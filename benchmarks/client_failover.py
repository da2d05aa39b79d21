"""How long a client waits when a leader is killed: `python -m benchmarks.client_failover --json`.

Three brokers in a `regent.testing.Cluster`, a topic with three replicas, and a producer of
confluent-kafka with acks=all that knows the cluster already. The broker that leads a partition is
killed (kill -9); when it is dead, one record is written. The clock runs from the kill to its
acknowledgement by the new leader, and everything is in it: closing the dead broker's session,
election, telling, and the client's own search for the new leader. Then the broker is started again,
all replicas are in sync, and everybody leads what they prefer.

- `leader`: the killed broker is not the controller. `controller`: it is.
- each `median_ms`, `p99_ms` and `runs_ms`; `elected_ms` is the median until ZooKeeper has the
  new leader, so that the rest is the telling and the client.
- `write_ms`: the median of a write when nothing is wrong, and `ratio`: how many of those a death
  costs.
- `producer`: the client's settings that matter here.
"""

import argparse
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

from confluent_kafka import Message, Producer

from benchmarks.report import show
from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster as Asked
from regent.model.admin_requests import ElectionType
from regent.testing import Cluster
from regent.testing.broker_process import Condition
from regent.testing.patient import PATIENCE_S, wait_for

TOPIC: Final = "orders"
PARTITIONS: Final = 3
IDS: Final = (1, 2, 3)
#: A client that does not lose time on politeness.
SETTINGS: Final[Mapping[str, str | int | bool]] = {
    "acks": "all",
    "linger.ms": 0,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    # It looks again at once when a connection breaks, hears of the dead leader still, and would
    # then wait for its own timer of a second.
    "topic.metadata.refresh.interval.ms": 50,
}


def to_producer(cluster: Cluster) -> Producer:
    """A client that says nothing of connections that end: they are killed on purpose."""
    return Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, **SETTINGS})


def write(producer: Producer, partition: int) -> None:
    """One record, acknowledged."""
    failures: list[str] = []

    def delivered(error: object, _message: Message) -> None:
        if error is not None:
            failures.append(str(error))

    producer.produce(TOPIC, b"record", partition=partition, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0, "it is acknowledged in the end"
    assert not failures, failures


def put_in_order(cluster: Cluster) -> None:
    """All replicas in sync, and each broker leads what it prefers."""
    for broker_id in IDS:
        if cluster.broker(broker_id).condition is Condition.DOWN:
            cluster.start(broker_id)
    for partition in range(PARTITIONS):
        cluster.wait_until(
            lambda at=partition: set(cluster.isr(TOPIC, at)) == set(IDS),  # type: ignore[misc]
            "all replicas in sync",
        )
    with Asked(parse_bootstrap(cluster.bootstrap)) as asked:
        Admin(asked).elect(ElectionType.PREFERRED)
    cluster.wait_until(
        lambda: {cluster.leader(TOPIC, each) for each in range(PARTITIONS)} == set(IDS),
        "each to lead",
    )


class Deaths:
    """Kills leaders, and notes for each how long it was until the next write was acknowledged."""

    def __init__(self, cluster: Cluster, *, of_controller: bool) -> None:
        self._cluster = cluster
        self._of_controller = of_controller
        self.written_ms: list[float] = []
        self.elected_ms: list[float] = []

    def once(self) -> None:
        """One of them."""
        cluster, victim = self._cluster, self._choose()
        partition = next(
            each for each in range(PARTITIONS) if cluster.leader(TOPIC, each) == victim
        )
        producer = to_producer(cluster)
        for each in range(PARTITIONS):
            write(producer, each)
        broker = cluster.broker(victim)
        assert broker.pid is not None, "it lives"
        start_s = perf_counter()
        watching = threading.Thread(target=self._watch, args=(partition, victim, start_s))
        watching.start()
        os.kill(broker.pid, signal.SIGKILL)
        while broker.condition is not Condition.DOWN:
            pass
        write(producer, partition)
        self.written_ms.append((perf_counter() - start_s) * 1000)
        watching.join()
        put_in_order(cluster)

    def figures(self) -> dict[str, Any]:
        """What was measured."""
        return {
            "median_ms": round(median(self.written_ms)),
            "p99_ms": round(_p99(self.written_ms)),
            "elected_ms": round(median(self.elected_ms)),
            "rounds": len(self.written_ms),
            "runs_ms": str([round(each) for each in self.written_ms]),
        }

    def _choose(self) -> int:
        controller_id = self._cluster.controller_id()
        if self._of_controller:
            return controller_id
        others = [each for each in IDS if each != controller_id]
        return others[len(self.written_ms) % len(others)]

    def _watch(self, partition: int, victim: int, start_s: float) -> None:
        def elected() -> bool:
            with suppress(Exception):  # ZooKeeper's own troubles are none of this clock's
                leadership = self._cluster.partition(TOPIC, partition).leadership
                return leadership is not None and leadership.leader not in (victim, -1)
            return False

        wait_for(elected, "a new leader")
        self.elected_ms.append((perf_counter() - start_s) * 1000)


def _p99(values: Sequence[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[-1] if len(values) > 1 else values[0]


def time_writes(cluster: Cluster, count: int) -> float:
    """Milliseconds of one write among many, when nothing is wrong."""
    producer, taken = to_producer(cluster), []
    for _ in range(count):
        start_s = perf_counter()
        write(producer, 0)
        taken.append((perf_counter() - start_s) * 1000)
    return median(taken)


def measure(rounds: int) -> dict[str, Any]:
    """Everything, in turn."""
    with Cluster(brokers=3) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        put_in_order(cluster)
        write_ms = time_writes(cluster, 50)
        deaths = {
            name: Deaths(cluster, of_controller=name == "controller")
            for name in ("leader", "controller")
        }
        for _ in range(rounds):
            for each in deaths.values():
                each.once()
    figures = {name: each.figures() for name, each in deaths.items()}
    return {
        "benchmark": "client_failover",
        "client": "confluent-kafka",
        "producer": ", ".join(f"{name}={value}" for name, value in SETTINGS.items()),
        "write_ms": round(write_ms, 1),
        **{f"{name}_{key}": value for name, told in figures.items() for key, value in told.items()},
        "ratio": round(figures["leader"]["median_ms"] / write_ms),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure how long a leader's death is felt.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=20, help="of each kind")
    chosen = parser.parse_args(arguments)
    show(measure(chosen.rounds), as_json=chosen.json)


if __name__ == "__main__":
    main()
