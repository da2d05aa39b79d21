"""Reassignments over phases, failovers and changes of mind (Q5)."""

import pytest
from pyspark.sql import SparkSession

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.pipeline import schemas
from regent.pipeline.reassignments import reassignments
from regent.pipeline.settings import Settings
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.rows import brokers, record

pytestmark = pytest.mark.requirement("Q5")

Brokers = tuple[int, ...]

#: From (1, 2) to (3, 2): what the assignment is on the way.
TO_3: tuple[Brokers, Brokers, Brokers] = ((3, 2, 1), (3,), (1,))


def loaded(replicas: Brokers, adding: Brokers = (), removing: Brokers = ()) -> facts.TopicLoaded:
    partition = facts.LoadedPartition(0, brokers(*replicas), brokers(*adding), brokers(*removing))
    return facts.TopicLoaded("t", (partition,))


def assigned(
    replicas: Brokers, adding: Brokers = (), removing: Brokers = ()
) -> facts.AssignmentChanged:
    return facts.AssignmentChanged("t", 0, brokers(*replicas), brokers(*adding), brokers(*removing))


def phase(
    name: str, replicas: Brokers, adding: Brokers = (), removing: Brokers = ()
) -> facts.ReassignmentAdvanced:
    return facts.ReassignmentAdvanced(
        "t", 0, name, brokers(*replicas), brokers(*adding), brokers(*removing)
    )


def grown(*isr: int) -> facts.IsrAltered:
    leader = BrokerId(1)
    return facts.IsrAltered("t", 0, leader, leader, LeaderEpoch(3), brokers(*isr), ZkVersion(5))


def reign(epoch: int, *written: tuple[int, facts.Fact]) -> list[Record]:
    return [
        record(number, fact, at_ms=at_ms, epoch=epoch, controller=epoch)
        for number, (at_ms, fact) in enumerate(written, start=1)
    ]


START = ((0, loaded((1, 2))), (100, assigned(*TO_3)), (100, phase("U", *TO_3)))


def test_each_move_once_with_its_end(spark: SparkSession) -> None:
    transitions = histories(
        spark,
        # The last B is a request for what is so already.
        finished=reign(
            1,
            *START,
            (110, phase("A", *TO_3)),
            (400, grown(1, 2, 3)),
            (450, assigned((3, 2))),
            (460, phase("B", (3, 2))),
            (900, phase("B", (3, 2))),
        ),
        reordered=reign(
            1,
            (0, loaded((1, 2))),
            (100, assigned((2, 1))),
            (100, phase("U", (2, 1))),
            (101, phase("B", (2, 1))),
        ),
        cancelled=reign(
            1,
            *START,
            (200, assigned((1, 2))),
            (200, phase("C", (1, 2))),
            # What came could not be dropped at once: still the same move.
            (205, assigned((1, 2, 3), (3,), (3,))),
            (300, phase("U", (1, 2))),
            (310, phase("B", (1, 2))),
        ),
        replaced=reign(
            1,
            *START,
            (150, assigned((4, 2, 1), (4,), (1,))),
            (150, phase("U", (4, 2, 1), (4,), (1,))),
            (300, phase("B", (4, 2))),
        ),
        # Being found by another controller is no progress, and its end was not written down.
        handed_over=[
            *reign(1, *START, (110, phase("A", *TO_3))),
            *reign(2, (600, loaded(*TO_3)), (650, phase("A", *TO_3))),
            *reign(3, (900, loaded((3, 2)))),
        ],
        undone=[*reign(1, *START), *reign(2, (600, loaded((1, 2))))],
        found_and_left=reign(1, (50, loaded(*TO_3)), (1_000, facts.ControllerResigned("asked"))),
        topic_gone=reign(1, *START, (200, facts.TopicForgotten("t"))),
        never_moved=reign(1, (0, loaded((1, 2))), (10, grown(1, 2)), (20, phase("B", (1, 2)))),
    )

    table = reassignments(transitions, Settings(stuck_after_ms=500))

    told: dict[str, list[tuple[object, ...]]] = {}
    for row in table.orderBy("cluster", "start_epoch", "start_sequence").collect():
        times = (row.outcome, row.start_ms, row.end_ms, row.duration_ms)
        pauses = (row.longest_pause_ms, row.is_stalled)
        told.setdefault(row.cluster, []).append(
            (*times, row.replicas_before, row.replicas_after, *pauses)
        )
    origin, target = [1, 2], [3, 2]
    assert told == {
        "finished": [("finished", 100, 460, 360, origin, target, 290, False)],
        "reordered": [("finished", 100, 101, 1, origin, [2, 1], 1, False)],
        "cancelled": [("cancelled", 100, 310, 210, origin, target, 100, False)],
        "replaced": [
            ("replaced", 100, 150, 50, origin, target, 50, False),
            ("finished", 150, 300, 150, origin, [4, 2], 150, False),
        ],
        "handed_over": [("finished", 100, 900, 800, origin, target, 540, True)],
        "undone": [("cancelled", 100, 600, 500, origin, target, 500, False)],
        "found_and_left": [("running", 50, None, 950, [2, 1], target, 950, True)],
        "topic_gone": [("abandoned", 100, 200, 100, origin, target, 100, False)],
    }
    (finished,) = table.filter("cluster = 'finished'").collect()
    assert (finished.added, finished.removed) == ([3], [1])
    assert (finished.start_epoch, finished.start_sequence) == (1, 3)
    assert schema_of(table) == schemas.REASSIGNMENTS
