"""How fast the pure core decides, and how much it remembers: `python -m benchmarks.core --json`.

A controller takes office over N partitions (three replicas, ten brokers, topics of fifty), loses
one broker of the ten, and then handles many small events. All through the real procedures; a shared
memory of plain Python values answers (see `memory_cluster`). Its time is not in any figure but
`answerer_s`. Each figure is the best of several repetitions, each with a fresh controller. Garbage
collection is on, as Python starts it. Seconds are the processor's (see `drive`).

For each size:

- `python_loop_s`: a plain loop that makes N leaderships and puts each into a dict. What this
  machine can do just now; the `_ratio` figures are multiples of it.
- `failover_s`: from the session to both machines started and all brokers told, cold.
- `broker_death_s`: the whole event of a broker's death, from reading the list of brokers to the
  last request made: elections where it led (a tenth of N), ISR shrinks where it followed (a fifth),
  replica moves for both, facts for the journal, and all requests.
- `broker_death_us_per_partition`: the same by N; `flatness` compares it at the largest and the
  smallest size.
- `election_step_s`, `elections_per_s`: the election step of that event: finding who is to be
  elected, taking in what was read, choosing, taking in what was written, knowing the new
  leadership, its fact, and its entry in the request batch. Not in it: the move to OfflinePartition
  before, the making of the requests after (`told_elections_per_s` has both).
- `leadership_decisions_per_s`: elections and shrinks by `broker_death_s`.
- `alter_partitions_per_s`, `answers_per_s`, `new_topics_per_s`: single small events by the median
  of many: an ISR change of one partition with its UpdateMetadata to all brokers, a broker's answer,
  a new topic of one partition with all that follows. `events_per_s` is the first two in equal
  numbers. It leaves new topics out: they mean looking at every topic's name, because the list of
  names is all that ZooKeeper tells, and so their cost grows with the number of topics.
- `bytes_per_partition`: what the loaded state holds (tracemalloc, after a collection) by N; both
  machines' states, names and indexes included.
"""

import argparse
import gc
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from msgspec import Struct

from benchmarks.drive import Timed, drive
from benchmarks.memory_cluster import MemoryCluster, partition_names
from benchmarks.report import per_second, show
from regent.core.asks import ReadLeaderships, WriteLeaderships
from regent.core.controller import Controller
from regent.core.effects import Journal
from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    Event,
    LeaderAndIsrAnswered,
    SessionStarted,
    TopicsChanged,
)
from regent.core.state import Partition
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.control_requests import ControlAnswer
from regent.model.facts import FactBase, IsrShrunk, LeaderElected, ReplicaMoved
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership

CONTROLLER = BrokerId(100)
VICTIM = BrokerId(4)
SIZES = (10_000, 100_000, 300_000)
EVENTS_OF_A_KIND_MAX = 500


class Repetition(Struct):
    """What one repetition measured, in seconds; counts are the same every time."""

    python_loop_s: float
    failover_s: float
    broker_death_s: float
    election_step_s: float
    told_elections_s: float
    alter_partition_s: float
    answer_s: float
    new_topic_s: float
    answerer_s: float


class Counts(Struct):
    """How much there was to do; the same in every repetition."""

    elections: int
    isr_shrinks: int
    replica_moves: int


# --- one repetition ---------------------------------------------------------------------------


def repeat(partition_count: int) -> tuple[Repetition, Counts]:
    """Build a cluster and a controller, and take them through everything once."""
    python_loop_s = time_python_loop(partition_count)
    cluster = MemoryCluster(partition_count)
    controller = Controller(CONTROLLER)
    failover = _handle(controller, cluster, SessionStarted(0))
    del cluster.brokers[VICTIM]
    death = _handle(controller, cluster, BrokersChanged(0))
    step_s, told_s = _election_step(death)
    events = _small_events(controller, cluster)
    alters, answers, topics = (_handle_all(controller, cluster, kind) for kind in events)
    repetition = Repetition(
        python_loop_s,
        failover.core_s,
        death.core_s,
        step_s,
        told_s,
        alters,
        answers,
        topics,
        failover.answer_s + death.answer_s,
    )
    return repetition, _count(death)


def time_python_loop(partition_count: int) -> float:
    """The baseline: one leadership and one dict entry for each partition."""
    isr = (BrokerId(1), BrokerId(2), BrokerId(3))
    made: dict[int, Leadership] = {}
    start = thread_time()
    for number in range(partition_count):
        made[number] = Leadership(
            BrokerId(1), LeaderEpoch(number), isr, ControllerEpoch(1), ZkVersion(number)
        )
    return thread_time() - start


def _handle(controller: Controller, cluster: MemoryCluster, event: Event) -> Timed:
    return drive(controller.handle(event), cluster.answer)


def _handle_all(
    controller: Controller, cluster: MemoryCluster, events: Iterable[Callable[[], Event]]
) -> float:
    """The core's seconds for the median of these events; making them is not the core's work."""
    return median(
        drive(controller.handle(make()), cluster.answer, perf_counter).core_s for make in events
    )


def _election_step(death: Timed) -> tuple[float, float]:
    """The seconds of the election step, and of all from the first to the last piece about it."""
    core = [took for took, _ in death.pieces]
    outputs = [output for _, output in death.pieces]
    write = next(i for i, o in enumerate(outputs) if isinstance(o, WriteLeaderships))
    elected = next(i for i, o in enumerate(outputs) if _has(o, LeaderElected))
    # The dead replicas are no longer in the ISRs of what was elected, so these are looked at.
    look = next(i for i, o in enumerate(outputs) if isinstance(o, ReadLeaderships))
    lost = next(i for i, o in enumerate(outputs) if _has(o, FactBase))
    # The last piece before that look also begins to move replicas; it is left out.
    return sum(core[write : elected + 1]), sum(core[lost + 1 : look])


