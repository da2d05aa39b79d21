"""How fast logs are written, read and recovered: `python -m benchmarks.storage --json [--quick]`.

One partition on the disk of the temporary directory, without syncs; what is measured is our part
and the page cache. `plain` is `os.write` of the same bytes to a file in the same run, and a ratio
of 2 is twice its time. Each figure is the best of several repetitions, by the clock on the wall.

For each size of batch:

- `appends_per_s`, `append_mb_per_s`: batches checked, stamped and written one by one, as a leader
  does; `append_cpu_us` is the processor's time for one of them.
- `append_ratio`: how many times the time of plain writes that is.
- `replicated_mb_per_s`: read from one log and stored in another, a megabyte at a time.
- `read_mb_per_s`: all of it, a megabyte at a time; `plain_read_mb_per_s` is `os.pread` of the file.
- `tail_reads_per_s`: the batch just written, again and again, as a follower that keeps up does.
- `recovery_mb_per_s`: opening the log after a crash, every byte checked.
"""

import argparse
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final

from benchmarks.report import per_second, show
from regent.model.ids import LeaderEpoch, TopicPartition
from regent.storage.log_config import LogConfig
from regent.storage.log_dir import LogDir
from regent.storage.log_loading import LastKnown
from regent.storage.partition_log import PartitionLog
from regent.storage.record_batch import CheckedBatch, unpack_header
from regent.storage.records import build_batch

EPOCH: Final = LeaderEpoch(1)
NAME: Final = TopicPartition("bench", 0)
READ_BYTES: Final = 1024 * 1024
#: Bytes of a batch, and how many of them are written.
SIZES: Final = ((200, 200_000), (16 * 1024, 12_000), (1024 * 1024, 200))
QUICK_SIZES: Final = ((200, 500), (16 * 1024, 50), (1024 * 1024, 3))
#: What a batch has beside the value of its one record, roughly.
OVERHEAD_BYTES: Final = 70


def open_log(path: Path) -> PartitionLog:
    """The log that is measured, as after a crash."""
    config = LogConfig(batch_bytes_max=2 * READ_BYTES)
    return PartitionLog(LogDir(path), NAME, config, known=LastKnown())


def timed(work: Callable[[], Any]) -> float:
    """How long it took."""
    start = perf_counter()
    work()
    return perf_counter() - start


def write_plain(path: Path, batch: bytes, count: int) -> None:
    """The least that writing can cost."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for _ in range(count):
        os.write(descriptor, batch)
    os.close(descriptor)


def read_plain(path: Path) -> None:
    """The least that reading can cost."""
    descriptor = os.open(path, os.O_RDONLY)
    position = 0
    while content := os.pread(descriptor, READ_BYTES, position):
        position += len(content)
    os.close(descriptor)


def append_all(log: PartitionLog, batch: bytes, count: int) -> None:
    """As a leader does for requests of one batch each."""
    for _ in range(count):
        admitted = log.admit(batch)
        assert isinstance(admitted, CheckedBatch), "it is a good batch"
        log.append(EPOCH, (admitted,))


def read_all(log: PartitionLog) -> Iterator[bytes]:
    """From the start to the end."""
    offset = 0
    while content := log.read(offset, READ_BYTES):
        yield content
        # All batches here are of one record and of one size.
        offset += len(content) // unpack_header(content).batch_bytes


def replicate_all(source: PartitionLog, target: PartitionLog) -> None:
    """As a leader and its follower do, without the network between them."""
    for chunk in read_all(source):
        refused = target.append_entries(chunk)
        assert refused is None, refused


def read_tail(log: PartitionLog, count: int) -> None:
    """The last batch, so many times."""
    offset = log.end_offset - 1
    for _ in range(count):
        assert log.read(offset, READ_BYTES), "it is there"


def repeat(path: Path, batch: bytes, count: int) -> dict[str, float]:
    """Every figure once, in seconds."""
    times = {"plain_s": timed(lambda: write_plain(path / "plain", batch, count))}
    times["plain_read_s"] = timed(lambda: read_plain(path / "plain"))
    (path / "plain").unlink()
    leader_path, follower_path = path / "leader", path / "follower"
    for each in (leader_path, follower_path):
        each.mkdir()
    leader, follower = open_log(leader_path), open_log(follower_path)
    start_cpu = thread_time()
    times["append_s"] = timed(lambda: append_all(leader, batch, count))
    times["append_cpu_s"] = thread_time() - start_cpu
    times["read_s"] = timed(lambda: deque(read_all(leader), maxlen=0))
    times["tail_s"] = timed(lambda: read_tail(leader, min(count, 10_000)))
    times["replicate_s"] = timed(lambda: replicate_all(leader, follower))
    assert follower.end_offset == leader.end_offset == count, "nothing is lost"
    leader.abandon()
    follower.abandon()
    times["recovery_s"] = timed(lambda: open_log(leader_path).abandon())
    for each in (leader_path, follower_path):
        shutil.rmtree(each)
    return times


def measure(path: Path, batch_bytes: int, count: int, repetitions: int) -> dict[str, Any]:
    """Every figure for one size of batch."""
    batch = build_batch([(None, os.urandom(batch_bytes - OVERHEAD_BYTES))], timestamp=1)
    made = [repeat(path, batch, count) for _ in range(repetitions)]
    best = {name: min(times[name] for times in made) for name in made[0]}
    total_bytes = len(batch) * count

    def mb_per_s(name: str) -> float:
        return round(total_bytes / best[name] / 1e6, 1)

    return {
        "batch_bytes": len(batch),
        "appends_per_s": per_second(count, best["append_s"]),
        "append_cpu_us": round(best["append_cpu_s"] / count * 1e6, 1),
        "append_mb_per_s": mb_per_s("append_s"),
        "plain_mb_per_s": mb_per_s("plain_s"),
        "append_ratio": round(best["append_s"] / best["plain_s"], 2),
        "replicated_mb_per_s": mb_per_s("replicate_s"),
        "read_mb_per_s": mb_per_s("read_s"),
        "plain_read_mb_per_s": mb_per_s("plain_read_s"),
        "read_ratio": round(best["read_s"] / best["plain_read_s"], 2),
        "tail_reads_per_s": per_second(min(count, 10_000), best["tail_s"]),
        "recovery_mb_per_s": mb_per_s("recovery_s"),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure logs on disk.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--repetitions", type=int, default=3, help="best of how many")
    options = parser.parse_args(arguments)
    sizes = QUICK_SIZES if options.quick else SIZES
    with tempfile.TemporaryDirectory(prefix="regent-storage-") as path:
        measured = [
            measure(Path(path), batch_bytes, count, options.repetitions)
            for batch_bytes, count in sizes
        ]
    show(
        {"benchmark": "storage", "repetitions": options.repetitions, "sizes": measured},
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
