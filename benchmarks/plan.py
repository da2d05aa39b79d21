"""How long a plan takes, and how little it moves: `python -m benchmarks.plan --json`.

N partitions (three replicas in three of ten racks, sizes that differ a thousandfold) on 500
brokers, band 2 %:

- `expand`: a tenth of the brokers is new and empty.
- `decommission`: a fiftieth of the brokers is to be emptied, and the others are to be in the band.
- `skew`: some brokers are chosen up to three times as often as others.

For each: `seconds` of the clock and `cpu_s` of the processor for the solve; `ratio`, what is moved
as a multiple of what any plan must move (it counts only with `in_band`); and `python_loop_s`, a
plain loop over as many steps as there are partitions: what this machine can do just now.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter, process_time
from typing import Any, Final, TypeAlias

import numpy as np

from benchmarks.report import show
from regent.pipeline.plans.goals import MovePlan, drain, rebalance
from regent.pipeline.plans.problem import (
    Floats,
    PartitionColumns,
    PlanBroker,
    Problem,
    Weighing,
    make_problem,
)
from regent.pipeline.plans.summary import summarize

BROKERS: Final = 500
RACKS: Final = 10
SIZES: Final = (100_000, 1_000_000)

#: A cluster, and what is to be solved for it.
Scenario: TypeAlias = tuple[Problem, Callable[[Problem], MovePlan]]


def make_cluster(partition_count: int, broker_count: int, *, used: Floats | None = None) -> Problem:
    """Replicas on brokers by chance; `used` says how likely each broker is in its rack."""
    dice = np.random.default_rng(11)
    chance = np.ones(broker_count) if used is None else used
    racks = dice.random((partition_count, RACKS)).argpartition(3, axis=1)[:, :3]
    replicas = np.empty_like(racks)
    for rack in range(RACKS):
        there = np.arange(rack, broker_count, RACKS)
        which = racks == rack
        likely = chance[there] / chance[there].sum()
        replicas[which] = dice.choice(there, size=int(which.sum()), p=likely)
    sizes = np.clip(dice.lognormal(mean=20.0, sigma=1.0, size=partition_count), 1e7, 1e10)
    nothing = np.full(partition_count, np.nan)
    numbers = np.arange(partition_count, dtype=np.int32)
    columns = PartitionColumns(
        tuple(f"topic-{i}" for i in range(partition_count // 50 + 1)),
        numbers // 50,
        numbers % 50,
        replicas.astype(np.int32),
        np.ones(replicas.shape, dtype=np.bool_),
        sizes,
        nothing,
        nothing,
    )
    brokers = [PlanBroker(i, f"rack-{i % RACKS}") for i in range(broker_count)]
    return make_problem(columns, brokers, by=Weighing.BYTES)


def expand(partition_count: int, broker_count: int) -> Scenario:
    """The last tenth of the brokers is empty."""
    used = np.ones(broker_count)
    used[broker_count * 9 // 10 :] = 0.0
    return make_cluster(partition_count, broker_count, used=used), rebalance


def decommission(partition_count: int, broker_count: int) -> Scenario:
    """A fiftieth goes."""
    going = range(max(1, broker_count // 50))
    problem = make_cluster(partition_count, broker_count)
    return problem, partial(drain, drained=going, and_balance=True)


def skew(partition_count: int, broker_count: int) -> Scenario:
    """Some have far more than others."""
    used = np.random.default_rng(3).uniform(1.0, 3.0, broker_count)
    return make_cluster(partition_count, broker_count, used=used), rebalance


SCENARIOS: Final[Mapping[str, Callable[[int, int], Scenario]]] = {
    "expand": expand,
    "decommission": decommission,
    "skew": skew,
}


def time_python_loop(count: int) -> float:
    """What a loop that adds costs here and now."""
    start = perf_counter()
    total = 0
    for number in range(count):
        total += number
    assert total >= 0
    return perf_counter() - start


def measure(scenario: str, partition_count: int, broker_count: int) -> dict[str, Any]:
    """The figures of one scenario at one size."""
    python_loop_s = time_python_loop(partition_count)
    problem, solve = SCENARIOS[scenario](partition_count, broker_count)
    start, start_cpu = perf_counter(), process_time()
    plan = solve(problem)
    seconds, cpu_s = perf_counter() - start, process_time() - start_cpu
    figures = summarize(plan)
    return {
        "scenario": scenario,
        "partitions": partition_count,
        "brokers": broker_count,
        "seconds": round(seconds, 3),
        "cpu_s": round(cpu_s, 3),
        "python_loop_s": round(python_loop_s, 6),
        "replicas_to_copy": figures.replicas_to_copy,
        "ratio": None if figures.ratio is None else round(figures.ratio, 4),
        "in_band": figures.in_band,
        "max_over_mean": round(figures.after.max_over_mean, 4),
        "min_over_mean": round(figures.after.min_over_mean, 4),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure plans.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--partitions",
        default=",".join(map(str, SIZES)),
        help="sizes to measure (default: %(default)s)",
    )
    parser.add_argument("--brokers", type=int, default=BROKERS, help="a multiple of ten")
    options = parser.parse_args(arguments)
    sizes = [
        measure(scenario, int(size), options.brokers)
        for size in options.partitions.split(",")
        for scenario in SCENARIOS
    ]
    show({"benchmark": "plan", "sizes": sizes}, as_json=options.json)


if __name__ == "__main__":
    main()
