"""How fast a real ZooKeeper is read and written: `python -m benchmarks.zookeeper --json`.

An embedded server of its own, with the full compiler and with syncs to disk, warmed up by the
filling. Partitions are as in Kafka: topics of fifty, three replicas, twelve brokers. Both sides use
the same machine, so the figures are of client and server together. Best of several repetitions, in
seconds on the clock.

- `create_s`: topics, partitions and states, each topic in one multi.
- `cold_read_s`: all partition states as a new controller reads them, decoded.
- `first_cold_read_s`: the same, the first time.
- `watched_topics_s`: every topic read and watched.
- `cas_per_s`: conditional writes of states, 250 in a multi, each multi fenced.
- `kazoo_get_per_s`, `kazoo_set_per_s`: the same through kazoo's own `get_async` and `set_async`,
  pipelined, on as many znodes as `kazoo_sample`; `read_ratio` and `write_ratio` compare.
"""

import argparse
import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final

from kazoo.client import KazooClient

from benchmarks.report import per_second, show
from regent.core.asks import (
    Fence,
    LeadershipWrite,
    ReadLeaderships,
    ReadTopics,
    WriteLeaderships,
)
from regent.core.state import Partition
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.performer import perform
from regent.zookeeper.store import Create, Multi, MultiDone
from regent.zookeeper.writes import ensure_paths
from regent.zookeeper.znodes import encode_leadership, encode_topic

BROKERS: Final = 12
PARTITIONS_PER_TOPIC: Final = 50
FENCE: Final = Fence(ControllerEpoch(8), ZkVersion(0))
#: kazoo takes a tenth of a millisecond for each; more would only take longer.
KAZOO_SAMPLE: Final = 5_000


class FilledCluster:
    """A server with as many partitions, and what a controller would ask about them."""

    def __init__(self, address: str, partition_count: int) -> None:
        options = ZooKeeperOptions(
            connect=f"{address}/bench", creates_chroot=True, session_timeout_ms=30_000
        )
        self.session = KazooSession.open(options)
        self.partitions = [_partition(number) for number in range(partition_count)]
        run(self.session, ensure_paths())
        self.session.call([Create(paths.CONTROLLER_EPOCH, b"8")])
        self.create_s, _ = timed(self._create)

    def _create(self) -> None:
        for reply in self.session.call([Multi(ops) for ops in self._creations()]):
            assert isinstance(reply, MultiDone), reply

    def _creations(self) -> Iterator[tuple[Create, ...]]:
        for start in range(0, len(self.partitions), PARTITIONS_PER_TOPIC):
            partitions = self.partitions[start : start + PARTITIONS_PER_TOPIC]
            topic = partitions[0].topic
            assignment = {partition.index: partition.assignment for partition in partitions}
            ops = [
                Create(paths.topic(topic), encode_topic("Zm9vYmFyYmF6cXV1eDEyMw", assignment)),
                Create(paths.partitions(topic)),
            ]
            for partition in partitions:
                state = paths.partition_state(topic, partition.index)
                ops.append(Create(paths.partition(topic, partition.index)))
                ops.append(Create(state, encode_leadership(_leadership(partition, version=0))))
            yield tuple(ops)

    def read_states(self) -> None:
        """As a new controller does it."""
        read = run(self.session, perform(ReadLeaderships(self.partitions)))
        assert all(isinstance(each, Leadership) for each in read)

    def watch_topics(self) -> None:
        """Every topic's assignment, with a watch on each."""
        topics = tuple(dict.fromkeys(partition.topic for partition in self.partitions))
        read = run(self.session, perform(ReadTopics(topics)))
        assert len(read) == len(topics)

    def write_states(self, count: int, version: int) -> None:
        """New leaderships for the first partitions, which have been written so often."""
        writes = [
            LeadershipWrite(partition, _leadership(partition, version=version))
            for partition in self.partitions[:count]
        ]
        results = run(self.session, perform(WriteLeaderships(FENCE, writes)))
        assert results == [version + 1] * count


def _partition(number: int) -> Partition:
    topic, index = divmod(number, PARTITIONS_PER_TOPIC)
    replicas = tuple(BrokerId((number + step) % BROKERS) for step in (0, 1, 5))
    return Partition(f"topic-{topic}", index, Assignment(replicas))


def _leadership(partition: Partition, *, version: int) -> Leadership:
    replicas = partition.assignment.replicas
    return Leadership(
        replicas[0], LeaderEpoch(5 + version), replicas, ControllerEpoch(7), ZkVersion(version)
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took on the clock, and what came out."""
    gc.collect()
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def plain_kazoo(address: str, cluster: FilledCluster, sample: int) -> dict[str, int]:
    """The same through kazoo's own requests, one znode each, all under way at once."""
    client = KazooClient(f"{address}/bench", timeout=30.0)
    client.start()
    chosen = cluster.partitions[-sample:]
    state_paths = [paths.partition_state(each.topic, each.index) for each in chosen]

    def get_all() -> list[bytes]:
        pending = [client.get_async(path) for path in state_paths]
        return [result.get()[0] for result in pending]

    get_s, contents = timed(get_all)

    def set_all() -> None:
        pending = [
            client.set_async(path, content, version=0)
            for path, content in zip(state_paths, contents, strict=True)
        ]
        for result in pending:
            result.get()

    set_s, _ = timed(set_all)
    client.stop()
    client.close()
    return {
        "kazoo_get_per_s": per_second(sample, get_s),
        "kazoo_set_per_s": per_second(sample, set_s),
    }


def measure(partition_count: int, write_count: int, repetitions: int) -> dict[str, Any]:
    """Every figure, on a server of its own."""
    settings = EmbeddedSettings(heap_mb=2048, compiles_fully=True)
    sample = min(KAZOO_SAMPLE, partition_count - write_count)
    with EmbeddedZooKeeper(settings=settings) as server:
        cluster = FilledCluster(server.address, partition_count)
        reads = [timed(cluster.read_states)[0] for _ in range(repetitions + 1)]
        watching = [timed(cluster.watch_topics)[0] for _ in range(repetitions)]
        writes = [
            timed(partial(cluster.write_states, write_count, version))[0]
            for version in range(repetitions)
        ]
        kazoo = plain_kazoo(server.address, cluster, sample)
        cluster.session.close()
    read_per_s = per_second(partition_count, min(reads))
    cas_per_s = per_second(write_count, min(writes))
    return {
        "partitions": partition_count,
        "create_s": round(cluster.create_s, 4),
        "first_cold_read_s": round(reads[0], 4),
        "cold_read_s": round(min(reads), 4),
        "watched_topics_s": round(min(watching), 4),
        "writes": write_count,
        "cas_s": round(min(writes), 4),
        "cas_per_s": cas_per_s,
        "kazoo_sample": sample,
        **kazoo,
        "read_ratio": round(read_per_s / kazoo["kazoo_get_per_s"], 1),
        "write_ratio": round(cas_per_s / kazoo["kazoo_set_per_s"], 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure reading and writing a real ZooKeeper.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--writes", type=int, default=50_000)
    parser.add_argument("--repetitions", type=int, default=4, help="best of how many")
    options = parser.parse_args(arguments)
    if options.quick:
        options.partitions, options.writes, options.repetitions = 2_000, 1_000, 1
    measured = measure(options.partitions, options.writes, options.repetitions)
    show(
        {"benchmark": "zookeeper", "repetitions": options.repetitions, "sizes": [measured]},
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
