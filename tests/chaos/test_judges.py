"""The judges of a campaign notice what they are there for."""

from pathlib import Path

import pytest

from regent.model import facts
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, TopicPartition, ZkVersion
from regent.model.leadership import Leadership
from regent.model.states import PartitionState
from regent.testing.churn_plan import ChurnKind, ChurnStep
from tests.chaos.course import Course
from tests.chaos.journal_audit import JournalAudit
from tests.chaos.judge import judge
from tests.chaos.ledger import Ledger, Note
from tests.chaos.reading import ReadPartition
from tests.chaos.replicas import differences
from tests.storage.batches import T0, batch_of, sent
from tests.unit.journal.builders import record

WRITTEN = [Note("w", 0, number) for number in range(3)]


def ledger_of(acknowledged: int = 3) -> Ledger:
    """A writer that sent three records, of which the first ones were acknowledged in turn."""
    ledger = Ledger("w", "orders", 1)
    for offset in range(3):
        note = ledger.next_note(0)
        if offset < acknowledged:
            ledger.acknowledge(note, offset)
    return ledger


def read(*values: bytes) -> dict[TopicPartition, ReadPartition]:
    return {T0: ReadPartition(len(values), dict(enumerate(values)))}


A, B, C = (note.to_value() for note in WRITTEN)


def test_nothing_is_found_where_all_is_well() -> None:
    assert judge(ledger_of(), read(A, B, C)) == []


@pytest.mark.parametrize(
    ("acknowledged", "values", "finding"),
    [
        (3, (A, B), "was acknowledged at offset 2 and is LOST"),
        (3, (A, C, B), "stands at offset 2, behind"),
        (3, (A, B, B, C), "is there 2 times, at offsets [1, 2]"),
        (3, (A, A, B, C), "was acknowledged at offset 2 and stands at 3"),
        (3, (A, B, C, b"w 0 7"), "nobody sent b'w 0 7' there"),
        (3, (A, B, C, b"?"), "nobody sent b'?' there"),
        (2, (A, B), "1 records of w never got an answer"),
    ],
)
def test_what_a_producer_was_told_is_held_against_what_is_read(
    acknowledged: int, values: tuple[bytes, ...], finding: str
) -> None:
    found = judge(ledger_of(acknowledged), read(*values))

    assert any(finding in each for each in found), found


def test_a_hole_below_the_high_watermark_is_found() -> None:
    found = judge(ledger_of(0), {T0: ReadPartition(3, {0: A, 2: C})})

    assert "orders: orders-0: 1 offsets below the high watermark are not read" in found


def test_a_record_that_was_given_up_is_found_and_may_be_there() -> None:
    ledger = ledger_of(2)
    ledger.give_up(WRITTEN[2], "timed out")

    assert judge(ledger, read(A, B, C)) == [f"orders: {WRITTEN[2]} was given up: timed out"]


def test_a_client_that_broke_is_found() -> None:
    ledger = ledger_of()
    ledger.failure = "fatal"

    assert judge(ledger, read(A, B, C)) == ["orders: w takes no more records: fatal"]


def copies(path: Path, **contents: list[bytes]) -> dict[int, Path]:
    """Replicas by broker: each a segment with these batches."""
    folders = {}
    for broker_id, batches in enumerate(contents.values(), start=1):
        folders[broker_id] = path / str(broker_id)
        folders[broker_id].mkdir()
        (folders[broker_id] / f"{0:020}.log").write_bytes(b"".join(batches))
    return folders


FIRST, SECOND = sent(batch_of(b"a"), 0), sent(batch_of(b"b"), 1)


def test_replicas_need_not_agree_beyond_the_high_watermark(tmp_path: Path) -> None:
    folders = copies(tmp_path, one=[FIRST, SECOND], other=[FIRST])

    assert list(differences(T0, folders, 1)) == []


def test_a_replica_may_have_other_segments(tmp_path: Path) -> None:
    folders = copies(tmp_path, one=[FIRST, SECOND], other=[FIRST])
    (folders[2] / f"{1:020}.log").write_bytes(SECOND)

    assert list(differences(T0, folders, 2)) == []


