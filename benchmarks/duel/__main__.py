"""`python -m benchmarks.duel`: Apache Kafka 3.9's controller against Regent's, in one run.

One ZooKeeper, twelve brokers that say yes to everything, and both controllers standing by, as
`benchmarks.duel.duellists` says. They take turns at each contest, twice to warm up and then several
times, and the rival hangs while the role changes hands. How each contest is timed is said in
`benchmarks.duel.contests`, and for the one with real brokers in `benchmarks.duel.real_brokers`.

For each contest: the seconds of both (the median of all rounds, and all of them), and `times`, how
often Regent's time goes into Apache's. What there is so far is in `build/duel.json` after every
contest; `complete` says whether that is all. Progress goes to standard error.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.all import ROOT
from benchmarks.core import time_python_loop
from benchmarks.duel.arena import VICTIM, arena
from benchmarks.duel.contests import Duel, broker_death, controlled_shutdown, creation, failover
from benchmarks.duel.duellists import JAVA_OPTIONS, Duellist
from benchmarks.duel.real_brokers import lay_out, real_arena, real_failover
from benchmarks.duel.rounds import Progress, play_all
from benchmarks.live_cluster import BROKERS
from benchmarks.report import show, to_json
from tests.interop.apache_broker import JAVA_OPTIONS as BROKER_JAVA_OPTIONS
from tests.interop.kafka_jars import JarsMissing, kafka_jars

VERSION: Final = "3.9.1"
PARTITIONS_PER_NEW_TOPIC: Final = 10
_LOOPS: Final = 100_000
EVERYBODY: Final = tuple(range(1, BROKERS + 1))
SURVIVORS: Final = tuple(broker_id for broker_id in EVERYBODY if broker_id != VICTIM)


def contests(
    sizes: argparse.Namespace, jars: Path, progress: Progress
) -> Iterator[tuple[Sequence[Duellist], Duel]]:
    """Each with who plays it, in an arena that is there until the next one is asked for."""
    for size in map(int, filter(None, sizes.failover.split(","))):
        with progress.building(f"{size} partitions", arena(size, SURVIVORS, jars)) as made:
            yield made.duellists, failover(made, size)
    if sizes.real:
        layout = lay_out(sizes.real)
        what = f"{sizes.real} partitions on real brokers"
        with progress.building(what, real_arena(layout, jars)) as (made, clients):
            yield made.duellists, real_failover(made, clients, layout)
    if sizes.partitions:
        what = f"{sizes.partitions} partitions"
        with progress.building(what, arena(sizes.partitions, EVERYBODY, jars)) as made:
            yield made.duellists, broker_death(made, sizes.partitions)
            yield made.duellists, controlled_shutdown(made, sizes.partitions)
    if sizes.topics:
        with progress.building("no partitions", arena(0, EVERYBODY, jars)) as made:
            contest = creation(made, sizes.topics, PARTITIONS_PER_NEW_TOPIC, EVERYBODY)
            yield made.duellists, contest


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, keep and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--failover", default="10000,50000,100000", help="sizes in partitions")
    parser.add_argument("--real", type=int, default=2_000, help="partitions on real brokers, or 0")
    parser.add_argument(
        "--partitions", type=int, default=60_000, help="a twelfth is led by the broker that goes"
    )
    parser.add_argument("--topics", type=int, default=1_000, help="to be created, or 0")
    parser.add_argument("--rounds", type=int, default=3, help="that count, after two that do not")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "duel.json")
    options = parser.parse_args(arguments)
    try:
        jars = kafka_jars(VERSION)
    except JarsMissing as missing:
        parser.exit(0, f"skipped: {missing}\n")
    said = {
        "benchmark": "duel",
        "kafka": VERSION,
        "java": " ".join(JAVA_OPTIONS),
        "java_of_real_brokers": " ".join(BROKER_JAVA_OPTIONS),
        "rounds": options.rounds,
        "python_loop_s": round(time_python_loop(_LOOPS), 4),
    }

    def keep(rows: Mapping[str, Any]) -> None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_bytes(to_json({**said, **rows}) + b"\n")

    progress = Progress()
    played = contests(options, jars, progress)
    rows = play_all(played, rounds=options.rounds, say=progress.say, keep=keep)
    show({**said, **rows}, as_json=options.json)


if __name__ == "__main__":
    main()
