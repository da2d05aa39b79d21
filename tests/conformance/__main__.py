"""The same scenarios under Apache's controller and under Regent, compared step by step.

    python -m tests.conformance --scenarios 100 --seed 1

The outcome goes to standard output and into `build/conformance.json`, what is done meanwhile to
standard error. What was seen, and all logs, are kept in `build/conformance`. The exit status is 1
if there is a difference that nothing explains; without Kafka's jars nothing is done.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from tests.conformance.comparison import Seen, compare
from tests.conformance.generator import BATCH_SIZE, generate
from tests.conformance.handwritten import HANDWRITTEN
from tests.conformance.lockstep import group
from tests.conformance.player import Player
from tests.conformance.seats import APACHE_SEAT, ApacheSeat, RegentSeat, Seat
from tests.conformance.steps import Scenario
from tests.conformance.summary import summarize
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.kafka_jars import JarsMissing

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "conformance"
SUMMARY: Final = ROOT / "build" / "conformance.json"
DIFFERS: Final = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all of it twice, one cluster after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=100, help="handwritten ones first")
    parser.add_argument("--seed", type=int, default=1, help="of the generated ones")
    parser.add_argument("--only", default="", help="those whose name has this in it")
    given = parser.parse_args(arguments)
    began_s = monotonic()
    scenarios = _choose(given.scenarios, given.seed, given.only)
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        apache = _play("apache", ApacheSeat, scenarios)
        regent = _play("regent", RegentSeat, scenarios)
    except JarsMissing as missing:
        _say(f"nothing is compared: {missing}")
        return 0
    verdicts = [compare(each, apache[each.name], regent[each.name]) for each in scenarios]
    summary = summarize(scenarios, verdicts, given.seed, monotonic() - began_s)
    shown = msgspec.json.format(msgspec.json.encode(summary)).decode() + "\n"
    SUMMARY.write_text(shown, encoding="utf-8")
    sys.stdout.write(shown)
    return DIFFERS if summary.differences else 0


def _choose(count: int, seed: int, only: str) -> list[Scenario]:
    """Those written by hand, and so many generated ones that there are enough."""
    generated = generate(seed, max(0, count - len(HANDWRITTEN)))
    return [each for each in (*HANDWRITTEN[:count], *generated) if only in each.name]


def _play(
    name: str, seat_of: Callable[[ApacheCluster], Seat], scenarios: Sequence[Scenario]
) -> dict[str, list[Seen]]:
    """All scenarios on a cluster of their own, which ends with this."""
    folder = FOLDER / name
    folder.mkdir(parents=True)
    seen: dict[str, list[Seen]] = {}
    with ApacheCluster(folder, brokers=APACHE_SEAT) as cluster:
        seat = seat_of(cluster)
        try:
            seat.take()
            cluster.start()
            player = Player(cluster, seat, lambda told: _say(f"{name}: {told}"))
            for together in group(scenarios, BATCH_SIZE):
                _say(f"{name}: {', '.join(each.name for each in together)}")
                seen |= player.play(together)
                # Whoever ends this early can still see how far it came.
                (folder / "seen.json").write_bytes(msgspec.json.encode(seen))
            player.close()
        finally:
            seat.leave()
    return seen


def _say(told: str) -> None:
    sys.stderr.write(f"{told}\n")


if __name__ == "__main__":
    sys.exit(main())
