"""How fast simulated time passes: `python -m benchmarks.simulation --json`.

Five brokers, one topic of a hundred partitions with three replicas each, no faults, a client that
appends every 100 ms. The real controller, the real broker logic, ZooKeeper in memory; 60 simulated
seconds after everything has started. The best of several repetitions, which are the same run.

- `simulated_s_per_s`: simulated seconds for each real one, nobody watching.
- `watched_simulated_s_per_s`: the same with every checker on, as in a campaign.
- `events_per_s`: things that the simulator lets happen (messages, timers) in each real second.
- `python_loop_s`: a heap of as many entries filled and emptied, the least a simulator could do;
  `ratio` is the multiple of it that the simulation takes.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from time import thread_time
from typing import Any

from benchmarks.report import per_second, show
from regent.broker.broker_config import IsrMode
from regent.sim.character import Character, TopicPlan
from regent.sim.checkers import all_checkers
from regent.sim.observer import Observer
from regent.sim.plan import Plan, Step
from regent.sim.settled import unsettled
from regent.sim.steps import carry_out
from regent.sim.workload import ProducingClient
from regent.sim.world import World

BROKER_COUNT = 5
TOPIC = "topic"
START_MS = 5_000
CREATED_AT_MS = 1_500


def make_plan(partition_count: int) -> Plan:
    """A world in which nothing goes wrong."""
    replicas = tuple(
        tuple((first + j) % BROKER_COUNT + 1 for j in range(3)) for first in range(partition_count)
    )
    character = Character(
        broker_count=BROKER_COUNT,
        latency_us=500,
        session_timeout_ms=6_000,
        replica_lag_ms=3_000,
        min_isr=2,
        isr_mode=IsrMode.BY_REQUEST,
        append_interval_ms=100,
        safety_ms=0,
        faults=(),
        fault_interval_ms=1,
        break_per_mille=0,
        lose_answer_per_mille=0,
        late_per_mille=0,
        stall_per_mille=0,
        topics=(TopicPlan(TOPIC, CREATED_AT_MS, replicas),),
    )
    return Plan(0, character, (Step(CREATED_AT_MS, "create_topic", topic=TOPIC),))


def time_simulation(
    plan: Plan, observers: Sequence[Observer], simulated_ms: int
) -> tuple[float, int]:
    """Real seconds and events of `simulated_ms` in a world that has come to rest."""
    world = World(plan, observers)
    client = ProducingClient(world)
    for broker_id in world.broker_ids:
        world.start(broker_id)
    for step in plan.steps:
        world.schedule.after_ms(step.at_ms, partial(carry_out, world, step))
    world.schedule.after_ms(2_000, client.start)
    world.schedule.run_until(START_MS)
    assert not list(unsettled(world)), "a world without faults must have settled by now"
    events_before, start = world.schedule.event_count, thread_time()
    world.schedule.run_until(START_MS + simulated_ms)
    took_s = thread_time() - start
    assert world.counts["records_acked"], "the client must have been served"
    return took_s, world.schedule.event_count - events_before


def time_python_loop(count: int) -> float:
    """The baseline: that many entries through a heap."""
    heap: list[tuple[int, int]] = []
    start = thread_time()
    for number in range(count):
        heappush(heap, (number * 7919 % 1000, number))
    while heap:
        heappop(heap)
    return thread_time() - start


def measure(partition_count: int, simulated_ms: int, repetitions: int) -> dict[str, Any]:
    """Every figure."""
    plan = make_plan(partition_count)
    runs = [time_simulation(plan, (), simulated_ms) for _ in range(repetitions)]
    took_s, event_count = min(runs)
    watched_s, _ = min(
        time_simulation(plan, all_checkers(), simulated_ms) for _ in range(repetitions)
    )
    python_loop_s = min(time_python_loop(event_count) for _ in range(repetitions))
    return {
        "benchmark": "simulation",
        "brokers": BROKER_COUNT,
        "partitions": partition_count,
        "repetitions": repetitions,
        "simulated_s": simulated_ms / 1_000,
        "real_s": round(took_s, 6),
        "events": event_count,
        "python_loop_s": round(python_loop_s, 6),
        "ratio": round(took_s / python_loop_s, 2),
        "events_per_s": per_second(event_count, took_s),
        "simulated_s_per_s": round(simulated_ms / 1_000 / took_s, 1),
        "watched_simulated_s_per_s": round(simulated_ms / 1_000 / watched_s, 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the simulator.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--partitions", type=int, default=100, help="partitions of the one topic")
    parser.add_argument("--simulated-ms", type=int, default=60_000, help="how long to simulate")
    parser.add_argument("--repetitions", type=int, default=3, help="best of how many")
    options = parser.parse_args(arguments)
    figures = measure(options.partitions, options.simulated_ms, options.repetitions)
    show(figures, as_json=options.json)


if __name__ == "__main__":
    main()
