"""The lives of brokers, and brokers that flap (Q4, Q5)."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId
from regent.pipeline import schemas
from regent.pipeline.broker_flapping import broker_flapping
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.settings import Settings
from regent.pipeline.sources.state_change_log import read_state_change_log
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.log_builders import START_MS, noted, write_log
from tests.pipeline.rows import record


def up(broker: int, epoch: int, *, loaded: bool = False, rack: str | None = None) -> facts.BrokerUp:
    return facts.BrokerUp(BrokerId(broker), BrokerEpoch(epoch), rack, loaded)


def down(broker: int, epoch: int, *, bounced: bool = False) -> facts.BrokerDown:
    return facts.BrokerDown(BrokerId(broker), BrokerEpoch(epoch), bounced)


def reign(epoch: int, at_ms: int, *written: facts.Fact) -> list[Record]:
    """A controller's records, all of one moment; the last says that it went on from there."""
    told = facts.RequestSent(BrokerId(1), BrokerEpoch(1), "UpdateMetadata", 0)
    return [
        record(number, fact, at_ms=at_ms, epoch=epoch, controller=epoch)
        for number, fact in enumerate((facts.ControllerElected(), *written, told), start=1)
    ]


def told(lives: DataFrame) -> dict[str, list[tuple[object, ...]]]:
    """Broker, epoch, from, to, whether it bounced, and how long it had been away."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in lives.orderBy("cluster", "broker_id", F.coalesce("up_ms", "down_ms")).collect():
        life = (row.broker_id, row.broker_epoch, row.up_ms, row.down_ms, row.bounced)
        found.setdefault(row.cluster, []).append((*life, row.was_away_ms))
    return found


@pytest.mark.requirement("Q5")
def test_lives_go_on_over_reigns_and_end_in_or_between_them(spark: SparkSession) -> None:
    transitions = histories(
        spark,
        # 2 dies and returns in office; then 3 dies, then 1 bounces, each between two reigns.
        reigns=[
            *reign(1, 10, *(up(b, b * 10, loaded=True) for b in (1, 2, 3))),
            record(7, down(2, 20), at_ms=100),
            record(8, up(2, 21), at_ms=150),
            *reign(2, 300, up(1, 10, loaded=True), up(2, 21, loaded=True)),
            *reign(3, 500, up(1, 11, loaded=True), up(2, 21, loaded=True)),
        ],
        bounced_in_office=[
            *reign(1, 10, up(1, 5, loaded=True)),
            record(4, down(1, 5, bounced=True), at_ms=60),
            record(5, up(1, 6), at_ms=61),
        ],
        # 1 is away when the second controller reads, and comes back later: nobody was mistaken.
        missed=[
            *reign(1, 10, up(1, 5, loaded=True), up(2, 6, loaded=True)),
            *reign(2, 90, up(2, 6, loaded=True)),
            record(5, up(1, 7), at_ms=140, epoch=2, controller=2),
        ],
        # The second controller's journal breaks off in the middle of its list.
        torn=[
            *reign(1, 10, up(1, 5, loaded=True), up(2, 6, loaded=True)),
            *reign(2, 90, up(1, 5, loaded=True))[:-1],
        ],
        # The second controller reads old news, and learns better.
        stale=[
            *reign(1, 10, up(1, 5, loaded=True)),
            record(4, down(1, 5), at_ms=100),
            *reign(2, 200, up(1, 5, loaded=True)),
            record(4, down(1, 5), at_ms=250, epoch=2, controller=2),
        ],
        # The first controller is deposed and does not know it yet: it sees a life come that the
        # second one has not seen when it reads.
        deposed=[
            *reign(1, 10, up(1, 5, loaded=True)),
            record(4, up(1, 7), at_ms=130),
            *reign(2, 90, up(1, 6, loaded=True)),
            record(4, down(1, 6), at_ms=120, epoch=2, controller=2),
            *reign(3, 300, up(1, 7, loaded=True)),
        ],
    )

    lives = broker_lives(transitions)

    assert told(lives) == {
        "reigns": [
            (1, 10, 10, 500, True, None),
            (1, 11, 500, None, False, 0),
            (2, 20, 10, 100, False, None),
            (2, 21, 150, None, False, 50),
            (3, 30, 10, 300, False, None),
        ],
        "bounced_in_office": [(1, 5, 10, 60, True, None), (1, 6, 61, None, False, 1)],
        "missed": [
            (1, 5, 10, 90, False, None),
            (1, 7, 140, None, False, 50),
            (2, 6, 10, None, False, None),
        ],
        "torn": [(1, 5, 10, None, False, None), (2, 6, 10, None, False, None)],
        "stale": [(1, 5, 10, 250, False, None)],
        "deposed": [
            (1, 5, 10, 90, True, None),
            (1, 6, 90, 120, False, 0),
            (1, 7, 130, None, False, 10),
        ],
    }
    assert schema_of(lives) == schemas.BROKER_LIVES


@pytest.mark.requirement("Q5")
def test_without_epochs_a_life_lasts_until_the_broker_is_seen_to_go(spark: SparkSession) -> None:
    transitions = histories(
        spark,
        log=[
            record(1, up(1, 0), at_ms=10),
            record(2, up(1, 0), at_ms=20),
            record(3, down(1, 0), at_ms=50),
            record(4, down(1, 0), at_ms=55),
            record(5, up(1, 0, rack="r"), at_ms=80),
            record(6, down(2, 0), at_ms=90),
            # One line tells both.
            record(1, up(3, 0), at_ms=10),
            record(6, up(3, 0), at_ms=70),
            record(6, down(3, 0, bounced=True), at_ms=70),
        ],
    ).withColumn("broker_epoch", F.lit(None).cast("long"))

    assert told(broker_lives(transitions)) == {
        "log": [
            (1, None, 10, 50, False, None),
            (1, None, 80, None, False, 30),
            (2, None, None, 90, False, None),
            (3, None, 10, 70, True, None),
            (3, None, 70, None, False, 0),
        ]
    }


@pytest.mark.requirement("Q4")
def test_a_broker_flaps_when_deaths_are_many_and_close(spark: SparkSession) -> None:
    deaths = {
        1: (0, 50, 100, 150, 1_000, 1_020),  # each three in a row fit; the last two are too few
        2: (0, 10, 20, 500, 510, 520),  # twice
        3: (0, 60, 120),  # too slow
    }
    rows = [
        ("c", broker, at_ms, None, at_ms - 5, at_ms, False, 5, None)
        for broker, times in deaths.items()
        for at_ms in times
    ]
    lives = spark.createDataFrame(
        [*rows, ("c", 3, 999, None, 130, None, False, None, None)], schemas.BROKER_LIVES
    )

    table = broker_flapping(lives, Settings(flapping_deaths=3, flapping_window_ms=100))

    assert sorted(map(tuple, table.collect())) == [
        ("c", 1, 0, 150, 4),
        ("c", 2, 0, 20, 3),
        ("c", 2, 500, 520, 3),
    ]
    assert schema_of(table) == schemas.BROKER_FLAPPING


def test_a_log_tells_lives_without_epochs(spark: SparkSession, tmp_path: Path) -> None:
    """It has the epochs of brokers that were found: the first life is one, and so is the second."""

    def reign_of(epoch: int, at_ms: int, found: str) -> list[str]:
        won = f"{epoch} successfully elected as the controller. Epoch incremented to {epoch} and"
        return [
            noted(at_ms, f"[Controller id={epoch}] {won} epoch zk version is now {epoch}"),
            noted(at_ms, f"[Controller id={epoch}] Initialized broker epochs cache: Map({found})"),
            noted(at_ms + 1, f"[Controller id={epoch}] Ready to serve as the new controller with"
                             f" epoch {epoch}"),
        ]  # fmt: skip

    def came(controller: int, at_ms: int) -> str:
        listed = "deleted brokers: , bounced brokers: , all live brokers: 1,2"
        return noted(at_ms, f"[Controller id={controller}] Newly added brokers: 2, {listed}")

    # 2 comes, is found, is missed by the third controller, and comes again.
    logs = {
        1: [*reign_of(1, 10, "1 -> 25"), came(1, 20)],
        2: reign_of(2, 30, "1 -> 25, 2 -> 31"),
        3: [*reign_of(3, 40, "1 -> 25"), came(3, 50)],
    }
    for node, lines in logs.items():
        write_log(tmp_path / f"node{node}" / "controller.log", lines)

    lives = broker_lives(read_state_change_log(spark, str(tmp_path))).filter("broker_id = 2")

    assert [
        (row.up_ms - START_MS, row.down_ms and row.down_ms - START_MS)
        for row in lives.orderBy("up_ms").collect()
    ] == [(20, 40), (50, None)]
