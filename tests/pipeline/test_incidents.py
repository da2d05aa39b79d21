"""Incidents, from tables small enough to read (Q4, Q5)."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T

from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId
from regent.pipeline import schemas
from regent.pipeline.incidents import incidents
from regent.pipeline.settings import Settings
from tests.pipeline.rows import FILE, record, transitions_of

pytestmark = pytest.mark.requirement("Q4", "Q5")

NOON = 12 * 3_600_000


def rows_of(spark: SparkSession, schema: T.StructType, *rows: dict[str, Any]) -> DataFrame:
    """A table of rows that name only what matters; the rest is null."""
    names = schema.fieldNames()
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


def outage(
    topic: str, partition: int, start_ms: int, end_ms: int | None, **more: Any
) -> dict[str, Any]:
    lasted = (end_ms or 60_000) - start_ms
    return {
        "cluster": "c",
        "kind": "leaderless",
        "topic": topic,
        "partition": partition,
        "start_epoch": 7,
        "start_sequence": 100 + partition,
        "start_ms": NOON + start_ms,
        "end_ms": None if end_ms is None else NOON + end_ms,
        "duration_ms": lasted,
        "leader_before": 3,
        "file": FILE,
        **more,
    }


def election(topic: str, partition: int, at_ms: int, **more: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "topic": topic,
        "partition": partition,
        "controller_epoch": 7,
        "at_ms": NOON + at_ms,
        "unclean": False,
        **more,
    }


def life(broker_id: int, down_ms: int | None, **more: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "broker_id": broker_id,
        "up_ms": NOON - 3_600_000,
        "down_ms": None if down_ms is None else NOON + down_ms,
        "bounced": False,
        **more,
    }


def reign(controller_id: int, epoch: int, elected_ms: int, **more: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "controller_id": controller_id,
        "controller_epoch": epoch,
        "elected_ms": NOON + elected_ms,
        **more,
    }


def violation(rule: str, at_ms: int, **more: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "rule": rule,
        "severity": "error",
        "controller_epoch": 7,
        "sequence": 500,
        "at_ms": NOON + at_ms,
        "evidence": [(FILE, None, 500)],
        **more,
    }


def told(  # noqa: PLR0913 - the tables that an incident is made of
    spark: SparkSession,
    transitions: DataFrame | None = None,
    *,
    violations: tuple[dict[str, Any], ...] = (),
    outages: tuple[dict[str, Any], ...] = (),
    reigns: tuple[dict[str, Any], ...] = (),
    lives: tuple[dict[str, Any], ...] = (),
    elections: tuple[dict[str, Any], ...] = (),
    settings: Settings = Settings(),  # noqa: B008 - frozen
) -> list[Row]:
    table = incidents(
        rows_of(spark, schemas.TRANSITIONS) if transitions is None else transitions,
        rows_of(spark, schemas.VIOLATIONS, *violations),
        rows_of(spark, schemas.OUTAGES, *outages),
        rows_of(spark, schemas.CONTROLLER_REIGNS, *reigns),
        rows_of(spark, schemas.BROKER_LIVES, *lives),
        rows_of(spark, schemas.ELECTIONS, *elections),
        settings=settings,
    )
    found = schemas.table(*((field.name, field.dataType) for field in table.schema.fields))
    assert found == schemas.INCIDENTS
    return table.orderBy("cluster", "incident_id").collect()


def test_a_brokers_death_and_all_that_followed_is_one_story(spark: SparkSession) -> None:
    transitions = transitions_of(
        spark,
        record(90, facts.BrokerDown(BrokerId(3), BrokerEpoch(40)), at_ms=NOON + 4_120, epoch=7),
        record(
            120,
            facts.MoveRefused("orders", 9, "no in-sync replica is alive"),
            at_ms=NOON + 4_500,
            epoch=7,
        ),
    )

    (incident,) = told(
        spark,
        transitions,
        lives=(life(3, 4_120), life(1, None)),
        reigns=(reign(1, 7, -9_000),),
        outages=(
            outage("orders", 0, 4_200, 5_100),
            outage("orders", 1, 4_200, 5_100),
            outage("clicks", 0, 4_200, 6_300),
            outage("orders", 9, 4_200, 45_200),
            # Recorded before the death, and still only evidence after it.
            outage("orders", 1, 5_200, 8_200, kind="under_min_isr", start_sequence=80),
            # A new partition waits for its first leader: nobody lost one.
            outage("young", 0, 4_300, 4_400, leader_before=None),
        ),
        elections=(
            election("orders", 0, 5_100),
            election("orders", 1, 5_100),
            election("clicks", 0, 6_300),
            election("orders", 9, 45_200, unclean=True),
        ),
        violations=(
            violation("unclean_election", 45_200, severity="warning", topic="orders", partition=9),
            violation("something_to_note", 5_000, severity="note"),
        ),
        settings=Settings(incident_gap_ms=60_000),
    )

    assert (incident.cause, incident.broker_id, incident.rank) == ("broker_died", 3, 1)
    assert (incident.start_ms, incident.end_ms) == (NOON + 4_120, NOON + 45_200)
    assert incident.findings == 7
    assert incident.partitions_hit == 4
    assert incident.leaderless_ms == 900 + 900 + 2_100 + 41_000
    assert incident.title == "Broker 3 died: 4 partitions without a leader for up to 41 s"
    assert incident.story == (
        "Broker 3 died at 12:00:04.120."
        " 4 partitions lost their leader; the controller (broker 1, epoch 7) elected new ones after"
        " 900 ms (median), the last after 41 s."
        " 1 partition of `orders` stayed without a leader for 41 s,"
        " because no in-sync replica is alive."
        " 1 partition had fewer replicas in sync than `min.insync.replicas`, for up to 3.0 s,"
        " and refused writes with acks=all."
        " 1 election was unclean: records may be lost."
        " The audit has 0 errors and 1 warning: unclean election."
        " All was whole again after 41 s."
    )
    assert [each.sequence for each in incident.evidence] == [90, 80, 100, 101, 109, 500]


def test_what_is_far_apart_or_has_another_cause_is_another_incident(spark: SparkSession) -> None:
    """By time in cluster `c`, by cause in `d`; in `e` it still lasts, in `f` two fall together."""
    cases = told(
        spark,
        lives=(
            life(3, 0),
            life(3, 100_000),
            life(3, 0, cluster="d"),
            life(4, 20_000, cluster="d"),
            life(3, 0, cluster="e"),
            life(4, 1_000, cluster="e"),
            life(5, 20_000, cluster="e"),
            life(3, 0, cluster="f"),
            life(4, 1_000, cluster="f"),
        ),
        outages=(
            outage("orders", 0, 100_000, 100_900),
            outage("orders", 0, 10, 2_000, cluster="d"),
            # It still lasts when broker 5 dies, so that is no new story.
            outage("orders", 0, 10, None, cluster="e"),
        ),
    )

    assert [
        (each.cluster, each.incident_id, each.rank, each.broker_id, each.findings) for each in cases
    ] == [
        ("c", 1, 2, 3, 1),
        ("c", 2, 1, 3, 2),
        ("d", 1, 1, 3, 2),
        ("d", 2, 2, 4, 1),
        ("e", 1, 1, 3, 4),
        ("f", 1, 1, 3, 2),
    ]
    assert cases[0].title == "Broker 3 died: nobody was without a leader"
    assert cases[-2].end_ms is None
    assert "Then broker 4 died (+1.0 s), broker 5 died (+20 s)." in cases[-2].story
    assert cases[-2].story.endswith("It was not over when the record ends.")


def test_the_cause_is_what_failed_first_or_what_was_asked_for(spark: SparkSession) -> None:
    transitions = transitions_of(
        spark,
        record(8, facts.LogDirFailed("a", 0, BrokerId(2)), at_ms=NOON),
        record(9, facts.LogDirFailed("a", 1, BrokerId(2)), at_ms=NOON),
        record(50, facts.ReassignmentAdvanced("a", 0, "U", ()), at_ms=NOON + 200_000),
        record(60, facts.ShutdownAdvanced(BrokerId(4), 0), at_ms=NOON + 299_000),
        record(70, facts.BrokerDown(BrokerId(4), BrokerEpoch(1)), at_ms=NOON + 300_000),
    )

    cases = told(
        spark,
        transitions,
        lives=(life(4, 300_000), life(1, 401_000)),
        reigns=(
            reign(1, 1, -9_000, end_ms=NOON + 400_000),
            reign(2, 2, 400_000),
        ),
        outages=(
            outage("a", 0, 100, 900, start_epoch=1),
            outage("a", 0, 205_000, 205_700),
            outage("b", 0, 500_000, 501_000, kind="under_min_isr"),
            outage("b", 0, 600_000, 601_000),
        ),
        violations=(violation("leader_not_in_isr", 700_000),),
    )

    assert [(each.cause, each.broker_id) for each in cases] == [
        ("disk_failed", 2),
        ("operator", None),
        ("broker_shut_down", 4),
        ("controller_lost", 1),
        ("isr_collapsed", None),
        ("unknown", None),
        ("rule_broken", None),
    ]
    assert cases[0].story.startswith(
        "A disk of broker 2 failed at 12:00:00.000: 2 replicas could not be served any more."
        " 1 partition of `a` lost its leader."
    )
    assert cases[1].story.startswith(
        "At 12:03:20.000 the reassignment of 1 partition began; nothing had failed."
    )
    assert cases[3].story == (
        "The controller (broker 1, epoch 1) was lost at 12:06:40.000: it died in office."
        " Then broker 1 died (+1.0 s). No partition lost its leader."
    )
    assert cases[6].title == "Audit, leader not in isr: 1 error"


def test_what_came_first_is_a_matter_of_order_and_not_of_the_clock(spark: SparkSession) -> None:
    """The controller wrote that a broker was gone and then resigned, on a clock that went back."""
    down = facts.BrokerDown(BrokerId(5), BrokerEpoch(1))

    (incident,) = told(
        spark,
        transitions_of(spark, record(90, down, at_ms=NOON + 500, epoch=1)),
        lives=(life(5, 500),),
        reigns=(reign(1, 1, -9_000, resigned_ms=NOON, resigned_because="asked to resign"),),
    )

    assert (incident.cause, incident.broker_id) == ("broker_died", 5)
    assert incident.story == (
        "Broker 5 died at 12:00:00.500. Then the controller (broker 1, epoch 1) was lost (at once)."
        " No partition lost its leader."
    )


def test_where_nothing_happened_there_is_no_incident(spark: SparkSession) -> None:
    assert told(spark, lives=(life(1, None),), reigns=(reign(1, 1, 0),)) == []
