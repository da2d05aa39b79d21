"""The long run, `make soak`: many simulated clusters, then a real one under faults for long.

    python -m tests.chaos --seconds 900 --faults 200 --seed 1

The outcome of both goes to standard output and into `build/soak.json`, what is done meanwhile to
standard error. The real cluster is kept in `build/soak`. The exit status is that of `regent
simulate`, or 2 if the real cluster gave rise to findings.
"""

import argparse
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.chaos.campaign import Orders, Outcome, run_campaign
from tests.chaos.pipeline_audit import violations

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "soak"
SUMMARY: Final = ROOT / "build" / "soak.json"
FOUND: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both halves; the second one whatever became of the first."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--simulated", metavar="A..B", default="0..999", help="none: not at all")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--brokers", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--summary", type=Path, default=SUMMARY)
    given = parser.parse_args(arguments)
    simulation, status = _simulate(given.simulated)
    outcome = _break_a_cluster(given)
    summary = msgspec.json.encode({"simulation": simulation, "cluster": outcome})
    shown = msgspec.json.format(summary).decode() + "\n"
    given.summary.parent.mkdir(parents=True, exist_ok=True)
    given.summary.write_text(shown, encoding="utf-8")
    sys.stdout.write(shown)
    return status or (FOUND if outcome.findings else 0)


def _simulate(seeds: str) -> tuple[Any, int]:
    """What `regent simulate` says of these seeds, and its exit status."""
    if seeds == "none":
        return None, 0
    command = [sys.executable, "-m", "regent.cli.main", "simulate", "--seeds", seeds, "--json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603
    return msgspec.json.decode(ended.stdout), ended.returncode


def _break_a_cluster(given: argparse.Namespace) -> Outcome:
    shutil.rmtree(given.folder, ignore_errors=True)
    orders = Orders(
        seed=given.seed,
        folder=given.folder / "cluster",
        faults=given.faults,
        seconds=given.seconds,
        brokers=given.brokers,
        # Some pauses shall outlast a session.
        rest_s=(0.2, 3.0),
    )
    with redirect_stdout(sys.stderr):
        outcome = run_campaign(orders)
        outcome.find(*violations(orders.folder, given.folder / "tables"))
    return outcome


if __name__ == "__main__":
    sys.exit(main())
