"""What a stream finds is what the audit finds, in the same words (Q8)."""

from collections.abc import Iterable
from typing import Final

import pytest
from msgspec import UNSET
from pyspark.sql import Row, SparkSession

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.pipeline.audit import violations
from regent.pipeline.audit.rules import RULES
from regent.pipeline.broker_flapping import broker_flapping
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.deletions import deletions
from regent.pipeline.live.hearing import HeardLine, Hearing
from regent.pipeline.live.memory import ClusterMemory, Shelf, cluster_from, cluster_text
from regent.pipeline.live.processor import ROW
from regent.pipeline.live.rows import KnownAssignment, Said, Source, to_text
from regent.pipeline.live.rules import LIVE_RULES, RAISED, judged
from regent.pipeline.outages import outages
from regent.pipeline.reassignments import reassignments
from regent.pipeline.settings import DEFAULTS, Settings
from regent.pipeline.sources.journal import read_journal
from regent.pipeline.timelines import timelines
from regent.sim.plan import draw_plan
from regent.sim.run import run
from tests.pipeline.planting import Draft, clean_records
from tests.pipeline.rows import brokers, record
from tests.pipeline.test_planted_faults import FAULTS

pytestmark = pytest.mark.requirement("Q8")

LIVE_NAMES: Final = {rule.name for rule in LIVE_RULES}
SHARED: Final = tuple(rule for rule in RULES if rule.name in LIVE_NAMES)
SEEDS: Final = range(10)


class Listener:
    """A stream without Spark: batches in, rows out, and a memory that is text in between."""

    def __init__(self, cluster: str = "c", settings: Settings = DEFAULTS) -> None:
        self.cluster = cluster
        self.settings = settings
        self.text = cluster_text(ClusterMemory())
        self.topics: dict[str, str] = {}

    def hear(self, *records: Record, now_ms: int = 0) -> list[Said]:
        """One batch."""
        lines = [HeardLine(each, Source("j.jsonl", each.seq, each.seq)) for each in records]
        memory = cluster_from(self.text)
        shelf = Shelf(self.topics.get, lambda: self.topics)
        hearing = Hearing(self.cluster, memory, shelf, self.settings, now_ms)
        said = [*hearing.hear(lines), *hearing.ring()]
        for topic, text in shelf.touched():
            if text is None:
                self.topics.pop(topic, None)
            else:
                self.topics[topic] = text
        self.text = cluster_text(memory)
        return said


def alerts(spark: SparkSession, said: Iterable[Said], settings: Settings = DEFAULTS) -> list[Row]:
    rows = spark.createDataFrame([(to_text(each),) for each in said], ROW)
    return judged(rows, settings).collect()


FINDING: Final = (
    "cluster",
    "rule",
    "severity",
    "topic",
    "partition",
    "broker_id",
    "controller_epoch",
    "sequence",
    "at_ms",
    "detail",
)


def told(findings: Iterable[Row]) -> list[str]:
    return sorted(str([row[name] for name in FINDING]) for row in findings)


