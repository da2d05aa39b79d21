"""How soon `regent pipeline watch` tells, and what a kill costs: `python -m benchmarks.watch`.

Latency is from the moment a record is on disk to the moment its alert is. A kill is a SIGKILL for
the whole watch, Java and all, while a batch is under way: the checkpoint has its offsets and not
its commit. Afterwards every record must be there, once.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from pyarrow import parquet

from benchmarks.report import show
from regent.journal.record import SCHEMA_VERSION, Record, encode
from regent.journal.writer import segment_name
from regent.model import facts
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch
from regent.pipeline.live.folder import LiveFolder
from regent.pipeline.session import Profile, open_session
from regent.pipeline.watch import WatchPlan, watch

EVENTS_PER_S: Final = 200
#: One of so many records is worth an alert.
ALERT_EVERY: Final = 100
START_TIMEOUT_S: Final = 300.0
ROOT: Final = Path(__file__).parents[1]


# --- the journal ----------------------------------------------------------------------------------


def line(sequence: int) -> bytes:
    """A record; every hundredth says that a broker died."""
    fact: facts.Fact = facts.RequestAnswered(BrokerId(1), "UpdateMetadata", ErrorCode.NONE)
    if sequence % ALERT_EVERY == 0:
        fact = facts.BrokerDown(BrokerId(1), BrokerEpoch(sequence))
    at_ms = round(time.time() * 1000)
    record = Record(
        SCHEMA_VERSION, sequence, at_ms, BrokerId(1), ControllerEpoch(1), "bench#1", fact
    )
    return encode(record) + b"\n"


class Journal:
    """A controller that writes at an even pace until it is stopped."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._path = directory / segment_name(BrokerId(1), 1)
        self._stopping = threading.Event()
        #: When each record that is worth an alert was on disk.
        self.written_s: dict[int, float] = {}
        self.records = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write in the background."""
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()

    def _write(self) -> None:
        began_s = time.monotonic()
        with self._path.open("ab", buffering=0) as file:
            while not self._stopping.wait(0.02):
                due = int((time.monotonic() - began_s) * EVENTS_PER_S)
                for sequence in range(self.records + 1, due + 1):
                    file.write(line(sequence))
                    if sequence % ALERT_EVERY == 0:
                        self.written_s[sequence] = time.monotonic()
                self.records = max(self.records, due)


# --- the watch, in a process group of its own -----------------------------------------------------


def serve(journal: str, out: str, *, is_once: bool) -> None:
    """What the child does."""
    folder = LiveFolder(Path(out))
    spark = open_session("local[2]", Profile.LIGHT, "regent-bench")
    asked = WatchPlan((journal,), folder, from_start=True, is_once=is_once)
    with folder.held():
        watch(spark, asked, threading.Event())
    spark.stop()


def start(journal: Path, out: Path, *extra: str) -> subprocess.Popen[bytes]:
    """A watch as a child."""
    command = [sys.executable, "-m", "benchmarks.watch", "--serve", str(journal), str(out), *extra]
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True)  # noqa: S603


def kill(child: subprocess.Popen[bytes]) -> None:
    """All of it, Java too, with no chance to tidy up."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def numbers_in(folder: Path) -> set[int]:
    """The batches that a log of a checkpoint has."""
    return {int(path.name) for path in folder.glob("[0-9]*")}


def in_flight(folder: LiveFolder, query: str) -> bool:
    """Whether a batch has been begun and not been finished."""
    checkpoint = folder.checkpoints / query
    begun = numbers_in(checkpoint / "offsets")
    return max(begun, default=-1) > max(numbers_in(checkpoint / "commits"), default=-1)


def wait_for_first_commit(folder: LiveFolder, child: subprocess.Popen[bytes], after: int) -> None:
    """Until the alerts of a batch later than this are done with."""
    until_s = time.monotonic() + START_TIMEOUT_S
    commits = folder.checkpoints / "alerts" / "commits"
    while max(numbers_in(commits), default=-1) <= after:
        if child.poll() is not None or time.monotonic() > until_s:
            raise RuntimeError("the watch did not start")
        time.sleep(0.1)


