"""`python -m benchmarks.duel`: Apache Kafka 3.9's controller against Regent's, in one run.

One ZooKeeper, twelve brokers that say yes to everything, and both controllers standing by: Apache's
is a broker that holds no replicas, in a JVM with all of its compiler and two gigabytes; Regent's is
`regent controller`. They take turns, each contest several times, and whoever is not measured hangs.
How each contest is timed is in `benchmarks.duel.contests`.

For each contest: the seconds of both (the median of all rounds, and all of them), and `times`, how
often Regent's time goes into Apache's. `--failover 10000,50000,100000` names the sizes. It is kept
in `build/duel.json`.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.all import ROOT
from benchmarks.core import time_python_loop
from benchmarks.duel.arena import VICTIM, Arena, arena
from benchmarks.duel.contests import (
    Contest,
    broker_death,
    controlled_shutdown,
    creation,
    failover,
)
from benchmarks.duel.duellists import JAVA_OPTIONS
from benchmarks.live_cluster import BROKERS
from benchmarks.report import show, to_json
from tests.interop.kafka_jars import JarsMissing, kafka_jars

VERSION: Final = "3.9.1"
#: A twelfth of these are led by each broker.
PARTITIONS: Final = 60_000
TOPICS: Final = 1_000
PARTITIONS_PER_NEW_TOPIC: Final = 10
_LOOPS: Final = 100_000


def compare(arena: Arena, contest: Contest, rounds: int) -> dict[str, Any]:
    """Both in turn, so that whatever the machine does meanwhile meets both."""
    took: dict[str, list[float]] = {duellist.name: [] for duellist in arena.duellists}
    for _ in range(rounds):
        for duellist in arena.duellists:
            took[duellist.name].append(contest(arena, duellist))
    apache_s, regent_s = median(took["apache"]), median(took["regent"])
    return {
        "apache_s": round(apache_s, 3),
        "regent_s": round(regent_s, 3),
        "times": round(apache_s / regent_s, 2),
        "rounds": {name: [round(s, 3) for s in each] for name, each in took.items()},
    }


def measure(sizes: Iterable[int], rounds: int, jars: Path) -> dict[str, Any]:
    """All contests, each in a cluster of its own."""
    everybody = range(1, BROKERS + 1)
    survivors = [broker_id for broker_id in everybody if broker_id != VICTIM]
    figures: dict[str, Any] = {}
    for size in sizes:
        with arena(size, survivors, jars) as made:
            figures[f"failover_{size}"] = compare(made, failover(size), rounds)
    with arena(PARTITIONS, everybody, jars) as made:
        leaders = PARTITIONS // BROKERS
        death, leaving = broker_death(PARTITIONS), controlled_shutdown(PARTITIONS)
        figures[f"broker_death_{leaders}"] = compare(made, death, rounds)
        figures[f"controlled_shutdown_{leaders}"] = compare(made, leaving, rounds)
    with arena(0, everybody, jars) as made:
        contest = creation(TOPICS, PARTITIONS_PER_NEW_TOPIC, everybody)
        name = f"creation_{TOPICS}x{PARTITIONS_PER_NEW_TOPIC}"
        figures[name] = compare(made, contest, rounds)
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--failover", default="10000,50000,100000", help="sizes in partitions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "duel.json")
    options = parser.parse_args(arguments)
    try:
        jars = kafka_jars(VERSION)
    except JarsMissing as missing:
        parser.exit(0, f"skipped: {missing}\n")
    sizes = [int(size) for size in options.failover.split(",")]
    figures = {
        "benchmark": "duel",
        "kafka": VERSION,
        "java": " ".join(JAVA_OPTIONS),
        "rounds": options.rounds,
        "python_loop_s": round(time_python_loop(_LOOPS), 4),
        **measure(sizes, options.rounds, jars),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(to_json(figures) + b"\n")
    show(figures, as_json=options.json)


if __name__ == "__main__":
    main()
