"""Elections and how long partitions waited for them (Q5)."""

import pytest
from pyspark.sql import SparkSession

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from regent.pipeline import schemas
from regent.pipeline.elections import election_latency, elections
from regent.pipeline.timelines import timelines
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.rows import brokers, record

NEW, ONLINE, OFFLINE = PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE
NONE = PartitionState.NON_EXISTENT

pytestmark = pytest.mark.requirement("Q5")


def loaded(leader: int | None = None, leader_epoch: int | None = None) -> facts.TopicLoaded:
    partition = facts.LoadedPartition(
        0,
        brokers(1, 2),
        leader=None if leader is None else BrokerId(leader),
        leader_epoch=None if leader_epoch is None else LeaderEpoch(leader_epoch),
        isr=None if leader is None else brokers(1, 2),
    )
    return facts.TopicLoaded("t", (partition,))


def moved(before: PartitionState, after: PartitionState) -> facts.PartitionMoved:
    return facts.PartitionMoved("t", 0, before, after)


def elected(leader: int, epoch: int, strategy: str = "offline") -> facts.LeaderElected:
    return facts.LeaderElected(
        topic="t",
        partition=0,
        strategy=strategy,
        before=OFFLINE,
        leader_before=BrokerId(-1),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(epoch),
        isr=brokers(leader),
        zk_version=ZkVersion(0),
    )


def shrunk(leader: int, epoch: int) -> facts.IsrShrunk:
    return facts.IsrShrunk(
        "t", 0, BrokerId(1), BrokerId(leader), LeaderEpoch(epoch), brokers(2), ZkVersion(1)
    )


#: A partition is created and led, in the first reign.
BORN = (
    record(1, facts.ControllerElected(), at_ms=0),
    record(2, loaded(), at_ms=5),
    record(3, moved(NONE, NEW), at_ms=10),
    record(4, elected(1, 0, "new"), at_ms=20),
)


def office(at_ms: int, *rest: Record) -> tuple[Record, ...]:
    """The second controller takes office."""
    return (record(1, facts.ControllerElected(), at_ms=at_ms, epoch=2, controller=2), *rest)


def second(sequence: int, fact: facts.Fact, at_ms: int) -> Record:
    return record(sequence, fact, at_ms=at_ms, epoch=2, controller=2)


def test_latency_is_since_the_partition_lost_its_leader(spark: SparkSession) -> None:
    transitions = histories(
        spark,
        died=[
            *BORN,
            record(5, moved(ONLINE, OFFLINE), at_ms=100),
            record(6, elected(2, 1), at_ms=130),
            record(7, elected(1, 2, "preferred"), at_ms=200),
        ],
        # Nobody can be elected, and meanwhile the controller changes.
        waited=[
            *BORN,
            record(5, moved(ONLINE, OFFLINE), at_ms=100),
            record(6, shrunk(-1, 1), at_ms=110),
            *office(500, second(2, loaded(-1, 1), 510)),
            second(3, facts.PartitionsStarted("t", offline=(0,)), 540),
            second(4, elected(2, 2), 600),
        ],
        # It was found so: what loading took is part of the wait.
        found=[
            *BORN,
            *office(500, second(2, loaded(1, 0), 510)),
            second(3, facts.PartitionsStarted("t", offline=(0,)), 540),
            second(4, elected(2, 1), 550),
        ],
        clock_is_behind=[
            *BORN,
            record(5, moved(ONLINE, OFFLINE), at_ms=100),
            *office(70, second(2, elected(2, 1), 80)),
        ],
        only_the_leader_went=[
            *BORN,
            record(5, shrunk(-1, 1), at_ms=100),
            record(6, elected(2, 2), at_ms=140),
        ],
        created_again=[
            *BORN,
            record(5, moved(ONLINE, OFFLINE), at_ms=100),
            record(6, moved(OFFLINE, NONE), at_ms=101),
            record(7, facts.TopicForgotten("t"), at_ms=110),
            record(8, loaded(), at_ms=200),
            record(9, moved(NONE, NEW), at_ms=210),
            record(10, elected(1, 0, "new"), at_ms=220),
        ],
    )

    table = elections(transitions, timelines(transitions))

    waits: dict[str, list[tuple[int, int | None, int | None]]] = {}
    for row in table.orderBy("cluster", "controller_epoch", "sequence").collect():
        waits.setdefault(row.cluster, []).append((row.at_ms, row.failed_ms, row.latency_ms))
    first = (20, None, None)
    assert waits == {
        "died": [first, (130, 100, 30), (200, None, None)],
        "waited": [first, (600, 100, 500)],
        "found": [first, (550, 500, 50)],
        "clock_is_behind": [first, (80, 100, 0)],
        "only_the_leader_went": [first, (140, 100, 40)],
        "created_again": [first, (220, None, None)],
    }
    assert schema_of(table) == schemas.ELECTIONS


def test_percentiles_are_exact_and_of_those_that_waited(spark: SparkSession) -> None:
    names = schemas.ELECTIONS.fieldNames()

    def election(strategy: str, latency_ms: int | None, *, unclean: bool = False) -> list[object]:
        said = {
            "cluster": "c",
            "strategy": strategy,
            "latency_ms": latency_ms,
            "unclean": unclean,
        }
        return [said.get(name) for name in names]

    rows = [
        *(election("offline", latency) for latency in (0, 100, None)),
        election("offline", 7, unclean=True),
        election("preferred", None),
    ]

    table = election_latency(spark.createDataFrame(rows, schemas.ELECTIONS))

    assert sorted(map(tuple, table.collect())) == [
        ("c", "offline", False, 3, 2, 50, 95, 99, 100),
        ("c", "offline", True, 1, 1, 7, 7, 7, 7),
        ("c", "preferred", False, 1, 0, None, None, None, None),
    ]
    assert schema_of(table) == schemas.ELECTION_LATENCY
