"""How long a dry run takes: `python -m benchmarks.what_if --json`.

"Broker 3 dies" is asked of a snapshot of N partitions (three replicas, ten brokers, topics of
fifty), as `regent what-if` asks it. Each figure is the best of several repetitions, in seconds of
the processor.

For each size:

- `python_loop_s`: a plain loop that makes N leaderships and puts each into a dict. What this
  machine can do just now; `ratio` is `total_s` as a multiple of it.
- `read_s`: from the bytes of the file to a checked snapshot.
- `answer_s`: from the snapshot to the answer: a failover on the copy, the broker's death, and the
  comparison of before and after.
- `total_s`: both. `flatness` compares the cost for each partition at the largest and the smallest
  size.
"""

import argparse
import gc
from collections.abc import Sequence
from time import thread_time
from typing import Any, Final

from msgspec import Struct

from benchmarks.core import time_python_loop
from benchmarks.memory_cluster import MemoryCluster
from benchmarks.report import show
from regent.dryrun.capture import capture
from regent.dryrun.questions import BrokersDie
from regent.dryrun.run import DryRunAnswer, ask_what_if
from regent.dryrun.snapshot import decode_snapshot, encode_snapshot
from regent.model.ids import BrokerId

QUESTION: Final = BrokersDie((BrokerId(3),))
SIZES: Final = (10_000, 100_000)


class WhatIfTimes(Struct):
    """What one repetition measured, in seconds."""

    python_loop_s: float
    read_s: float
    answer_s: float


def make_content(partition_count: int) -> bytes:
    """A snapshot as it stands in a file."""
    taken, left_out = capture(MemoryCluster(partition_count).answer)
    assert not left_out, "everything there can be read"
    return encode_snapshot(taken)


def repeat(content: bytes, partition_count: int) -> tuple[WhatIfTimes, DryRunAnswer]:
    """Read and ask once."""
    gc.collect()
    python_loop_s = time_python_loop(partition_count)
    start = thread_time()
    snapshot = decode_snapshot(content, "the snapshot")
    read_s = thread_time() - start
    start = thread_time()
    answer = ask_what_if(snapshot, [QUESTION])
    return WhatIfTimes(python_loop_s, read_s, thread_time() - start), answer


def measure(partition_count: int, repetitions: int) -> dict[str, Any]:
    """Every figure for one size."""
    content = make_content(partition_count)
    made = [repeat(content, partition_count) for _ in range(repetitions)]
    answer = made[0][1]
    best = {
        name: min(getattr(times, name) for times, _ in made)
        for name in WhatIfTimes.__struct_fields__
    }
    total_s = best["read_s"] + best["answer_s"]
    return {
        "partitions": partition_count,
        "snapshot_bytes": len(content),
        "changes": len(answer.changes),
        "leaders_moved": answer.leaders_moved,
        **{name: round(seconds, 6) for name, seconds in best.items()},
        "total_s": round(total_s, 6),
        "ratio": round(total_s / best["python_loop_s"], 2),
        "us_per_partition": round(total_s / partition_count * 1e6, 3),
    }


def measure_all(sizes: Sequence[int], repetitions: int) -> dict[str, Any]:
    """Every figure for every size, and how they compare."""
    measured = [measure(size, repetitions) for size in sizes]
    first, last = (size["us_per_partition"] for size in (measured[0], measured[-1]))
    return {
        "benchmark": "what_if",
        "repetitions": repetitions,
        "sizes": measured,
        "flatness": round(last / first, 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure dry runs.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--partitions",
        default=",".join(map(str, SIZES)),
        help="sizes to measure, smallest first (default: %(default)s)",
    )
    parser.add_argument("--repetitions", type=int, default=3, help="best of how many")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.partitions.split(",")]
    show(measure_all(sizes, options.repetitions), as_json=options.json)


if __name__ == "__main__":
    main()
