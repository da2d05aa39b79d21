"""Cold failover on real ZooKeeper: `python -m benchmarks.failover --partitions 100000 --json`.

A controller and one of twelve brokers go together, and another controller takes office over N
partitions (topics of fifty, three replicas): a twelfth of the leaders must be elected anew, and a
sixth of the other partitions lose a replica from their ISR. The clock runs from the moment at which
`/controller` is ours to the moment at which every request is encoded and handed to its broker's
channel. The new controller knows nothing of the cluster; ZooKeeper has served the old one before.

For each size, in seconds, the median of several runs, each with a new controller and a new cluster:

- `total_s`, and `us_per_partition`; `linear` compares the latter at the largest and smallest size.
- `answered_s`: until all eleven brokers have answered everything.
- `breakdown`: reading topics, configs and states, writing states, all smaller asks, encoding and
  handing over, the journal's share on the controller's thread, and what is left: deciding.
- `elections`, `shrinks`, `requests`, `records`: how much there was to do.
- `python_loop_s`: what the machine can do just now (see `benchmarks.core`); `ratio` is `total_s` by
  it.
"""

import argparse
import gc
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.core import time_python_loop
from benchmarks.live_cluster import BROKERS, LiveController, brokers, zookeeper
from benchmarks.report import show

SIZES: Final = (10_000, 50_000, 100_000, 200_000)


def repeat(partition_count: int) -> dict[str, Any]:
    """One failover in a cluster of its own."""
    loop_s = time_python_loop(partition_count)
    with (
        zookeeper(partition_count) as options,
        brokers(options, 1, BROKERS - 1),
        tempfile.TemporaryDirectory(prefix="regent-bench-") as folder,
    ):
        with (
            brokers(options, BROKERS, BROKERS),
            LiveController(options, Path(folder), lambda _reply: None) as predecessor,
        ):
            predecessor.wait_for("SessionStarted")
            predecessor.wait_until_told()
        gc.collect()
        with LiveController(options, Path(folder), lambda _reply: None) as live:
            _, end_s = live.wait_for("SessionStarted")
            total_s = end_s - live.driver.took_office_s
            spent = dict(live.driver.spent_s)
            spent["encode_s"] = live.channels.spent_s
            spent["journal_s"] = live.journal.spent_s
            requests, records = live.channels.sent_count, live.journal.record_count
            answered_s = live.wait_until_told() - live.driver.took_office_s
    spent["decide_s"] = total_s - sum(spent.values())
    return {
        "partitions": partition_count,
        "total_s": total_s,
        "answered_s": answered_s,
        "breakdown": spent,
        "requests": requests,
        "records": records,
        "python_loop_s": loop_s,
    }


def measure(partition_count: int, repetitions: int) -> dict[str, Any]:
    """The run in the middle of several."""
    runs = sorted((repeat(partition_count) for _ in range(repetitions)), key=lambda r: r["total_s"])
    chosen = runs[len(runs) // 2]
    loop_s = median(each["python_loop_s"] for each in runs)
    return {
        "partitions": partition_count,
        "total_s": round(chosen["total_s"], 3),
        "best_s": round(runs[0]["total_s"], 3),
        "answered_s": round(chosen["answered_s"], 3),
        "us_per_partition": round(chosen["total_s"] / partition_count * 1e6, 2),
        "breakdown": {name: round(s, 3) for name, s in sorted(chosen["breakdown"].items())},
        "requests": chosen["requests"],
        "records": chosen["records"],
        "python_loop_s": round(loop_s, 4),
        "ratio": round(chosen["total_s"] / loop_s, 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure cold failover on real ZooKeeper.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--partitions", default=",".join(map(str, SIZES)))
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args(arguments)
    counts = [int(text) for text in options.partitions.split(",")]
    sizes = [measure(count, options.repetitions) for count in counts]
    figures: dict[str, Any] = {"benchmark": "failover", "repetitions": options.repetitions}
    if len(sizes) == 1:
        figures |= sizes[0]
    else:
        figures["linear"] = round(sizes[-1]["us_per_partition"] / sizes[0]["us_per_partition"], 2)
        figures["sizes"] = sizes
    show(figures, as_json=options.json)


if __name__ == "__main__":
    main()
