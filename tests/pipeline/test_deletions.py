"""Deletions of topics, over reigns and obstacles (Q5)."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.states import ReplicaState
from regent.pipeline import schemas
from regent.pipeline.deletions import deletions
from regent.pipeline.settings import Settings
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.rows import record

pytestmark = pytest.mark.requirement("Q5")

TOLD = facts.RequestSent(BrokerId(1), BrokerEpoch(1), "UpdateMetadata", 0)
GONE = facts.ReplicaMoved(
    "t", 0, BrokerId(1), ReplicaState.DELETION_STARTED, ReplicaState.DELETION_SUCCESSFUL
)
FORGOTTEN = facts.TopicForgotten("t")


def phase(name: str, reason: str | None = None) -> facts.DeletionAdvanced:
    return facts.DeletionAdvanced("t", name, reason)


QUEUED, STARTED, FINISHED = phase("queued"), phase("started"), phase("finished")


def reign(epoch: int, *written: tuple[int, facts.Fact]) -> list[Record]:
    return [
        record(number, fact, at_ms=at_ms, epoch=epoch, controller=epoch)
        for number, (at_ms, fact) in enumerate(written, start=1)
    ]


def test_each_deletion_once_with_its_end(spark: SparkSession) -> None:
    begun = ((10, QUEUED), (20, STARTED))
    transitions = histories(
        spark,
        # A replica that moved away earlier is none of its business.
        plain=reign(1, (1, GONE), *begun, (400, GONE), (500, FORGOTTEN), (500, FINISHED)),
        kept_back=reign(
            1,
            (10, QUEUED),
            (10, phase("ineligible", "moving")),
            (600, STARTED),
            (650, phase("ineligible", "dead")),
            (700, phase("retried")),
            (720, FORGOTTEN),
            (720, FINISHED),
        ),
        handed_over=[
            *reign(1, *begun),
            *reign(2, (300, facts.ControllerElected()), (310, QUEUED), (320, TOLD), (330, STARTED)),
            record(5, FINISHED, at_ms=350, epoch=2, controller=2),
        ],
        end_not_written=[
            *reign(1, *begun),
            *reign(2, (300, facts.ControllerElected()), (320, TOLD), (900, TOLD)),
            *reign(3, (950, facts.ControllerElected()), (960, TOLD)),
        ],
        # The second controller found only the mark, and removed that.
        only_the_mark_left=[*reign(1, *begun), *reign(2, (305, FINISHED), (320, TOLD))],
        twice=reign(1, *begun, (30, FINISHED), (700, QUEUED), (1_200, TOLD)),
        # The successor died before it could have queued anything.
        unknown=[*reign(1, *begun), *reign(2, (300, facts.ControllerElected()))],
        log=[*reign(1, *begun), *reign(2, (300, facts.ControllerElected()), (320, TOLD))],
        removed_by_hand=reign(1, (10, FORGOTTEN)),
    ).withColumn("source", F.when(F.col("cluster") == "log", "log").otherwise(F.col("source")))

    table = deletions(transitions, Settings(stuck_after_ms=400))

    told: dict[str, list[tuple[object, ...]]] = {}
    for row in table.orderBy("cluster", "start_epoch", "start_sequence").collect():
        times = (row.queued_ms, row.started_ms, row.end_ms, row.duration_ms)
        told.setdefault(row.cluster, []).append(
            (*times, row.obstacles, row.reasons, row.retries, row.is_stalled)
        )
    assert told == {
        "plain": [(10, 20, 500, 490, 0, [], 0, False)],
        "kept_back": [(10, 600, 720, 710, 2, ["dead", "moving"], 1, True)],
        "handed_over": [(10, 20, 350, 340, 0, [], 0, False)],
        "end_not_written": [(10, 20, 320, 310, 0, [], 0, False)],
        "only_the_mark_left": [(10, 20, 305, 295, 0, [], 0, False)],
        "twice": [
            (10, 20, 30, 20, 0, [], 0, False),
            (700, None, None, 500, 0, [], 0, True),
        ],
        "unknown": [(10, 20, None, 290, 0, [], 0, False)],
        "log": [(10, 20, None, 310, 0, [], 0, False)],
    }
    assert schema_of(table) == schemas.DELETIONS
