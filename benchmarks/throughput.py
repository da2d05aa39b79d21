"""How much a cluster takes from one client: `python -m benchmarks.throughput --json`.

confluent-kafka writes records of 1 KB with acks=all to a topic of three partitions, as fast as it
can, until so many megabytes are acknowledged. Brokers are processes of `regent.testing`.

- `one`: one broker, one replica. `three`: three brokers, three replicas.
- each `mb_per_s`, and `cpu_s_per_gb`: seconds of processors that all brokers together took for each
  gigabyte that the client wrote. On a machine that does other things too, those repeat better.
- `socket_mb_per_s`: the same bytes through one connection on 127.0.0.1 from one process to another
  that drops them; `_ratio` is how many times slower the brokers are.
"""

import argparse
import socket
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

from confluent_kafka import Producer
from msgspec import Struct

from benchmarks.process_tree import tree_cpu_s
from benchmarks.report import show
from regent.testing import Cluster
from regent.testing.patient import PATIENCE_S

TOPIC: Final = "orders"
PARTITIONS: Final = 3
RECORD: Final = bytes(range(256)) * 4
MEGABYTE: Final = 1_000_000
#: What is written before the clock runs: connections, segments and caches are there then.
WARM_UP_MB: Final = 20
DROPPER: Final = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as link:
    into = bytearray(1 << 20)
    while link.recv_into(into):
        pass
"""


class Throughput(Struct, frozen=True):
    """What one cluster took."""

    mb_per_s: float
    cpu_s_per_gb: float


def take_in(brokers: int, megabytes: int) -> Throughput:
    """Write so much to a cluster of so many brokers, with as many replicas."""
    with Cluster(brokers=brokers) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=brokers)
        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "acks": "all",
                "linger.ms": 5,
                "batch.size": 1_000_000,
                "queue.buffering.max.messages": 100_000,
                "log_level": 0,
            }
        )
        write(producer, WARM_UP_MB)
        pids = [cluster.broker(each).pid for each in cluster.broker_ids]
        before_cpu_s = sum(map(tree_cpu_s, pids))
        start_s = perf_counter()
        write(producer, megabytes)
        took_s = perf_counter() - start_s
        cpu_s = sum(map(tree_cpu_s, pids)) - before_cpu_s
    return Throughput(round(megabytes / took_s, 1), round(cpu_s * 1000 / megabytes, 2))


def write(producer: Producer, megabytes: int) -> None:
    """So much, acknowledged."""
    for index in range(megabytes * MEGABYTE // len(RECORD)):
        while True:
            try:
                producer.produce(TOPIC, RECORD, partition=index % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.01)
    assert producer.flush(PATIENCE_S) == 0, "all is acknowledged"


def socket_mb_per_s(megabytes: int) -> float:
    """What the kernel and one process on each side can do."""
    piece = RECORD * 1024
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        with subprocess.Popen([sys.executable, "-c", DROPPER, port]) as dropper:  # noqa: S603
            link, _ = listening.accept()
            start_s = perf_counter()
            with link:
                for _ in range(megabytes * MEGABYTE // len(piece)):
                    link.sendall(piece)
            dropper.wait()
    return megabytes / (perf_counter() - start_s)


def measure(megabytes: int) -> dict[str, Any]:
    """Everything, in turn."""
    one, three = take_in(1, megabytes), take_in(3, megabytes)
    plain = socket_mb_per_s(megabytes)
    return {
        "benchmark": "throughput",
        "client": "confluent-kafka",
        "record_bytes": len(RECORD),
        "written_mb": megabytes,
        "one_mb_per_s": one.mb_per_s,
        "one_cpu_s_per_gb": one.cpu_s_per_gb,
        "one_ratio": round(plain / one.mb_per_s, 1),
        "three_mb_per_s": three.mb_per_s,
        "three_cpu_s_per_gb": three.cpu_s_per_gb,
        "three_ratio": round(plain / three.mb_per_s, 1),
        "socket_mb_per_s": round(plain),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure how much a cluster takes in.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--megabytes", type=int, default=1000, help="for each cluster")
    chosen = parser.parse_args(arguments)
    show(measure(chosen.megabytes), as_json=chosen.json)


if __name__ == "__main__":
    main()
