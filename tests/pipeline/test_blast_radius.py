"""What would be lost with a broker, a rack or two brokers, against counting it all (Q6)."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations

import pytest
from pyspark.sql import DataFrame, SparkSession

from regent.pipeline import schemas
from regent.pipeline.blast_radius import blast_radius, blast_topics
from regent.pipeline.last_layout import last_blast_radius
from regent.pipeline.settings import Settings

pytestmark = pytest.mark.requirement("Q6")

#: topic, partition, replicas, leader, isr, min_isr
LayoutRow = tuple[str, int, list[int], int, list[int], int | None]
#: broker_id, rack, is_live
BrokerRow = tuple[int, str | None, bool]


def random_cluster(seed: int) -> tuple[list[LayoutRow], list[BrokerRow]]:
    """Dead brokers, brokers without a rack, shrunk and empty ISRs, any min ISR."""
    dice = random.Random(seed)
    brokers: list[BrokerRow] = [
        (10 * i, dice.choice(["a", "b", "c", None]), dice.random() < 0.85) for i in range(1, 13)
    ]
    ids = [broker_id for broker_id, _, _ in brokers[:-1]]  # the last one holds nothing
    layout: list[LayoutRow] = []
    for partition in range(300):
        replicas = dice.sample(ids, dice.randint(1, 4))
        isr = dice.sample(replicas, dice.randint(0, len(replicas)))
        min_isr = dice.choice([None, 1, 2, 2, 3])
        layout.append((f"t{partition % 7}", partition, replicas, -1, isr, min_isr))
    return layout, brokers


def lost_with(
    layout: Sequence[LayoutRow], brokers: Sequence[BrokerRow], gone: Collection[int]
) -> Counter[tuple[str, str]]:
    """Count (topic, what), partition by partition."""
    live = {broker_id for broker_id, _, is_live in brokers if is_live}
    lost: Counter[tuple[str, str]] = Counter()
    for topic, _, _, _, isr, min_isr in layout:
        before = live & set(isr)
        after = before - set(gone)
        if before and not after:
            lost[topic, "offline"] += 1
        elif after and len(after) < (min_isr or 1) <= len(before):
            lost[topic, "under_min_isr"] += 1
    return lost


def frames(
    spark: SparkSession, layout: Sequence[LayoutRow], brokers: Sequence[BrokerRow]
) -> tuple[DataFrame, DataFrame]:
    return (
        spark.createDataFrame([("c", *row) for row in layout], schemas.LAYOUT),
        spark.createDataFrame([("c", *row) for row in brokers], schemas.BROKERS_TABLE),
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_broker_rack_and_pair_costs_what_counting_says(
    spark: SparkSession, seed: int
) -> None:
    layout, brokers = random_cluster(seed)
    suspects: dict[tuple[str, str, str | None], list[int]] = {}
    for broker_id, rack, _ in brokers:
        suspects["broker", str(broker_id), None] = [broker_id]
        if rack is not None:
            suspects.setdefault(("rack", rack, None), []).append(broker_id)
    for (a, _, _), (b, _, _) in combinations(brokers, 2):
        suspects["pair", str(a), str(b)] = [a, b]
    expected = {}
    for suspect, gone in suspects.items():
        lost = lost_with(layout, brokers, gone)
        expected[suspect] = tuple(
            sum(count for (_, kind), count in lost.items() if kind == what)
            for what in ("offline", "under_min_isr")
        )

    table = blast_radius(*frames(spark, layout, brokers))

    assert schemas.table(*((f.name, f.dataType) for f in table.schema)) == schemas.BLAST_RADIUS
    found = {(row.scope, row.a, row.b): (row.offline, row.under_min_isr) for row in table.collect()}
    assert found == expected
    assert any(offline for offline, _ in expected.values())
    assert any(under for _, under in expected.values())


def test_topics_under_a_failure_are_what_counting_says(spark: SparkSession) -> None:
    layout, brokers = random_cluster(4)
    gone = [10, 30, 50]
    lost = lost_with(layout, brokers, gone)

    table = blast_topics(*frames(spark, layout, brokers), gone)

    assert schemas.table(*((f.name, f.dataType) for f in table.schema)) == schemas.BLAST_TOPICS
    found = {
        (row.topic, what): row[what]
        for row in table.collect()
        for what in ("offline", "under_min_isr")
        if row[what]
    }
    assert found == lost
    assert found


def test_a_cluster_without_partitions_has_nothing_to_lose(spark: SparkSession) -> None:
    table = blast_radius(*frames(spark, [], [(1, "a", True), (2, None, False)]))

    assert sorted(map(tuple, table.collect()), key=str) == [
        ("c", "broker", "1", None, 0, 0),
        ("c", "broker", "2", None, 0, 0),
        ("c", "pair", "1", "2", 0, 0),
        ("c", "rack", "a", None, 0, 0),
    ]


def test_clusters_do_not_share_their_brokers(spark: SparkSession) -> None:
    """Two clusters at the end of their histories, with the same ids and topics."""
    intervals = spark.createDataFrame(
        [
            ("c", "t", 0, 5, None, [1, 2], 1, [1, 2]),
            ("d", "t", 0, 5, 9, [1], 1, [1]),  # over, so it does not count
            ("d", "t", 0, 9, None, [1, 2], 2, [2]),
        ],
        "cluster string, topic string, partition int, start_ms long, end_ms long,"
        " replicas array<int>, leader int, isr array<int>",
    )
    lives = spark.createDataFrame(
        [
            ("c", 1, "a", 1, None),
            ("c", 2, "b", 1, None),
            ("d", 1, "a", 1, 8),
            ("d", 2, "a", 1, None),
        ],
        "cluster string, broker_id int, rack string, up_ms long, down_ms long",
    )

    table = last_blast_radius(intervals, lives, Settings(min_isr=2))

    harm = table.filter("offline + under_min_isr > 0").collect()
    assert {(r.cluster, r.scope, r.a, r.b): (r.offline, r.under_min_isr) for r in harm} == {
        ("c", "broker", "1", None): (0, 1),
        ("c", "broker", "2", None): (0, 1),
        ("c", "pair", "1", "2"): (1, 0),
        ("c", "rack", "a", None): (0, 1),
        ("c", "rack", "b", None): (0, 1),
        ("d", "broker", "2", None): (1, 0),
        ("d", "pair", "1", "2"): (1, 0),
        ("d", "rack", "a", None): (1, 0),
    }