@pytest.mark.parametrize(
    ("other", "finding"),
    [
        ([FIRST], "on broker 2: it ends at offset 1, and 2 are committed"),
        ([FIRST, sent(batch_of(b"x"), 1)], "brokers 1 and 2 differ from offset 1 on"),
        ([FIRST, sent(batch_of(b"b"), 1, 9)], "brokers 1 and 2 differ from offset 1 on"),
        ([FIRST, SECOND[:-1] + b"!"], "on broker 2: after offset 0: the checksum is"),
        ([sent(batch_of(b"b"), 1)], "on broker 2: offset 1 comes after offset -1"),
    ],
)
def test_replicas_that_differ_are_found(tmp_path: Path, other: list[bytes], finding: str) -> None:
    folders = copies(tmp_path, one=[FIRST, SECOND], other=other)

    found = list(differences(T0, folders, 2))

    assert len(found) == 1
    assert finding in found[0]


def elected(leader: int, leader_epoch: int, isr: tuple[int, ...] = (1, 2)) -> facts.LeaderElected:
    return facts.LeaderElected(
        topic="orders",
        partition=0,
        strategy="offline",
        before=PartitionState.ONLINE,
        leader_before=BrokerId(1),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(leader_epoch),
        isr=tuple(map(BrokerId, isr)),
        zk_version=ZkVersion(leader_epoch),
    )


def audit_of(*told: facts.Fact) -> JournalAudit:
    """Of a reign that has loaded one partition."""
    loaded = facts.LoadedPartition(0, (BrokerId(1), BrokerId(2)))
    known: tuple[facts.Fact, ...] = (
        facts.ControllerElected(),
        facts.TopicLoaded("orders", (loaded,)),
        facts.PartitionsStarted("orders"),
    )
    audit = JournalAudit()
    for seq, fact in enumerate((*known, *told), start=1):
        audit.take(record(seq, fact))
    return audit


def test_a_sound_journal_is_not_blamed() -> None:
    assert audit_of(elected(1, 1), elected(2, 2)).findings == []


@pytest.mark.parametrize(
    ("told", "finding"),
    [
        ((elected(1, 2), elected(1, 1)), "leader epoch 1 after 2"),
        ((elected(1, 1), elected(2, 1)), "1 and 2 lead in epoch 1"),
        ((elected(3, 1),), "leader 3 is not in the ISR (1, 2)"),
        ((facts.EventFailed("a surprise"),), "a surprise"),
        (
            (facts.PartitionMoved("orders", 1, PartitionState.NEW, PartitionState.OFFLINE),),
            "is about a partition that was never loaded",
        ),
    ],
)
def test_a_journal_that_tells_of_the_impossible_is_found(
    told: tuple[facts.Fact, ...], finding: str
) -> None:
    found = audit_of(*told).findings

    assert any(finding in each for each in found), found


def test_journals_that_lead_elsewhere_than_zookeeper_are_found() -> None:
    audit = audit_of(elected(1, 1))
    truth = Leadership(
        leader=BrokerId(2),
        leader_epoch=LeaderEpoch(2),
        isr=(BrokerId(2),),
        controller_epoch=ControllerEpoch(1),
        zk_version=ZkVersion(2),
    )
    audit.compare({T0: truth})

    assert len(audit.findings) == 1
    assert "and ZooKeeper has" in audit.findings[0]


def test_the_longest_silence_is_laid_at_the_door_of_what_was_broken_meanwhile() -> None:
    course = Course()
    course.note(ChurnStep(0.0, ChurnKind.KILL, (1,)), 1.0)
    course.note(ChurnStep(0.0, ChurnKind.PAUSE, (2,)), 4.0)
    course.note(ChurnStep(0.0, ChurnKind.START, (1,)), 5.0)
    course.note(ChurnStep(0.0, ChurnKind.CUT, (1, 3)), 11.0)
    course.note(ChurnStep(0.0, ChurnKind.RESUME, (2,)), 12.5)
    course.note_passing("kill the leader", 15.0)

    assert course.between(6.0, 14.0) == [
        "pause 2: -2.0 s to +6.5 s",
        "cut 1 and 3: +5.0 s to the end",
    ]


def test_the_longest_silence_is_known_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 11.0, 15.0, 16.0])
    monkeypatch.setattr("tests.chaos.ledger.monotonic", lambda: next(times))

    assert ledger_of().longest_silence == (11.0, 15.0)
