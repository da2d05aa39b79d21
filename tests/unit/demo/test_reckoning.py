"""What the demo judges by: it must not call a loss a success."""

import pytest

from regent.demo.reckoning import Acknowledged, Reckoning, differences, reckon
from regent.journal.replay import ReplayedPartition, ReplayedState, ReplayedTopic
from regent.model.ids import BrokerId, TopicPartition
from regent.model.known_cluster import KnownCluster, KnownPartition
from tests.support.builders import assignment, broker, broker_epoch, leadership

ORDERS = TopicPartition("orders", 0)
ONE = BrokerId(1)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({0: 1, 1: 2}, Reckoning(2, lost=0, doubled=0)),
        ({0: 1}, Reckoning(2, lost=1, doubled=0)),
        ({0: 2, 1: 1}, Reckoning(2, lost=1, doubled=0)),
        ({0: 1, 1: 2, 2: 2}, Reckoning(2, lost=0, doubled=1)),
        ({0: 1, 1: -1}, Reckoning(2, lost=1, doubled=0)),
    ],
)
def test_a_record_is_kept_if_it_stands_where_it_was_acknowledged(
    found: dict[int, int], expected: Reckoning
) -> None:
    """Of the second record only that it is there was told, not where."""
    acknowledged = {ORDERS: [Acknowledged(1, 0), Acknowledged(2, None)]}

    assert reckon(acknowledged, {ORDERS: found}) == expected


def test_a_partition_that_cannot_be_read_is_lost() -> None:
    assert reckon({ORDERS: [Acknowledged(1, 0)]}, {}).lost == 1


def known(leader: int = 1, topic: str = "orders") -> KnownCluster:
    """One broker, which leads and has the office."""
    partition = KnownPartition(0, assignment(1, 2), leadership(leader, (1, 2)))
    return KnownCluster(
        controller_id=ONE,
        brokers={ONE: broker(1)},
        electable=frozenset([ONE]),
        controllers={},
        topics={topic: (partition,)},
    )


def replayed(leader: int = 1) -> ReplayedState:
    partition = ReplayedPartition(assignment(1, 2), leadership=leadership(leader, (1, 2)))
    return ReplayedState(
        controller_id=ONE,
        brokers={ONE: broker_epoch(1)},
        topics={"orders": ReplayedTopic(partitions={0: partition})},
    )


def test_a_journal_that_tells_the_truth_does_not_differ() -> None:
    assert list(differences(replayed(), known())) == []


def test_whatever_a_journal_tells_wrongly_is_named() -> None:
    """Each of them alone makes the demo fail."""
    assert ["orders-0 has" in each for each in differences(replayed(leader=2), known())] == [True]
    assert list(differences(replayed(), known(topic="other"))) == [
        "other-0 is unknown",
        "orders is not forgotten",
    ]
    assert list(differences(ReplayedState(), known()))[:2] == [
        "controller None, not 1",
        "brokers [], not [1]",
    ]
