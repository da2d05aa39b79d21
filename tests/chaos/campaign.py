"""A campaign: a real cluster under faults by a seed, two clients that write, a judge at the end.

`run_campaign` does all of it and says what it found; every finding names the seed and the folder
in which everything is kept. The same seed means the same schedule of faults. What a real network
and real processes make of it differs each time, so a seed is where to look first, and no proof.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import Struct, field

from regent.errors import RegentError
from regent.model.ids import TopicPartition
from regent.model.known_cluster import KnownPartition
from regent.testing import Churn, Cluster
from regent.testing.churn_plan import FAULTS, REMEDIES, ChurnKind
from regent.testing.settings import FOR_TESTS
from tests.chaos.course import Course
from tests.chaos.journal_audit import JournalFigures, audited
from tests.chaos.judge import judge
from tests.chaos.ledger import Ledger
from tests.chaos.reading import read_topics
from tests.chaos.replicas import differences
from tests.chaos.writers import ConfluentWriter, KafkaPythonWriter, Writer

COPIES: Final = 3
PARTITIONS: Final = 4
#: Each client writes to a topic of its own.
WRITERS: Final[Mapping[str, type[ConfluentWriter | KafkaPythonWriter]]] = {
    "confluent": ConfluentWriter,
    "kafka-python": KafkaPythonWriter,
}
TOPICS: Final = tuple(WRITERS)
#: After the last fault is mended, all that was sent is acknowledged within this time.
SETTLE_S: Final = 120.0
#: Who is killed on purpose, in turn, whenever there were so many faults and all is mended.
OFFICES: Final = ("controller", "leader")
OFFICE_EVERY: Final = 4


class Orders(Struct, frozen=True, kw_only=True):
    """What a campaign is to be. It goes on until there were enough faults and enough time."""

    seed: int
    folder: Path
    faults: int
    seconds: float = 0.0
    brokers: int = 3
    rest_s: tuple[float, float] = (0.2, 2.0)
    kinds: Sequence[ChurnKind] = FAULTS


class WriterFigures(Struct, frozen=True):
    """How one client fared."""

    sent: int
    acknowledged: int
    given_up: int
    longest_silence_ms: int
    #: What was out of order meanwhile, with seconds from the begin of the silence.
    longest_silence_under: list[str]


class Outcome(Struct, kw_only=True):
    """What became of a campaign; without findings, all is as it must be."""

    seed: int
    folder: str
    seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)
    fault_count: int = 0
    writers: dict[str, WriterFigures] = field(default_factory=dict)
    journal: JournalFigures = field(default_factory=JournalFigures)
    findings: list[str] = field(default_factory=list)

    def find(self, *sentences: str) -> None:
        """Note what is wrong, with all that is needed to look into it."""
        self.findings += [f"{each} (seed {self.seed}, kept in {self.folder})" for each in sentences]


def run_campaign(orders: Orders) -> Outcome:
    """Break, mend, settle, judge."""
    outcome = Outcome(seed=orders.seed, folder=str(orders.folder))
    settings = {
        **FOR_TESTS,
        "min.insync.replicas": 2,
        # Small ones, so that there are many: a campaign does not write much.
        "log.segment.bytes": 65_536,
        "replica.high.watermark.checkpoint.interval.ms": 1_000,
    }
    with Cluster(orders.brokers, config=settings, data_dir=orders.folder) as cluster:
        for topic in TOPICS:
            cluster.create_topic(topic, PARTITIONS, COPIES)
        ledgers = _write_under_faults(cluster, orders, outcome)
        try:
            _judge_cluster(cluster, ledgers, outcome)
        except RegentError as error:
            outcome.find(f"the cluster does not come to rest: {error}")
    return outcome


def _write_under_faults(cluster: Cluster, orders: Orders, outcome: Outcome) -> list[Ledger]:
    ledgers = [Ledger(writer, writer, PARTITIONS) for writer in WRITERS]
    course = Course()
    with ExitStack() as clients:
        writers: list[Writer] = [
            clients.enter_context(WRITERS[ledger.writer](ledger, cluster.bootstrap))
            for ledger in ledgers
        ]
        began_s = monotonic()
        try:
            _break_and_mend(cluster, orders, outcome, course)
        except RegentError as error:
            outcome.find(f"a fault could not be made, or mended: {error}")
        outcome.seconds = round(monotonic() - began_s, 1)
        for writer in writers:
            writer.stop()
        for writer in writers:
            writer.finish(SETTLE_S)
    for ledger in ledgers:
        outcome.writers[ledger.writer] = WriterFigures(
            sum(ledger.sent),
            len(ledger.acknowledged),
            len(ledger.given_up),
            round(ledger.longest_silence.seconds * 1000),
            course.between(*ledger.longest_silence),
        )
    return ledgers


def _break_and_mend(cluster: Cluster, orders: Orders, outcome: Outcome, course: Course) -> None:
    end_s = monotonic() + orders.seconds
    churn = Churn(cluster, seed=orders.seed, kinds=orders.kinds, rest_s=orders.rest_s)
    faults: Counter[str] = Counter()
    broken, offices, office_due = 0, cycle(OFFICES), OFFICE_EVERY
    # Closed, it mends what is broken.
    with closing(iter(churn)) as steps:
        for step in steps:
            course.note(step, monotonic())
            faults[step.kind.value] += step.is_fault
            broken += (step.kind in REMEDIES) - (step.kind in REMEDIES.values())
            if not broken and faults.total() >= office_due:
                kill = f"kill the {_kill_holder(cluster, next(offices))}"
                course.note_passing(kill, monotonic())
                faults[kill] += 1
                office_due += OFFICE_EVERY
            outcome.faults, outcome.fault_count = dict(sorted((+faults).items())), faults.total()
            if faults.total() >= orders.faults and monotonic() >= end_s:
                return


def _kill_holder(cluster: Cluster, office: str) -> str:
    """Chance hits a controller too rarely; this one is hit on purpose, and comes back."""
    holder_id = cluster.controller_id() if office == "controller" else cluster.leader(TOPICS[0])
    cluster.kill(holder_id)
    cluster.start(holder_id)
    return office


def _judge_cluster(cluster: Cluster, ledgers: Sequence[Ledger], outcome: Outcome) -> None:
    cluster.wait_until(lambda: _is_whole(cluster), "all replicas to be in sync", SETTLE_S)
    cluster.wait_until(lambda: _agree(cluster), "all brokers to tell the same", SETTLE_S)
    reading = read_topics(cluster.bootstrap, TOPICS, PARTITIONS)
    for ledger in ledgers:
        outcome.find(*judge(ledger, reading))
    known = _known(cluster)
    for name, read in reading.items():
        folders = {
            int(broker_id): cluster.broker(broker_id).data_dir / str(name)
            for broker_id in known[name].assignment.replicas
        }
        outcome.find(*differences(name, folders, read.high_watermark))
    audit = audited([cluster.broker(broker_id).journal_dir for broker_id in cluster.broker_ids])
    audit.compare({name: each.leadership for name, each in known.items()})
    outcome.journal = audit.figures
    outcome.find(*audit.findings)


def _known(cluster: Cluster) -> dict[TopicPartition, KnownPartition]:
    """All partitions as ZooKeeper has them."""
    return {
        TopicPartition(topic, index): cluster.partition(topic, index)
        for topic in TOPICS
        for index in range(PARTITIONS)
    }


def _is_whole(cluster: Cluster) -> bool:
    """Whether nothing is on its way, and every replica is in sync."""
    return all(
        each.leadership is not None
        and set(each.leadership.isr) == set(each.assignment.replicas)
        and len(each.assignment.replicas) == COPIES
        for each in _known(cluster).values()
    )


def _agree(cluster: Cluster) -> bool:
    """Whether all brokers tell their clients the same of all that are alive."""
    told = [_told_by(cluster, broker_id) for broker_id in cluster.broker_ids]
    return told[0] is not None and all(each == told[0] for each in told)


def _told_by(cluster: Cluster, broker_id: int) -> object:
    """What a broker tells, the order of an ISR aside; None while somebody is missing."""
    seen = cluster.seen_by(broker_id, *TOPICS)
    if seen is None or seen.controller_id is None or len(seen.brokers) < len(cluster.broker_ids):
        return None
    partitions = [
        (each.name, each.leader, each.replicas, sorted(each.isr), each.offline)
        for each in seen.partitions()
    ]
    return (seen.brokers, seen.controller_id, seen.cluster_id, partitions)
