"""Many runs, on all processors, and what they add up to.

A run is summed up where it was made: its records can be large and stay there. What comes back is
small and does not depend on which run ended first, so a campaign of the same seeds gives the same
numbers on any machine, the time it took aside.
"""

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from regent.core.election import Strategy
from regent.errors import BadInput
from regent.journal.record import Record
from regent.journal.writer import JournalWriter
from regent.model import facts
from regent.model.ids import BrokerId
from regent.model.states import PartitionState
from regent.sim.character import FAULTS
from regent.sim.checkers import all_checkers
from regent.sim.observer import Observer
from regent.sim.plan import Plan, draw_plan
from regent.sim.run import RunOutcome, Verdict, run
from regent.sim.state_change_log import StateChangeLogKeeper, log_place

if TYPE_CHECKING:
    from regent.sim.process import Process

#: Faults that are counted under the name of what they did.
COUNTED_AS: Final = {"lose_answer": "answer_lost_after_applied", "deliver_late": "connection_reset"}

#: What each phase of a reassignment counts as.
REASSIGNMENT_PHASES: Final = {
    "U": "reassignment_recorded",
    "A": "reassignment_waited",
    "B": "reassignment_finished",
    "C": "reassignment_cancelled",
}

#: What each phase of a deletion counts as; the others are not counted.
DELETION_PHASES: Final = {"finished": "deletion_finished", "ineligible": "deletion_held_up"}

#: Paths that must be taken sometimes: a campaign that never takes one has not tested it.
SOMETIMES: Final = (
    "zombie_write_fenced",
    "zombie_request_refused",
    "zombie_controller_resumed",
    "cas_conflict",
    "bounce_seen",
    "crash_between_writes",
    "earlier_life_request_refused",
    "connection_lost_write_applied",
    "connection_lost_write_not_applied",
    "session_expired",
    "request_delivered_late",
    "answer_lost_after_applied",
    "isr_shrunk_by_leader",
    "isr_grown_by_leader",
    "znode_isolated",
    "partitions_added",
    "endpoint_moved",
    "unclean_election",
    "offline_partition_seen",
    "reassignment_finished",
    "reassignment_cancelled",
    "reassignment_waited",
    "deletion_finished",
    "deletion_held_up",
    "shutdown_controlled",
    "preferred_election",
    "log_dir_failed",
    "admin_call_refused",
)


class SeedSummary(Struct, frozen=True):
    """One run, without its records."""

    seed: int
    verdict: Verdict
    checker: str
    message: str
    event_count: int
    simulated_ms: int
    counts: dict[str, int]


class Failure(Struct, frozen=True):
    """A run that did not hold, and the command that shows it again."""

    seed: int
    verdict: str
    checker: str
    message: str
    reproduce: str


class CampaignReport(Struct, frozen=True):
    """What the runs add up to; the fields are those of `--json`."""

    seeds: int
    violations: int
    events: int
    simulated_s: float
    wall_s: float
    simulated_per_real_s: float
    faults: dict[str, int]
    sometimes: dict[str, int]
    elections: int
    failovers: int
    unclean_elections: int
    records_acked: int
    controller_events: int
    control_requests: int
    failures: list[Failure]


Progress = Callable[[SeedSummary], None]


def conduct(
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    journal_root: Path | None = None,
    log_root: Path | None = None,
    on_progress: Progress = lambda _summary: None,
) -> tuple[CampaignReport, list[SeedSummary]]:
    """Run all these seeds; the summaries come in the order of the seeds."""
    began_s = time.perf_counter()
    summaries: list[SeedSummary] = []
    work = partial(run_seed, journal_root=journal_root, log_root=log_root)
    for summary in _run_all(seeds, min(jobs or os.cpu_count() or 1, len(seeds)), work):
        summaries.append(summary)
        on_progress(summary)
    summaries.sort(key=lambda summary: summary.seed)
    return add_up(summaries, time.perf_counter() - began_s), summaries


def _run_all(
    seeds: Sequence[int], job_count: int, work: Callable[[int], SeedSummary]
) -> Iterator[SeedSummary]:
    if job_count <= 1:
        yield from map(work, seeds)
        return
    # Started afresh rather than forked: the parent may have threads, a progress bar's for one.
    with multiprocessing.get_context("spawn").Pool(job_count, _leave_interrupts) as pool:
        yield from pool.imap_unordered(work, seeds)


