"""Requests and their answers (Q5)."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from regent.journal.record import Record
from regent.model import facts
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId
from regent.pipeline import schemas
from regent.pipeline.channel_lag import channel_lag
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.rows import record

pytestmark = pytest.mark.requirement("Q5")

BROKER = BrokerId(7)


def up(epoch: int) -> facts.BrokerUp:
    return facts.BrokerUp(BROKER, BrokerEpoch(epoch))


def down(epoch: int) -> facts.BrokerDown:
    return facts.BrokerDown(BROKER, BrokerEpoch(epoch))


def sent(epoch: int, api: str = "UpdateMetadata", count: int = 0) -> facts.RequestSent:
    return facts.RequestSent(BROKER, BrokerEpoch(epoch), api, count)


def answered(
    api: str = "UpdateMetadata", error: ErrorCode = ErrorCode.NONE, count: int = 0
) -> facts.RequestAnswered:
    return facts.RequestAnswered(BROKER, api, error, count)


def journal(*written: tuple[int, facts.Fact], epoch: int = 1) -> list[Record]:
    return [
        record(number, fact, at_ms=at_ms, epoch=epoch)
        for number, (at_ms, fact) in enumerate(written, start=1)
    ]


def told(table: DataFrame) -> dict[str, list[tuple[object, ...]]]:
    """Sent, answered, refused and unanswered; the median, and the longest."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in table.orderBy("cluster", "controller_epoch", "api").collect():
        counts = (row.sent, row.answered, row.refused, row.unanswered)
        found.setdefault(row.cluster, []).append((*counts, row.p50_ms, row.max_ms))
    return found


def test_an_answer_is_to_the_oldest_request_of_its_kind_in_that_life(spark: SparkSession) -> None:
    transitions = histories(
        spark,
        in_order=[
            *journal(
                (0, sent(5)),
                (1, sent(5, "LeaderAndIsr")),
                (10, sent(5)),
                (20, answered()),
                (30, answered("LeaderAndIsr")),
                (50, answered(error=ErrorCode.STALE_BROKER_EPOCH)),
                (60, sent(5)),
            ),
            # What the first reign left unanswered is not answered in the second.
            *journal((70, sent(5)), (75, answered()), epoch=2),
        ],
        died_with_a_queue=journal(
            (0, up(5)),
            (0, sent(5)),
            (5, sent(5)),
            (8, down(5)),
            (10, up(6)),
            (12, sent(6)),
            (20, answered()),
        ),
        heard_after_its_death=journal((0, up(5)), (0, sent(5)), (8, down(5)), (10, answered())),
        # The first answer is the old life's; the second then finds nothing to answer.
        heard_after_its_return=journal(
            (0, up(5)),
            (0, sent(5)),
            (8, down(5)),
            (9, up(6)),
            (10, sent(6)),
            (11, answered()),
            (20, answered(error=ErrorCode.STALE_BROKER_EPOCH)),
            (30, sent(6)),
            (35, answered()),
        ),
        clock_set_back=journal((100, sent(5)), (40, answered())),
    )

    table = channel_lag(transitions)

    assert told(table) == {
        "in_order": [
            (1, 1, 0, 0, 29, 29),
            (3, 2, 1, 1, 30, 40),
            (1, 1, 0, 0, 5, 5),
        ],
        "died_with_a_queue": [(3, 1, 0, 2, 8, 8)],
        "heard_after_its_death": [(1, 1, 0, 0, 10, 10)],
        "heard_after_its_return": [(3, 2, 0, 1, 3, 5)],
        "clock_set_back": [(1, 1, 0, 0, 0, 0)],
    }
    assert schema_of(table) == schemas.CHANNEL_LAG


def test_logs_know_ids_or_nothing_of_lives(spark: SparkSession) -> None:
    transitions = histories(
        spark,
        ids=journal(
            (0, sent(0, count=1)),
            (5, sent(0, count=2)),
            (6, sent(0, count=2)),  # a line for each partition of one request
            (15, answered(count=2)),
            (16, answered(count=9)),
            (40, answered(count=1)),
        ),
        # Only answers have ids: they are of no use.
        half=journal((0, sent(0)), (1, sent(0)), (10, answered(count=4)), (30, answered(count=5))),
        lives=journal(
            (0, up(0)), (0, sent(0)), (8, down(0)), (9, up(0)), (12, sent(0)), (20, answered())
        ),
    )
    is_known = (F.col("cluster") == "ids") | (
        (F.col("cluster") == "half") & (F.col("kind") == "request_answered")
    )
    logs = transitions.withColumns(
        {
            "broker_epoch": F.lit(None).cast("long"),
            "correlation_id": F.when(is_known, F.col("partition_count")),
            "error": F.lit(None).cast("int"),
        }
    )

    assert told(channel_lag(logs)) == {
        "ids": [(2, 2, 0, 0, 25, 40)],
        "half": [(2, 2, 0, 0, 20, 29)],
        "lives": [(2, 1, 0, 1, 8, 8)],
    }