# --- what is measured -----------------------------------------------------------------------------


def alerted(folder: LiveFolder) -> list[int]:
    """The sequence numbers of the alerts on disk."""
    found = []
    for _, file in folder.alert_files():
        alerts = [msgspec.json.decode(text) for text in file.read_bytes().splitlines()]
        found += [alert["sequence"] for alert in alerts if alert["rule"] == "broker_died"]
    return found


def measure_latency(scratch: Path, seconds: int) -> dict[str, Any]:
    """From record to alert, at an even pace."""
    journal, folder = Journal(scratch / "latency"), LiveFolder(scratch / "latency-out")
    child = start(scratch / "latency", scratch / "latency-out")
    seen_s: dict[int, float] = {}
    awaited: set[int] = set()
    try:
        with journal.writing():
            wait_for_first_commit(folder, child, after=0)
            first = journal.records
            until_s = time.monotonic() + seconds
            # What was written meanwhile is waited for: the slowest must count too.
            while time.monotonic() < until_s or awaited - seen_s.keys():
                if time.monotonic() < until_s:
                    awaited = {
                        sequence for sequence in journal.written_s.copy() if sequence > first
                    }
                elif child.poll() is not None or time.monotonic() > until_s + START_TIMEOUT_S:
                    raise RuntimeError("the watch did not tell of everything")
                for sequence in alerted(folder):
                    seen_s.setdefault(sequence, time.monotonic())
                time.sleep(0.05)
    finally:
        kill(child)
    latencies = [seen_s[sequence] - journal.written_s[sequence] for sequence in awaited]
    return {
        "events_per_s": EVENTS_PER_S,
        "alerts_measured": len(latencies),
        "latency_p50_s": round(median(latencies), 2),
        "latency_max_s": round(max(latencies), 2),
    }


def measure_kills(scratch: Path, kills: int) -> dict[str, Any]:
    """What is lost or doubled when a watch is killed in mid-batch, again and again."""
    directory, out = scratch / "kills", scratch / "kills-out"
    journal, folder = Journal(directory), LiveFolder(out)
    proven = 0
    with journal.writing():
        while proven < kills:
            done = max(numbers_in(folder.checkpoints / "alerts" / "commits"), default=-1)
            child = start(directory, out)
            try:
                wait_for_first_commit(folder, child, after=done)
                query = ("transitions", "alerts")[proven % 2]
                while not in_flight(folder, query) and child.poll() is None:
                    time.sleep(0.002)
            finally:
                kill(child)
            proven += in_flight(folder, query)
    last = start(directory, out, "--once")
    if last.wait(START_TIMEOUT_S):
        raise RuntimeError("the watch did not finish")
    kept = Counter[int]()
    for file in folder.transitions.glob("batch=*/*.parquet"):
        kept.update(parquet.read_table(file, columns=["sequence"])["sequence"].to_pylist())
    told = Counter(alerted(folder))
    return {
        "kills_in_mid_batch": proven,
        "records": journal.records,
        "rows_lost": journal.records - len(kept),
        "rows_doubled": kept.total() - len(kept),
        "alerts_lost": len(set(journal.written_s) - set(told)),
        "alerts_doubled": told.total() - len(told),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure a watch.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--seconds", type=int, default=40, help="how long latency is measured")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--serve", nargs=2, metavar=("JOURNAL", "OUT"), help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(*options.serve, is_once=options.once)
        return
    with TemporaryDirectory(prefix="regent-watch-") as scratch:
        figures = {
            "benchmark": "watch",
            **measure_latency(Path(scratch), options.seconds),
            **measure_kills(Path(scratch), options.kills),
        }
    show(figures, as_json=options.json)


if __name__ == "__main__":
    main()
