"""Every benchmark, each in a process of its own: `python -m benchmarks.all`.

Prints one JSON and leaves it in `build/bench.json`. There is no date in it: what ran where is said,
and when it ran is the file's business.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.report import to_json

ROOT: Final = Path(__file__).parents[1]
#: Each module, and with what it is run when a quick look is enough.
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "core": ("--partitions", "1000,2000", "--repetitions", "1"),
    "what_if": ("--partitions", "1000,2000", "--repetitions", "1"),
    "wire": ("--partitions", "1000,2000", "--repetitions", "1"),
    "client_codec": ("--rounds", "200", "--repetitions", "1"),
    "storage": ("--quick",),
    "simulation": ("--partitions", "5", "--simulated-ms", "2000", "--repetitions", "1"),
    "zookeeper": ("--quick",),
    "failover": ("--partitions", "1000,2000", "--repetitions", "1"),
    "live_events": ("--partitions", "1200", "--topics", "5"),
    "detection": ("--repetitions", "1"),
    "cluster_start": ("--repetitions", "1"),
    "client_failover": ("--rounds", "1"),
    "throughput": ("--megabytes", "20"),
}
#: These take minutes however small they are, so a quick look leaves them out.
SPARK_MODULES: Final = ("plan", "blast_radius", "pipeline", "watch")


def run_module(name: str, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """One benchmark's figures; its complaints go where ours go."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)  # noqa: S603
    figures: dict[str, Any] = msgspec.json.decode(done.stdout)
    return figures


def run_all(*, quick: bool) -> dict[str, Any]:
    """The figures of all, and the machine they are from."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "quick": quick,
        "benchmarks": {
            name: run_module(name, arguments if quick else ())
            for name, arguments in MODULES.items()
        }
        | {name: run_module(name) for name in SPARK_MODULES if not quick},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(description="Run all benchmarks.")
    parser.add_argument("--json", action="store_true", help="as always: all is printed as JSON")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json")
    options = parser.parse_args(arguments)
    figures = to_json(run_all(quick=options.quick))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(figures + b"\n")
    print(figures.decode())


if __name__ == "__main__":
    main()
