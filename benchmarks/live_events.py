"""What a controller does in office, on real ZooKeeper: `python -m benchmarks.live_events --json`.

N partitions (topics of fifty, three replicas, twelve brokers that say yes). Seconds of wall time,
each from a run of its own:

- `broker_death_s`: one of twelve brokers goes, and a twelfth of the leaders with it. From the event
  being taken up to the last state durable and the last request handed to its channel.
- `controlled_shutdown_s`: one of twelve brokers asks to go; until the controller has answered it.
- `creation_s`: M topics of fifty partitions are asked for at once; until the last leader is elected
  and told. Into an empty cluster.
- `bytes_per_partition`: what the controller's process grows by when it takes office, by N: the
  state, the caches, what the allocator keeps (resident memory, after all brokers have answered).
- `journal_share`: what the journal costs: the processor's time of a failover with it and without
  it, as a share of the latter. `records` is how many it wrote.
- `python_loop_s`: what this machine can do just now; the `_ratio` figures are multiples of it.
"""

import argparse
import gc
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Queue
from time import perf_counter, process_time, sleep
from typing import Any, Final

from benchmarks.core import time_python_loop
from benchmarks.live_cluster import (
    BROKERS,
    PARTITIONS_PER_TOPIC,
    REPLICAS,
    LiveController,
    brokers,
    zookeeper,
)
from benchmarks.report import show
from regent.core.events import ControlledShutdownRequested, TopicCreationRequested
from regent.core.gauges import STATE_GAUGES
from regent.model.admin_requests import ControlledShutdown, CreateTopics, NewTopic
from regent.model.ids import BrokerId
from regent.runtime.inbox import now_ms
from regent.zookeeper import paths
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Delete

PARTITIONS: Final = 120_000
TOPICS: Final = 2_000
VICTIM: Final = BrokerId(4)
ANSWER_S: Final = 120
_PAGE_BYTES: Final = 4096

#: What is measured on a controller in office; `replies` has its answers.
Measured = Callable[[LiveController, "Queue[Any]", ZooKeeperOptions], float]


def in_office(partition_count: int, measure: Measured) -> float:
    """Run one measurement on a controller that has taken office and told everybody."""
    replies: Queue[Any] = Queue()
    with (
        zookeeper(partition_count) as options,
        brokers(options, 1, BROKERS),
        tempfile.TemporaryDirectory(prefix="regent-bench-") as folder,
        LiveController(options, Path(folder), replies.put) as live,
    ):
        live.wait_for("SessionStarted")
        live.wait_until_told()
        gc.collect()
        return measure(live, replies, options)


def broker_death(live: LiveController, _replies: "Queue[Any]", options: ZooKeeperOptions) -> float:
    """A registration disappears, as it does when its session ends."""
    after = len(live.driver.handled)
    session = KazooSession.open(options)
    session.call([Delete(paths.broker(VICTIM))])
    session.close()
    start_s, end_s = live.wait_for("BrokersChanged", after=after)
    return end_s - start_s


def controlled_shutdown(
    live: LiveController, replies: "Queue[Any]", _options: ZooKeeperOptions
) -> float:
    """A broker asks, and is answered when all that it led is led elsewhere."""
    broker_epoch = live.controller.state.brokers[VICTIM].broker_epoch
    request = ControlledShutdown(VICTIM, broker_epoch)
    start_s = perf_counter()
    live.inbox.put(ControlledShutdownRequested(now_ms(), 1, request))
    answer = replies.get(timeout=ANSWER_S).answer
    took_s = perf_counter() - start_s
    assert not answer.remaining, "all leaders could move"
    return took_s


def creation(topic_count: int) -> Measured:
    """So many topics in one request."""

    def measure(live: LiveController, replies: "Queue[Any]", _options: ZooKeeperOptions) -> float:
        topics = tuple(
            NewTopic(f"topic-{number:06}", PARTITIONS_PER_TOPIC, REPLICAS)
            for number in range(topic_count)
        )
        start_s = perf_counter()
        live.inbox.put(TopicCreationRequested(now_ms(), 1, CreateTopics(topics)))
        results = replies.get(timeout=ANSWER_S).answer.results
        assert not any(result.error for result in results), "all can be created"
        wanted = topic_count * PARTITIONS_PER_TOPIC
        while live.look(STATE_GAUGES["GlobalPartitionCount"]) < wanted:
            sleep(0.01)
        return live.wait_until_told() - start_s

    return measure


def memory(partition_count: int) -> float:
    """Bytes by partition that taking office adds to this process."""
    with zookeeper(partition_count) as options, brokers(options, 1, BROKERS):
        gc.collect()
        before = _resident_bytes()
        with (
            tempfile.TemporaryDirectory(prefix="regent-bench-") as folder,
            LiveController(options, Path(folder), lambda _reply: None) as live,
        ):
            live.wait_for("SessionStarted")
            live.wait_until_told()
            gc.collect()
            return (_resident_bytes() - before) / partition_count


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


def failover_cpu(partition_count: int, *, has_journal: bool) -> tuple[float, int]:
    """The processor's seconds of a failover, all threads, and the records that it wrote."""
    with (
        zookeeper(partition_count) as options,
        brokers(options, 1, BROKERS - 1),
        tempfile.TemporaryDirectory(prefix="regent-bench-") as folder,
    ):
        gc.collect()
        start_s = process_time()
        live = LiveController(options, Path(folder) if has_journal else None, lambda _reply: None)
        with live:
            live.wait_for("SessionStarted")
        return process_time() - start_s, live.journal.record_count


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure a controller in office.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--topics", type=int, default=TOPICS)
    options = parser.parse_args(arguments)
    count = options.partitions
    loop_s = time_python_loop(count)
    death_s = in_office(count, broker_death)
    shutdown_s = in_office(count, controlled_shutdown)
    creation_s = in_office(0, creation(options.topics))
    without_s, _ = failover_cpu(count, has_journal=False)
    with_s, records = failover_cpu(count, has_journal=True)
    figures = {
        "benchmark": "live_events",
        "partitions": count,
        "leaders_of_a_broker": count // BROKERS,
        "broker_death_s": round(death_s, 3),
        "broker_death_ratio": round(death_s / loop_s, 1),
        "controlled_shutdown_s": round(shutdown_s, 3),
        "controlled_shutdown_ratio": round(shutdown_s / loop_s, 1),
        "topics_created": options.topics,
        "partitions_created": options.topics * PARTITIONS_PER_TOPIC,
        "creation_s": round(creation_s, 3),
        "creation_ratio": round(creation_s / loop_s, 1),
        "bytes_per_partition": round(memory(count)),
        "journal_share": round((with_s - without_s) / without_s, 3),
        "records": records,
        "python_loop_s": round(loop_s, 4),
    }
    show(figures, as_json=options.json)


if __name__ == "__main__":
    main()