def test_the_stream_finds_what_the_audit_finds(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In every planted fault, and in simulated clusters as they come."""
    drafts = {f"seed-{seed}": Draft(run(draw_plan(seed), []).records) for seed in SEEDS}
    clean = clean_records()
    for rule in SHARED:
        drafts[rule.name] = Draft(clean)
        FAULTS[rule.name](drafts[rule.name])
    journals = tmp_path_factory.mktemp("journals")
    said: list[Said] = []
    for name, draft in drafts.items():
        draft.write(journals / name)
        said += Listener(name).hear(*draft.records)
    transitions = read_journal(spark, str(journals)).localCheckpoint()
    by_audit = violations(
        transitions,
        outages(timelines(transitions), transitions),
        reassignments(transitions),
        deletions(transitions),
        broker_flapping(broker_lives(transitions)),
        rules=SHARED,
    ).collect()

    by_stream = [
        row
        for row in alerts(spark, said)
        if row.state == RAISED and row.rule in {rule.name for rule in SHARED}
    ]

    assert told(by_stream) == told(by_audit)
    assert {row.rule for row in by_audit} == {rule.name for rule in SHARED}


# --- what only a stream has to deal with --------------------------------------------------------


def loaded(topic: str = "t", leader: int | None = 1) -> facts.TopicLoaded:
    found = facts.LoadedPartition(
        0,
        brokers(1, 2),
        leader=None if leader is None else BrokerId(leader),
        leader_epoch=None if leader is None else LeaderEpoch(1),
        isr=None if leader is None else brokers(1, 2),
    )
    return facts.TopicLoaded(topic, (found,), topic_id="id")


def offline(topic: str = "t") -> facts.PartitionMoved:
    return facts.PartitionMoved(topic, 0, PartitionState.ONLINE, PartitionState.OFFLINE)


def learned(leader: int, epoch: int, *isr: int) -> facts.LeadershipLearned:
    return facts.LeadershipLearned(
        "t",
        0,
        BrokerId(leader),
        LeaderEpoch(epoch),
        brokers(*isr),
        ControllerEpoch(1),
        ZkVersion(epoch),
    )


def spells(said: Iterable[Said]) -> list[tuple[str, bool, object]]:
    kinds = {"leaderless", "under_min_isr"}
    return [(each.kind, each.is_over, each.duration_ms) for each in said if each.kind in kinds]


OFFICE: Final = (
    record(1, facts.ControllerElected()),
    record(2, loaded()),
    record(3, facts.PartitionsStarted("t")),
)


def test_nobody_is_told_before_the_time_and_everybody_once() -> None:
    listener = Listener()
    assert not spells(listener.hear(*OFFICE, record(4, offline(), at_ms=100_000), now_ms=100_500))
    assert cluster_from(listener.text).next_deadline_ms() == 130_001

    assert not spells(listener.hear(now_ms=130_000))
    assert spells(listener.hear(now_ms=130_001)) == [("leaderless", False, 30_001)]
    assert not spells(listener.hear(now_ms=140_000))
    assert spells(listener.hear(record(5, learned(2, 2, 2), at_ms=150_000))) == []
    back = facts.PartitionMoved("t", 0, PartitionState.OFFLINE, PartitionState.ONLINE)
    assert spells(listener.hear(record(6, back, at_ms=150_000))) == [("leaderless", True, 50_000)]


def test_what_is_read_late_may_be_over_already() -> None:
    """An old journal: its records are hours old, and the next one says that all is well."""
    listener = Listener()
    now_ms = 9_000_000
    assert not spells(listener.hear(*OFFICE, record(4, offline(), at_ms=100), now_ms=now_ms))
    back = facts.PartitionMoved("t", 0, PartitionState.OFFLINE, PartitionState.ONLINE)
    assert not spells(listener.hear(record(5, back, at_ms=200), now_ms=now_ms + 1_000))
    assert not spells(listener.hear(now_ms=now_ms + 60_000))


def test_too_small_an_isr_is_told_at_once_and_when_it_is_over() -> None:
    listener = Listener(settings=Settings(min_isr=2))
    listener.hear(*OFFICE)
    assert spells(listener.hear(record(4, learned(1, 1, 1), at_ms=10), now_ms=15)) == [
        ("under_min_isr", False, 5)
    ]
    assert not spells(listener.hear(record(5, learned(1, 1, 2), at_ms=20)))
    assert spells(listener.hear(record(6, learned(1, 1, 1, 2), at_ms=30))) == [
        ("under_min_isr", True, 20)
    ]


def test_what_the_next_controller_does_not_find_is_not_waited_for() -> None:
    listener = Listener()
    listener.hear(
        *OFFICE,
        record(4, loaded("gone")),
        record(5, facts.PartitionsStarted("gone")),
        record(6, offline("gone")),
    )
    listener.hear(
        record(1, facts.ControllerElected(), epoch=2, controller=2, at_ms=10),
        record(2, loaded(), epoch=2, controller=2),
        record(3, facts.PartitionsStarted("t"), epoch=2, controller=2),
    )

    assert list(listener.topics) == ["t"]
    assert not spells(listener.hear(now_ms=10_000_000))


def test_what_a_deposed_controller_still_says_changes_nothing() -> None:
    listener = Listener()
    listener.hear(*OFFICE)
    listener.hear(record(1, facts.ControllerElected(), epoch=2, controller=2))
    late = listener.hear(record(4, offline()), record(5, learned(9, 9, 9)))

    assert [(each.kind, each.before) for each in late] == [
        ("partition_moved", UNSET),
        ("leadership_learned", UNSET),
    ]
    assert not spells(listener.hear(now_ms=10_000_000))


def test_a_gap_is_told_and_makes_what_is_known_doubtful() -> None:
    listener = Listener()
    listener.hear(*OFFICE)
    said = listener.hear(record(5, learned(1, 1, 1)), record(5, learned(1, 1, 1)))

    assert [(each.kind, each.previous, each.before, each.repeated) for each in said] == [
        ("", 3, UNSET, UNSET),
        ("leadership_learned", UNSET, UNSET, UNSET),
        ("repeated", UNSET, UNSET, 1),
    ]


def test_an_assignment_whose_predecessor_is_not_known_proves_nothing() -> None:
    """A watch may begin in the middle of a reassignment."""
    listener = Listener()
    listener.hear(record(7, facts.AssignmentChanged("t", 0, brokers(1))))
    (said,) = listener.hear(record(8, learned(1, 1, 1, 9)))

    assert isinstance(said.assignment, KnownAssignment)
    assert said.assignment.either is None


def test_trouble_has_its_words(spark: SparkSession) -> None:
    said = Listener().hear(
        record(1, facts.ControllerElected()),
        record(2, facts.EventFailed("a bug")),
        record(3, facts.ZnodeIsolated("/x", "no JSON")),
        record(4, facts.BrokerDown(BrokerId(3), BrokerEpoch(1), bounced=True)),
        record(5, facts.LogDirFailed("t", 0, BrokerId(3))),
        record(6, facts.LogDirFailed("t", 0, BrokerId(3), loaded=True)),
        record(7, offline()),
    )

    assert [(row.rule, row.state, row.detail) for row in alerts(spark, said)] == [
        ("controller_changed", "raised", "controller 1 took office in epoch 1"),
        ("event_failed", "raised", "controller 1: a bug"),
        ("znode_isolated", "raised", "/x: no JSON"),
        ("broker_died", "raised", "broker 3 has gone and is back already"),
        ("log_dir_failed", "raised", "broker 3 cannot serve its replica"),
        ("log_dir_failed", "over", "broker 3 serves its replica again"),
    ]