def _leave_interrupts() -> None:
    """Ctrl-C is the parent's to handle; a worker is ended by it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_seed(
    seed: int, journal_root: Path | None = None, log_root: Path | None = None
) -> SeedSummary:
    """One run with every checker, summed up."""
    return summarise(run_plan(draw_plan(seed), journal_root=journal_root, log_root=log_root))


def run_plan(
    plan: Plan,
    observers: Iterable[Observer] = (),
    *,
    journal_root: Path | None = None,
    log_root: Path | None = None,
) -> RunOutcome:
    """One run with every checker and these observers; its journals and logs are kept if told where.

    The logs are those that Kafka would have written.
    """
    with ExitStack() as closing:
        keepers: list[JournalKeeper | StateChangeLogKeeper] = []
        if journal_root is not None:
            keepers.append(JournalKeeper(journal_directory(journal_root, plan.seed)))
            closing.callback(keepers[-1].close)
        if log_root is not None:
            keepers.append(StateChangeLogKeeper(log_place(log_root, plan.seed)))
            closing.callback(keepers[-1].close)
        # Those who only watch come first: they have seen what a checker then objects to.
        return _run_caught(plan, [*keepers, *observers, *all_checkers()])


def _run_caught(plan: Plan, observers: Sequence[Observer]) -> RunOutcome:
    """A simulator or checker that raises is a finding of its own, and the others must go on."""
    try:
        return run(plan, observers)
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to this seed
        message = f"{type(error).__name__}: {error}"
        return RunOutcome(plan, Verdict.CRASHED, message, "simulator")


# --- adding up ------------------------------------------------------------------------------


def summarise(outcome: RunOutcome) -> SeedSummary:
    """An outcome without its records."""
    counts = Counter(outcome.counts)
    counts.update(count_facts(outcome.records))
    counts["partitions_added"] += counts["add_partitions"]
    return SeedSummary(
        outcome.plan.seed,
        outcome.verdict,
        outcome.checker,
        outcome.message,
        outcome.event_count,
        outcome.simulated_ms,
        dict(counts),
    )


def add_up(summaries: Sequence[SeedSummary], wall_s: float) -> CampaignReport:
    """The report over all runs."""
    counts: Counter[str] = Counter()
    for summary in summaries:
        counts.update(summary.counts)
    simulated_s = sum(summary.simulated_ms for summary in summaries) / 1000
    failures = [describe_failure(s) for s in summaries if s.verdict is not Verdict.HELD]
    return CampaignReport(
        seeds=len(summaries),
        violations=len(failures),
        events=sum(summary.event_count for summary in summaries),
        simulated_s=simulated_s,
        wall_s=round(wall_s, 3),
        simulated_per_real_s=round(simulated_s / wall_s, 1) if wall_s > 0 else 0.0,
        faults={kind: counts[COUNTED_AS.get(kind, kind)] for kind in FAULTS},
        sometimes={path: counts[path] for path in SOMETIMES},
        elections=counts["elections"],
        failovers=counts["failovers"],
        unclean_elections=counts["unclean_election"],
        records_acked=counts["records_acked"],
        controller_events=counts["controller_events"],
        control_requests=counts["control_requests"],
        failures=failures,
    )


def describe_failure(summary: SeedSummary) -> Failure:
    """A failure with the command that shows it again."""
    return Failure(
        summary.seed,
        summary.verdict.name.lower(),
        summary.checker,
        summary.message,
        f"regent simulate --seed {summary.seed} --trace",
    )


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """A crash before a broken promise, that before a cluster which never came to rest."""
    return min((v for v in verdicts if v is not Verdict.HELD), default=Verdict.HELD)


def count_facts(records: Iterable[Record]) -> Counter[str]:
    """How often the records show each thing that is only seen there."""
    counts: Counter[str] = Counter()
    #: The ISR that each reign knew last, with its leader epoch.
    known: dict[tuple[int, str, int], tuple[int, int]] = {}
    for record in records:
        fact = record.fact
        seen = COUNTS.get(type(fact))
        if seen is not None:
            counts.update(seen(fact))
        if isinstance(fact, facts.IsrAltered | facts.LeadershipLearned):
            before = known.get((record.controller_epoch, fact.topic, fact.partition))
            counts.update(_isr_change(before, (fact.leader_epoch, len(fact.isr))))
        known.update(_isrs_in(record))
    return counts


def _count_election(fact: facts.LeaderElected) -> dict[str, int]:
    return {
        "elections": 1,
        "unclean_election": fact.unclean,
        "preferred_election": fact.strategy == Strategy.PREFERRED,
    }


# fmt: off
#: What one fact of a kind adds to the counts. Any: each function takes just its own kind.
COUNTS: Final[Mapping[type[facts.FactBase], Callable[[Any], dict[str, int]]]] = {
    facts.ControllerElected:    lambda _fact: {"failovers": 1},
    facts.BrokerDown:           lambda fact: {"bounce_seen": fact.bounced},
    facts.BrokerUpdated:        lambda _fact: {"endpoint_moved": 1},
    facts.ZnodeIsolated:        lambda _fact: {"znode_isolated": 1},
    facts.LogDirFailed:         lambda fact: {"log_dir_failed": not fact.loaded},
    facts.CallRefused:          lambda _fact: {"admin_call_refused": 1},
    facts.LeaderElected:        _count_election,
    facts.PartitionMoved:       lambda fact: {
        "offline_partition_seen": fact.after is PartitionState.OFFLINE
    },
    facts.PartitionsStarted:    lambda fact: {"offline_partition_seen": len(fact.offline)},
    facts.ReassignmentAdvanced: lambda fact: {REASSIGNMENT_PHASES[fact.phase]: 1},
    facts.DeletionAdvanced:     lambda fact: {DELETION_PHASES.get(fact.phase, ""): 1},
}
# fmt: on


def _isr_change(before: tuple[int, int] | None, after: tuple[int, int]) -> Iterator[str]:
    """Only a leader changes the ISR and leaves the leader epoch alone."""
    if before is not None and before[0] == after[0] and before[1] != after[1]:
        yield "isr_grown_by_leader" if after[1] > before[1] else "isr_shrunk_by_leader"


def _isrs_in(record: Record) -> Iterator[tuple[tuple[int, str, int], tuple[int, int]]]:
    match record.fact:
        case facts.TopicLoaded(topic=topic, partitions=partitions):
            for loaded in partitions:
                if loaded.leader_epoch is not None and loaded.isr is not None:
                    key = (record.controller_epoch, topic, loaded.partition)
                    yield key, (loaded.leader_epoch, len(loaded.isr))
        case (
            facts.LeaderElected()
            | facts.IsrShrunk()
            | facts.IsrAltered()
            | facts.LeadershipLearned() as fact
        ):
            key = (record.controller_epoch, fact.topic, fact.partition)
            yield key, (fact.leader_epoch, len(fact.isr))
        case _:
            return


# --- journals -------------------------------------------------------------------------------


def journal_directory(root: Path, seed: int) -> Path:
    """Where a run's journals are kept."""
    return root / f"seed-{seed}"


class JournalKeeper(Observer):
    """Puts the journals of a run on disk as real nodes would: a new segment for each life."""

    def __init__(self, directory: Path) -> None:
        if directory.is_dir() and any(directory.iterdir()):
            raise BadInput(f"{directory} is not empty; remove it, or keep the journals elsewhere")
        self._directory = directory
        self._writers: dict[BrokerId, tuple[int, JournalWriter]] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot keep journals in {directory}: {error.strerror}") from error

    def recorded(self, process: "Process", record: Record) -> None:
        """Append, to the segment of this life."""
        life, writer = self._writers.get(process.broker_id, (0, None))
        if writer is None or life != process.life:
            if writer is not None:
                writer.close()
            writer = JournalWriter(self._directory, process.broker_id)
            self._writers[process.broker_id] = (process.life, writer)
        writer.append([record])

    def close(self) -> None:
        """Write what is left."""
        for _, writer in self._writers.values():
            writer.close()
            if writer.trouble is not None:
                raise BadInput(f"cannot keep journals in {self._directory}: {writer.trouble}")