def _has(output: object, kind: type[FactBase]) -> bool:
    return isinstance(output, Journal) and isinstance(output.facts[0], kind)


def _count(death: Timed) -> Counts:
    facts = [f for _, o in death.pieces if isinstance(o, Journal) for f in o.facts]
    return Counts(
        elections=sum(isinstance(fact, LeaderElected) for fact in facts),
        isr_shrinks=sum(isinstance(fact, IsrShrunk) for fact in facts),
        replica_moves=sum(isinstance(fact, ReplicaMoved) for fact in facts),
    )


# --- small events -----------------------------------------------------------------------------


def _small_events(
    controller: Controller, cluster: MemoryCluster
) -> tuple[Sequence[Callable[[], Event]], ...]:
    """Events of three kinds in equal numbers, spread evenly over the partitions."""
    state = controller.state
    names = list(partition_names(cluster))
    count = min(EVENTS_OF_A_KIND_MAX, len(names))
    chosen = [state.partition(*names[i * len(names) // count]) for i in range(count)]

    def new_topic(number: int) -> Event:
        cluster.add_topic(f"zz-new-{number:06}")
        return TopicsChanged(0)

    answered = LeaderAndIsrAnswered(
        0,
        BrokerId(1),
        cluster.brokers[BrokerId(1)].broker_epoch,
        cluster.epoch.controller_epoch,
        ControlAnswer(),
    )
    return (
        [lambda p=p: _alter(controller, p) for p in chosen if p is not None],
        [lambda: answered] * count,
        [lambda i=i: new_topic(i) for i in range(count)],
    )


def _alter(controller: Controller, partition: Partition) -> AlterPartitionRequested:
    """The leader wants its own ISR in another order: a change, and everybody stays in sync."""
    current, state = partition.leadership, controller.state
    assert current is not None, "every partition of the benchmark is led"
    proposal = IsrProposal(
        state.topics[partition.topic].topic_id or "",
        partition.index,
        current.leader_epoch,
        current.isr[::-1],
        current.zk_version,
    )
    broker_epoch = state.brokers[current.leader].broker_epoch
    return AlterPartitionRequested(0, 1, AlterPartition(current.leader, broker_epoch, (proposal,)))


# --- memory -----------------------------------------------------------------------------------


def measure_bytes_per_partition(partition_count: int) -> float:
    """What a loaded state holds, apart from the shared memory that it was read from."""
    cluster = MemoryCluster(partition_count)
    gc.collect()
    tracemalloc.start()
    try:
        controller = Controller(CONTROLLER)
        _handle(controller, cluster, SessionStarted(0))
        gc.collect()
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return held_bytes / partition_count


# --- all sizes --------------------------------------------------------------------------------


def summarize(partition_count: int, made: Sequence[tuple[Repetition, Counts]]) -> dict[str, Any]:
    """Every figure for one size, from its repetitions."""
    counts = made[0][1]
    best = {name: min(getattr(r, name) for r, _ in made) for name in Repetition.__struct_fields__}
    alter_s, answer_s, topic_s = (
        best.pop(f"{kind}_s") for kind in ("alter_partition", "answer", "new_topic")
    )
    told_elections_s = best.pop("told_elections_s")
    death_s = best["broker_death_s"]
    return {
        "partitions": partition_count,
        "elections": counts.elections,
        "isr_shrinks": counts.isr_shrinks,
        "replica_moves": counts.replica_moves,
        **{name: round(seconds, 6) for name, seconds in best.items()},
        "failover_ratio": round(best["failover_s"] / best["python_loop_s"], 2),
        "broker_death_ratio": round(death_s / best["python_loop_s"], 2),
        "broker_death_us_per_partition": round(death_s / partition_count * 1e6, 3),
        "elections_per_s": per_second(counts.elections, best["election_step_s"]),
        "told_elections_per_s": per_second(counts.elections, told_elections_s),
        "leadership_decisions_per_s": per_second(counts.elections + counts.isr_shrinks, death_s),
        "alter_partitions_per_s": per_second(1, alter_s),
        "answers_per_s": per_second(1, answer_s),
        "new_topics_per_s": per_second(1, topic_s),
        "events_per_s": per_second(2, alter_s + answer_s),
        "bytes_per_partition": round(measure_bytes_per_partition(partition_count)),
    }


def measure_all(sizes: Sequence[int], repetitions: int) -> dict[str, Any]:
    """Every figure for every size, and how they compare."""
    made: dict[int, list[tuple[Repetition, Counts]]] = {size: [] for size in sizes}
    # In turns, so that a busy spell of the machine does not hit one size alone.
    for _ in range(repetitions):
        for size in sizes:
            gc.collect()
            made[size].append(repeat(size))
    measured = [summarize(size, made[size]) for size in sizes]
    cost = "broker_death_us_per_partition"
    return {
        "benchmark": "core",
        "gc_thresholds": gc.get_threshold(),
        "repetitions": repetitions,
        "sizes": measured,
        "flatness": round(measured[-1][cost] / measured[0][cost], 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the pure decision core.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--partitions",
        default=",".join(map(str, SIZES)),
        help="sizes to measure, smallest first (default: %(default)s)",
    )
    parser.add_argument("--repetitions", type=int, default=4, help="best of how many")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.partitions.split(",")]
    show(measure_all(sizes, options.repetitions), as_json=options.json)


if __name__ == "__main__":
    main()
