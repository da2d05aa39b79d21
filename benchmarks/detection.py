"""How long a killed controller's role stays taken: `python -m benchmarks.detection --json`.

A `regent controller` is killed (kill -9). The clock runs until a client that watches `/controller`
hears that it is gone.

- `guarded_ms`: with a guardian, which closes the dead child's session (median, and each run).
- `unguarded_ms`: without one: ZooKeeper waits for the session to time out.
- `session_timeout_ms`: that timeout; `ratio` is how much sooner the guardian is.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Final

from benchmarks.live_cluster import zookeeper
from benchmarks.report import show
from regent.runtime.guardian import GuardedProcess
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.hand_over import read_holder
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Exists, WatchEvent

SESSION_TIMEOUT_MS: Final = 6_000
NODE_ID: Final = "100"


def detect(options: ZooKeeperOptions, folder: Path, *, is_guarded: bool) -> float:
    """Milliseconds from the kill to the news of it."""
    gone = threading.Event()
    at_s = 0.0

    def on_watch(event: WatchEvent) -> None:
        nonlocal at_s
        if event.path == paths.CONTROLLER and not gone.is_set():
            at_s = perf_counter()
            gone.set()

    command = [
        *(sys.executable, "-m", "regent.cli.main", "controller", "--id", NODE_ID),
        *("--zookeeper", options.connect, "--listen", "127.0.0.1:0", "--journal", str(folder)),
        *("--session-timeout-ms", str(SESSION_TIMEOUT_MS)),
    ]
    session = KazooSession.open(options, on_watch=on_watch)
    log = folder / "controller.log"
    with log.open("ab") as output:
        if is_guarded:
            guarded = GuardedProcess(command, options, output=output.fileno())
            process: subprocess.Popen[bytes] = guarded.process
        else:
            process = subprocess.Popen(command, stdout=output, stderr=output)  # noqa: S603
    with process if not is_guarded else nullcontext():
        while (holder := run(session, read_holder())) is None or str(holder.node_id) != NODE_ID:
            sleep(0.05)
        sleep(0.2)
        session.call([Exists(paths.CONTROLLER, watch=True)])
        start_s = perf_counter()
        os.kill(process.pid, signal.SIGKILL)
        gone.wait()
    session.close()
    return (at_s - start_s) * 1000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure how soon a killed controller is missed.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repetitions", type=int, default=5)
    chosen = parser.parse_args(arguments)
    with zookeeper() as options, tempfile.TemporaryDirectory(prefix="regent-bench-") as folder:
        guarded = [
            detect(options, Path(folder), is_guarded=True) for _ in range(chosen.repetitions)
        ]
        unguarded = detect(options, Path(folder), is_guarded=False)
    show(
        {
            "benchmark": "detection",
            "guarded_ms": round(median(guarded), 1),
            "guarded_runs_ms": [round(each, 1) for each in guarded],
            "unguarded_ms": round(unguarded),
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "ratio": round(unguarded / median(guarded)),
        },
        as_json=chosen.json,
    )


if __name__ == "__main__":
    main()
